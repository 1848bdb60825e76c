"""Confidence intervals of any valid predictions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caltest as ct
from caltest import NotApplicable, Predictions
from caltest.intervals import choose
from caltest.measures import REGISTRY

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


@st.composite
def predictions(draw):
    """Draw 5 to 20 binary predictions, ties, 0 and 1 among them, with weights or without."""
    n = draw(st.integers(5, 20))
    event = draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return Predictions(np.array(event) / 8.0, labels, sample_weight=weights, classes=[0, 1])


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("key", KEYS)
@given(data=predictions())
def test_interval_is_finite_and_ordered_or_not_applicable(key, data):
    """Never NaN, whatever the data; an interval of several points or a reason why there is none."""
    measure = REGISTRY[key]()
    options = {"level": 0.9, "n_resamples": 20, "seed": 1, "n_jobs": None}
    try:
        bounds = choose(measure).compute(measure, data, **options)
    except NotApplicable:
        return
    assert 0.0 <= bounds.low <= bounds.high < np.inf
    assert np.isfinite(bounds.estimate)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("key", SIGNED)
@given(data=predictions())
def test_interval_of_a_signed_measure_is_ordered_or_not_applicable(key, data):
    """With 0 and 1 among the predictions; separated labels and rows of one kind have one end."""
    measure = REGISTRY[key]()
    options = {"level": 0.9, "n_resamples": 20, "seed": 1, "n_jobs": None}
    try:
        bounds = choose(measure).compute(measure, data, **options)
    except NotApplicable:
        return
    assert -np.inf <= bounds.low <= bounds.high <= np.inf
    assert np.isfinite([bounds.low, bounds.high]).sum() == (
        2 if np.isfinite(bounds.estimate) else 1
    )


@given(data=predictions(), bins=st.integers(1, 7))
def test_regions_of_the_witness_add_up(data, bins):
    """Their contributions are the unbiased SKCE, and their rows all rows."""
    kernel = ct.kernels.Exponential(0.5)
    result = ct.test_calibration(data, kernel=kernel, n_resamples=1, rng=0)
    try:
        witness = result.witness()
    except NotApplicable:
        return
    regions = witness.regions(bins)
    assert sum(r.contribution for r in regions) == pytest.approx(witness.skce, abs=1e-12)
    assert sum(r.n for r in regions) == data.n
