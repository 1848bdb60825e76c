"""Hypotheses with a tolerance in words, and the standard error on their boundary."""

import math

import pytest

from caltest.measures.tolerance import Deviation, Tolerance, unseen_chance


def test_hypothesis_is_worded_and_errors_can_be_unseen():
    """At most or at least; six rows do not rule out a third of events: (2/3)^6."""
    assert Tolerance(0.02).claim("SKCE") == "the SKCE is at most 0.02"
    assert Tolerance(0.02, equivalence=True).claim("KS") == "the KS is at least 0.02"
    assert Tolerance(0.02).title == "tolerance"
    assert Tolerance(0.02, equivalence=True).title == "equivalence"
    assert Tolerance(0.1).signed(2.0) == -Tolerance(0.1, equivalence=True).signed(2.0) == 2.0
    assert unseen_chance(1 / 3, 6) == pytest.approx((2 / 3) ** 6)
    assert unseen_chance(1.5, 6) == 0.0


def test_standard_error_around_the_tolerance():
    """Above it that of the jackknife, below it per unit of the estimate and what is left at 0."""
    deviation = Deviation(value=0.5, variance=0.04, degenerate=0.0, largest=1.0)
    assert deviation.z(0.1) == pytest.approx((0.5 - 0.1) / 0.2)
    deviation = Deviation(value=0.1, variance=0.04, degenerate=0.01, largest=1.0)
    assert deviation.z(0.5) == pytest.approx((0.1 - 0.5) / math.sqrt(0.5 * 0.4 + 0.01))


@pytest.mark.parametrize("value", [-0.1, 0.0, 1e-9])
def test_standard_error_of_a_small_estimate_takes_the_worst_direction(value):
    """Where the direction of the error cannot be seen."""
    deviation = Deviation(value=value, variance=0.04, degenerate=0.01, largest=1.0)
    assert deviation.z(0.5) == pytest.approx((value - 0.5) / math.sqrt(0.5 + 0.01))
