"""The log loss where probabilities are 0."""

import math

import pytest

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import log_loss


def test_probability_of_zero_gives_infinity_with_a_warning():
    """The warning says how many rows, which is the first, and what to do."""
    with pytest.warns(DegenerateDataWarning, match=r"in 2 of 3 rows, first in row 1; pass eps="):
        assert log_loss([0.5, 0.0, 1.0], [1, 1, 0]) == math.inf


def test_impossible_classes_that_do_not_count_are_harmless():
    """Without a warning."""
    assert log_loss([[0.5, 0.5, 0.0]], [0]) == pytest.approx(math.log(2))
    data = Predictions([0.5, 0.0], [1, 1], sample_weight=[2, 0])
    assert log_loss(data) == pytest.approx(math.log(2))
