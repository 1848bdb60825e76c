"""Confidence intervals of any valid predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caltest as ct
from caltest import NotApplicable
from caltest.intervals import choose
from caltest.measures import REGISTRY
from caltest.nulls.base import Draws
from caltest.testing import strategies

PREDICTIONS = strategies.predictions((5, 20), 2, weighted=(1.0, 2.0, 3.0))

KEYS = ("skce", "kce", "ece", "classwise-ece", "ks", "ucme", "debiased-ece", "brier", "binomial")
SIGNED = ("calibration-slope", "calibration-intercept", "mean-calibration")


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("key", [*KEYS, *SIGNED])
@given(data=PREDICTIONS)
def test_interval_is_ordered_or_not_applicable(key, data):
    """Never NaN, with 0 and 1 among the predictions, or a reason why there is none.

    Of an error it is finite; of a signed measure some data, as separated labels, have one end.
    """
    measure = REGISTRY[key]()
    try:
        bounds = choose(measure).compute(measure, data, 0.9, Draws(20, 1))
    except NotApplicable:
        return
    assert bounds.low <= bounds.high
    is_finite = np.isfinite(bounds.estimate)
    assert np.isfinite([bounds.low, bounds.high]).sum() == 1 + is_finite
    assert key in SIGNED or (is_finite and bounds.low >= 0.0)


@given(data=PREDICTIONS | strategies.predictions((5, 20), 3), bins=st.integers(1, 7))
def test_regions_of_the_witness_add_up(data, bins):
    """Their contributions are the unbiased SKCE, and every row is in one of each class."""
    kernel = ct.kernels.Exponential(0.5)
    result = ct.test_calibration(data, kernel=kernel, n_resamples=1, rng=0)
    try:
        witness = result.witness()
    except NotApplicable:
        return
    regions = witness.regions(bins)
    assert sum(r.contribution for r in regions) == pytest.approx(witness.skce, abs=1e-12)
    assert sum(r.n for r in regions) == data.n * (1 if data.m == 2 else data.m)
