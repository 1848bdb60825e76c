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

KEYS = (
    "skce",
    "kce",
    "ece",
    "classwise-ece",
    "ks",
    "ucme",
    "debiased-ece",
    "brier",
    "binomial",
)
SIGNED = ("calibration-slope", "calibration-intercept", "mean-calibration")


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("key", KEYS)
@given(data=PREDICTIONS)
def test_interval_is_finite_and_ordered_or_not_applicable(key, data):
    """Never NaN, whatever the data; an interval of several points or a reason why there is none."""
    measure = REGISTRY[key]()
    try:
        bounds = choose(measure).compute(measure, data, 0.9, Draws(20, 1))
    except NotApplicable:
        return
    assert 0.0 <= bounds.low <= bounds.high < np.inf
    assert np.isfinite(bounds.estimate)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("key", SIGNED)
@given(data=PREDICTIONS)
def test_interval_of_a_signed_measure_is_ordered_or_not_applicable(key, data):
    """With 0 and 1 among the predictions; separated labels and rows of one kind have one end."""
    measure = REGISTRY[key]()
    try:
        bounds = choose(measure).compute(measure, data, 0.9, Draws(20, 1))
    except NotApplicable:
        return
    assert -np.inf <= bounds.low <= bounds.high <= np.inf
    assert np.isfinite([bounds.low, bounds.high]).sum() == (
        2 if np.isfinite(bounds.estimate) else 1
    )


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
