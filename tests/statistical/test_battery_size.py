"""The default null of every test holds its level, simulated."""

import pytest
from scipy.stats import binom

from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.htests import REGISTRY

LEVEL, SETS = 0.05, 200


# The confidence lens leaves two classes, too.
@pytest.mark.slow
@pytest.mark.parametrize(("m", "lens"), [(2, "strong"), (3, "confidence")])
def test_default_nulls_hold_their_level(m, lens):
    """Of each test at most the 99.95 % point of Bin(200, 5 %); a discrete one may reject less."""
    rejected = dict.fromkeys(REGISTRY, 0)
    for seed in range(SETS):
        data = generative_model("M1", n=50, m=m, alpha=1.0, rng=seed)
        options = {"lens": lens, "n_resamples": 99, "rng": seed, "correction": None}
        table = calibration_test(data, test=list(REGISTRY), **options)
        for key, row in zip(REGISTRY, table.rows, strict=True):
            rejected[key] += row.pvalue <= LEVEL
    most = binom.ppf(0.9995, SETS, LEVEL)
    assert {key: count for key, count in rejected.items() if count > most} == {}
