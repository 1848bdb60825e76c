"""The log loss where probabilities are 0."""

import math

import pytest

from caltest import DegenerateDataWarning
from caltest.measures import log_loss


def test_probability_of_zero_gives_infinity_with_a_warning():
    """The warning says how many rows, which is the first, and what to do."""
    with pytest.warns(DegenerateDataWarning, match=r"in 2 of 3 rows, first in row 1; pass eps="):
        assert log_loss([0.5, 0.0, 1.0], [1, 1, 0]) == math.inf
