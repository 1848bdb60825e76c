"""Tolerance tests agree with each other for any data."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from caltest import DegenerateDataWarning, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.testing import strategies

PREDICTIONS = strategies.predictions((6, 25), 2, weighted=False)

NORMAL = ("skce", "skce-linear", "skce-block")
TOLERANCES = st.floats(1e-4, 0.5)
# The estimate of the SKCE is below 0 and its distance is not monotone in the tolerance.
NEGATIVE = Predictions(
    np.array([0.0, 0.0, 0.75, 0.75, 0.75, 0.0, 0.5, 0.5, 0.25, 0.25]),
    np.array([0, 0, 0, 1, 1, 1, 0, 1, 0, 0]),
)
# Exact tails of regions near 1, whose approximations are in another order.
FEW = Predictions(
    np.eye(16)[14],
    np.array([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1]),
)


def outcome_of(data, key, tolerance, *, equivalence):
    """Run a test; data for which there is none are passed over."""
    settings = {"tolerance": tolerance, "equivalence": equivalence}
    try:
        return calibration_test(data, test=key, n_resamples=19, rng=1, **settings)
    except (NotApplicable, DegenerateDataWarning):
        assume(False)  # noqa: FBT003 - Hypothesis asks for it
        raise


@pytest.mark.parametrize("key", NORMAL)
@given(PREDICTIONS, TOLERANCES)
def test_pvalues_of_both_hypotheses_sum_to_one(key, data, tolerance):
    """They are the two tails of one statistic, but where an exact p-value is larger."""
    sides = [outcome_of(data, key, tolerance, equivalence=side) for side in (False, True)]
    total = sum(side.pvalue for side in sides)
    is_raised = any("is raised to" in note for side in sides for note in side.notes)
    assert total >= 1 - 1e-12
    assert is_raised or total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("equivalence", [False, True])
@pytest.mark.parametrize("key", [*NORMAL, "debiased-ece", "ks"])
@given(PREDICTIONS, TOLERANCES, TOLERANCES)
@example(NEGATIVE, 0.00390625, 0.03125)
@example(FEW, 0.015625, 0.03125)
def test_pvalue_is_monotone_in_the_tolerance(key, equivalence, data, first, second):
    """A larger tolerance is harder to exceed, and easier to stay within."""
    low, high = (
        outcome_of(data, key, value, equivalence=equivalence).pvalue
        for value in sorted((first, second))
    )
    assert high <= low + 1e-12 if equivalence else low <= high + 1e-12
