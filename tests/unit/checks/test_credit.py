"""Checks of what credit-risk tests take."""

import numpy as np
import pytest

from caltest import InvalidInput
from caltest.checks import check_light_bounds
from caltest.htests.master_scale import check_counts, check_default_rates, check_grades
from caltest.measures.grades.grade import check_correlation


@pytest.mark.parametrize("bounds", [(0.5, 0.2, 0.05), [0.5, 0.2, 0.05], np.array([0.5, 0.2, 0.05])])
def test_light_bounds_are_three_floats(bounds):
    assert check_light_bounds(bounds) == (0.5, 0.2, 0.05)


@pytest.mark.parametrize(
    "bounds", [(0.5, 0.2), (0.2, 0.2, 0.1), (1.0, 0.5, 0.1), (0.5, 0.1, 0.0), 0.5, "abc"]
)
def test_light_bounds_of_another_shape_are_refused(bounds):
    with pytest.raises(InvalidInput, match=r"must be three descending p-values|must be numbers"):
        check_light_bounds(bounds)


@pytest.mark.parametrize(("value", "checked"), [(0, 0.0), (np.float32(0.5), 0.5), ("a", "a")])
def test_correlation_is_a_float_or_a_class(value, checked):
    assert check_correlation(value, ("a", "b")) == checked


def test_default_rates_and_counts_are_read_only():
    rates = check_default_rates([0, 1])
    counts = check_counts([3.0, 4.0], 2, "n", minimum=1)
    assert (rates.dtype, counts.dtype) == (np.float64, np.int64)
    assert not any(array.flags.writeable for array in (rates, counts))


def test_grades_are_numbered_by_default():
    assert check_grades(None, 3) == [1, 2, 3]
    assert check_grades(np.array(["A", "B"]), 2) == ["A", "B"]
