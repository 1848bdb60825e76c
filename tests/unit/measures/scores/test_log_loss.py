"""The log loss where probabilities are 0."""

import math

import pytest

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import log_loss


def test_probability_of_zero_gives_infinity_with_a_warning():
    """The warning says how many rows, which is the first, and what to do."""
    with pytest.warns(DegenerateDataWarning, match=r"in 2 of 3 rows, first in row 1; pass eps="):
        assert log_loss([0.5, 0.0, 1.0], [1, 1, 0]) == math.inf


def test_class_of_probability_zero_that_does_not_occur_is_harmless():
    assert log_loss([[0.5, 0.5, 0.0]], [0]) == pytest.approx(math.log(2))


def test_row_of_weight_zero_may_be_impossible():
    """It does not count, so there is no warning."""
    data = Predictions([0.5, 0.0], [1, 1], sample_weight=[2, 0])
    assert log_loss(data) == pytest.approx(math.log(2))
