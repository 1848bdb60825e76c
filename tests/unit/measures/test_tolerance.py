"""Hypotheses with a tolerance in words, and the standard error on their boundary."""

import math

import pytest

from caltest.measures.tolerance import Deviation


@pytest.mark.parametrize("value", [-0.1, 0.0, 1e-9])
def test_standard_error_of_a_small_estimate_takes_the_worst_direction(value):
    """Where the direction of the error cannot be seen."""
    deviation = Deviation(value=value, variance=0.04, degenerate=0.01, largest=1.0)
    assert deviation.z(0.5) == pytest.approx((value - 0.5) / math.sqrt(0.5 + 0.01))
