"""How often bands that plots draw hold a whole curve."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from caltest import test_calibration as calibration_test
from caltest.measures import smooth_curve

pytestmark = pytest.mark.full
DATA_SETS = 200


def at_least(share):
    """The smallest count of data sets that is no surprise, at 0.1 %, where the share holds."""
    return scipy.stats.binom.ppf(0.001, DATA_SETS, share)


@pytest.mark.parametrize(("slope", "n"), [(1.0, 60), (1.0, 1000), (0.5, 300)])
def test_band_of_the_smooth_curve_holds_the_truth(slope, n):
    """Of a curve that is a line in the log odds, with probability 95 %."""
    held = 0
    for seed in range(DATA_SETS):
        rng = np.random.default_rng([seed, n])
        z = rng.normal(-1, 1.2, n)
        y = (rng.random(n) < scipy.special.expit(slope * z)).astype(int)
        curve = smooth_curve(scipy.special.expit(z), y)
        truth = scipy.special.expit(slope * scipy.special.logit(curve.x))
        held += bool(((curve.lower <= truth) & (truth <= curve.upper)).all())
    assert held >= at_least(0.95)


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
