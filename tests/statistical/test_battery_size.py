"""The default null of every test holds its level, simulated."""

import pytest
from scipy.stats import binom
from threadpoolctl import threadpool_limits

from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.htests import DEFAULT, REGISTRY

LEVEL, SETS = 0.05, 300


# The confidence lens leaves two classes, too: for the default test here, for all with --slow.
CASES = [
    pytest.param(key, m, lens, marks=pytest.mark.slow if m > 2 and key != DEFAULT else ())
    for key in REGISTRY
    for m, lens in ((2, "strong"), (3, "confidence"))
]


@pytest.mark.parametrize(("key", "m", "lens"), CASES)
def test_default_null_holds_its_level(key, m, lens):
    """At most the 99.95 % point of Bin(300, 5 %); a discrete statistic may reject less."""
    rejected = 0
    with threadpool_limits(1):
        for seed in range(SETS):
            data = generative_model("M1", n=50, m=m, alpha=1.0, rng=seed)
            result = calibration_test(data, test=key, lens=lens, n_resamples=99, rng=seed)
            rejected += result.pvalue <= LEVEL
    assert rejected <= binom.ppf(0.9995, SETS, LEVEL)
