"""How often bands and limits that plots draw hold a whole curve."""

import numpy as np
import pytest
import scipy

from caltest import test_calibration as calibration_test
from caltest.measures import corp_band, corp_curve, net_benefit, reliability_bins, smooth_curve

DATA_SETS = 200


def at_least(share):
    """The smallest count of data sets that is no surprise, at 0.1 %, where the share holds."""
    return scipy.stats.binom.ppf(0.001, DATA_SETS, share)


TRUTHS = {
    "calibrated": lambda z: z,
    "slope": lambda z: 0.6 * z,
    "shift": lambda z: z + 0.5,
    "square": lambda z: z + 0.15 * z**2 - 0.3,
}


@pytest.mark.parametrize("n", [100, pytest.param(500, marks=pytest.mark.slow), 2000])
@pytest.mark.parametrize("name", TRUTHS)
def test_band_of_the_smooth_curve_holds_the_truth(name, n):
    """With probability 95 %, also of a curve that bends in the log odds."""
    held = 0
    for seed in range(DATA_SETS):
        rng = np.random.default_rng([seed, n])
        z = rng.normal(-0.5, 1.2, n)
        y = (rng.random(n) < scipy.special.expit(TRUTHS[name](z))).astype(int)
        curve = smooth_curve(scipy.special.expit(z), y)
        truth = scipy.special.expit(TRUTHS[name](scipy.special.logit(curve.x)))
        held += bool(((curve.lower <= truth) & (truth <= curve.upper)).all())
    assert held >= at_least(0.95)


@pytest.mark.parametrize("n", [200, 1000])
def test_intervals_of_the_net_benefit_hold_it(n):
    """Each with probability 95 %, at thresholds from 0.1 to 0.5, of an overconfident model."""
    at = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    # The truth is the mean over the quantiles of the log odds.
    z = -1 + 1.2 * scipy.special.ndtri((np.arange(200_000) + 0.5) / 200_000)
    rate = scipy.special.expit(0.6 * z - 0.3)
    gains = rate - (1 - rate) * (at / (1 - at))[:, None]
    treated = scipy.special.expit(z) >= at[:, None]
    truth = np.where(treated, gains, 0.0).mean(axis=1)
    held = np.zeros(at.size)
    for seed in range(DATA_SETS):
        rng = np.random.default_rng([seed, n])
        z = rng.normal(-1, 1.2, n)
        y = (rng.random(n) < scipy.special.expit(0.6 * z - 0.3)).astype(int)
        found = net_benefit(scipy.special.expit(z), y, thresholds=at)
        held += (found.low <= truth) & (truth <= found.high)
    assert (held >= at_least(0.95)).all()


def test_gaps_of_a_calibrated_model_stay_in_their_band():
    """The band of the witness holds the whole curve with probability 95 %."""
    held = 0
    for seed in range(DATA_SETS):
        rng = np.random.default_rng(seed)
        p = scipy.special.expit(rng.normal(0, 1.5, 200))
        result = calibration_test(p, rng.random(200) < p, test="skce", n_resamples=9, rng=1)
        curve = result.witness().gap_curve(51)
        held += bool((np.abs(curve.gap) <= curve.limit).all())
    assert held >= at_least(0.95)


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
    ("n", "data_sets"), [(40, 500), (300, 500), pytest.param(2000, 20_000, marks=pytest.mark.slow)]
)
def test_limits_hold_for_calibrated_models(n, data_sets):
    """In each bin, and at each point of the curve, in at least `LEVEL` of the data sets."""
    least = (
        scipy.stats.binom.ppf(BAND, data_sets, LEVEL - 0.01) / data_sets
    )  # 0.01: quantiles of 1999
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
    assert bins.mean(axis=0).max() < scipy.stats.binom.isf(BAND, 500, LEVEL + 0.02) / 500
