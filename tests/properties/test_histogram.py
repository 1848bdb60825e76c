"""Histogram binning is the weighted frequency in right-closed bins."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caltest import DegenerateDataWarning
from caltest.calibrators import HistogramBinning
from caltest.testing import strategies

SETS = strategies.predictions((1, 20), 2).map(
    lambda data: (data.probs[:, 1], data.labels, data.sample_weight)
)


def fitted(scores, labels, weight=None, **options):
    """Fit, whether or not there is a single class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return HistogramBinning(**options).fit(scores, labels, weight)


def frequency(scores, labels, weight, low, high):
    """Weighted frequency in (low, high], with 0 in the first bin; None where it is empty."""
    rows = (scores <= high) & ((scores > low) | (low == 0))
    weight = np.ones(len(scores)) if weight is None else weight
    return (weight * labels)[rows].sum() / weight[rows].sum() if rows.any() else None


@given(SETS, st.integers(1, 12))
def test_bins_of_equal_width_hold_the_frequency(data, bins):
    """The edges are the doubles k / B; an empty bin has its middle."""
    binning = fitted(*data, bins=bins)
    for k in range(bins):
        low, high = k / bins, (k + 1) / bins
        share = frequency(*data, low, high)
        expected = (low + high) / 2 if share is None else share
        assert binning.values_[k] == pytest.approx(expected, abs=1e-12)
        assert (binning.predict_proba([high])[:, 1] == binning.values_[k]).all()


@given(SETS, st.integers(1, 12))
def test_bins_of_equal_mass_hold_the_frequency(data, bins):
    """Cuts are the smallest scores up to which k / B of the mass lies."""
    scores, labels, weight = data
    binning = fitted(*data, bins=bins, binning="quantile")
    mass = np.ones(len(scores)) if weight is None else weight
    reached = [
        min(x for x in scores if mass[scores <= x].sum() >= k / bins * mass.sum() * (1 - 1e-12))
        for k in range(1, bins)
    ]
    cuts = sorted({x for x in reached if x < scores.max()})
    assert binning.edges_.tolist() == [0.0, *cuts, 1.0]
    ends = [-math.inf, *cuts, 1.0]
    for k, value in enumerate(binning.values_):
        rows = (scores > ends[k]) & (scores <= ends[k + 1])
        assert value == pytest.approx((mass * labels)[rows].sum() / mass[rows].sum(), abs=1e-12)
        assert (binning.predict_proba(scores[rows])[:, 1] == value).all()
