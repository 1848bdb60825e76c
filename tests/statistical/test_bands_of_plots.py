"""How often bands that plots draw hold a whole curve."""

import numpy as np
import pytest
import scipy

from caltest import test_calibration as calibration_test
from caltest.measures import net_benefit, smooth_curve

pytestmark = pytest.mark.full
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
