"""Checks of the options of binned measures."""

import math

import numpy as np
import pytest

from caltest.checks import check_optional_integer
from caltest.errors import InvalidInput
from caltest.measures.binning import check_power
from caltest.measures.bins.ece import ECE


def test_distance_is_a_name_or_a_function():
    assert ECE(distance="tv").distance == "tv"
    assert ECE(distance=max).distance is max
    with pytest.raises(InvalidInput, match="did you mean 'cityblock'"):
        ECE(distance="city-block")


@pytest.mark.parametrize("p", [1, 1.5, 2, np.float64(3), math.inf])
def test_power_may_be_any_number_from_one(p):
    assert check_power(p) == p


def test_optional_integer_may_be_missing():
    assert check_optional_integer(None, "max_bins") is None
    assert check_optional_integer(3, "max_bins") == 3
    with pytest.raises(InvalidInput, match="max_bins must be an integer of at least 1"):
        check_optional_integer(0, "max_bins")
