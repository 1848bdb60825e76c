"""How often the chi^2 limits of the recalibration tests reject calibrated models."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom

from caltest import DegenerateDataWarning
from caltest.datasets import generative_model
from caltest.htests import REGISTRY

LEVEL, BAND = 0.05, 0.999
KEYS = ("cox", "calibration-in-the-large", "calibration-slope", "unreliability")
CASES = [(key, 2, {}) for key in KEYS]
CASES += [("cox", 4, {"slopes": slopes}) for slopes in ("common", "reference")]


def check_level(key, n, m, options, sets):
    """Compare the number of rejections with its band."""
    measure = REGISTRY[key].with_options(options)
    data = generative_model("M1", n=n, m=m, alpha=1.0, rng=0)
    rng = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        rejected = sum(measure.limit(data.simulate(rng)).pvalue <= LEVEL for _ in range(sets))
    low, high = binom.interval(BAND, sets, LEVEL)
    assert low <= rejected <= high


@pytest.mark.parametrize(("key", "m", "options"), CASES)
def test_limits_hold_their_level(key, m, options):
    """At 1,000 rows; the exact null holds it at every n."""
    check_level(key, 1000, m, options, 400)


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 3000])
@pytest.mark.parametrize(("key", "m", "options"), CASES)
def test_limits_hold_their_level_closely(key, m, options, n):
    check_level(key, n, m, options, 5000)
