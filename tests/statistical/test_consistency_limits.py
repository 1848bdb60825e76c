"""Coverage of the consistency limits of reliability diagrams under calibration."""

import numpy as np
import pytest
from scipy import stats

from caltest.measures import corp_band, corp_curve, reliability_bins

LEVEL = 0.9
BAND = 1e-4  # of all such comparisons as many fail for calibrated models


def share_inside(n, data_sets):
    """The share of bins, and of points of the CORP curve, that lie within their limits."""
    rng = np.random.default_rng(n)
    score = rng.beta(0.6, 0.9, n)
    band = corp_band(score, score > 0.5, confidence=LEVEL, n_resamples=1999, rng=1)
    bins, points = [], []
    for _ in range(data_sets):
        labels = (rng.random(n) < score).astype(int)
        found = reliability_bins(score, labels, bins=8, confidence=LEVEL)
        bins.append((found.lower <= found.frequency) & (found.frequency <= found.upper))
        curve = corp_curve(score, labels).at(band.x[:: n // 5])
        low, high = band.lower[:: n // 5], band.upper[:: n // 5]
        points.append((low - 1e-12 <= curve) & (curve <= high + 1e-12))
    return np.mean(bins, axis=0), np.mean(points, axis=0)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
@pytest.mark.parametrize(
    ("n", "data_sets"),
    [(40, 500), (300, 500), pytest.param(2000, 20_000, marks=pytest.mark.slow)],
)
def test_limits_hold_for_calibrated_models(n, data_sets):
    """In each bin, and at each point of the curve, in at least `LEVEL` of the data sets."""
    least = stats.binom.ppf(BAND, data_sets, LEVEL - 0.01) / data_sets  # 0.01: quantiles of 1999
    bins, points = share_inside(n, data_sets)
    assert bins.min() >= least
    assert points.min() >= least


@pytest.mark.slow
def test_limits_are_not_too_wide_in_large_bins():
    """Where 30 counts lie between the limits, the coverage is the level but for a few per cent."""
    rng = np.random.default_rng(1)
    score = rng.random(3000)
    labels = rng.random((500, 3000)) < score
    rows = [reliability_bins(score, row.astype(int), bins=3, confidence=LEVEL) for row in labels]
    bins = np.array([(r.lower <= r.frequency) & (r.frequency <= r.upper) for r in rows])
    assert ((rows[0].upper - rows[0].lower) * rows[0].count > 30).all()
    assert bins.mean(axis=0).max() < stats.binom.isf(BAND, 500, LEVEL + 0.02) / 500
