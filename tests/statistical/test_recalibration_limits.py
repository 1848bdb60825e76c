"""How often the chi^2 limits of the recalibration tests reject calibrated models."""

import numpy as np
import pytest
from scipy.stats import binom

from caltest.datasets import generative_model
from caltest.htests import REGISTRY

LEVEL, BAND = 0.05, 0.999
KEYS = ("cox", "calibration-in-the-large", "calibration-slope", "unreliability")
CASES = [(key, 2, {}) for key in KEYS]
CASES += [("cox", 4, {"slopes": slopes}) for slopes in ("common", "reference")]


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize(
    ("n", "sets"),
    [(1000, 400), *(pytest.param(n, 5000, marks=pytest.mark.slow) for n in (300, 3000))],
)
@pytest.mark.parametrize(("key", "m", "options"), CASES)
def test_limits_hold_their_level(key, m, options, n, sets):
    """Within the binomial band; the exact null holds it at every n."""
    measure = REGISTRY[key].with_options(options)
    data = generative_model("M1", n=n, m=m, alpha=1.0, rng=0)
    rng = np.random.default_rng(1)
    rejected = sum(measure.limit(data.simulate(rng)).pvalue <= LEVEL for _ in range(sets))
    low, high = binom.interval(BAND, sets, LEVEL)
    assert low <= rejected <= high
