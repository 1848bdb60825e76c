"""How often the limit laws of the KS, Kuiper and Spiegelhalter tests reject calibrated models."""

import numpy as np
import pytest
from scipy.stats import binom

from caltest import Predictions
from caltest.datasets import generative_model
from caltest.htests import REGISTRY

LEVEL, SETS, BAND = 0.05, 1000, 0.999


def rejections(test, n, m):
    """Count the calibrated data sets that the limit law rejects."""
    measure = REGISTRY[test].with_options({})
    data = generative_model("M1", n=n, m=m, rng=0)
    rng = np.random.default_rng(1)
    sets = (data.simulate(rng) for _ in range(SETS))
    return sum(measure.limit(one).pvalue <= LEVEL for one in sets)


@pytest.mark.parametrize("m", [2, 10])
@pytest.mark.parametrize("n", [250, 2000])
def test_spiegelhalter_holds_its_level(n, m):
    """The variance is exact, and the sum of n terms is close to normal."""
    low, high = binom.interval(BAND, SETS, LEVEL)
    assert low <= rejections("spiegelhalter", n, m) <= high


@pytest.mark.parametrize("test", ["ks", "kuiper"])
@pytest.mark.parametrize("n", [50, 250, 2000])
def test_sorted_tests_do_not_exceed_their_level(test, n):
    """A walk with n steps has smaller extremes than Brownian motion: conservative at small n."""
    assert rejections(test, n, 2) <= binom.ppf(BAND, SETS, LEVEL)


@pytest.mark.parametrize("test", ["ks", "kuiper"])
def test_sorted_tests_reach_their_level_at_large_n(test):
    """With 20,000 rows the difference is small."""
    assert rejections(test, 20_000, 2) >= binom.ppf(1 - BAND, SETS, LEVEL)


@pytest.mark.parametrize("test", ["ks", "kuiper", "spiegelhalter"])
@pytest.mark.parametrize("factor", [0.5, 2.0], ids=["underconfident", "overconfident"])
def test_both_directions_are_rejected(test, factor):
    """Log odds of the calibrated model halved or doubled, 2,000 rows."""
    data = generative_model("M1", n=2000, m=2, rng=0)
    odds = (data.probs[:, 1] / data.probs[:, 0].clip(1e-300)) ** factor
    changed = Predictions(odds / (1 + odds), data.labels)
    assert REGISTRY[test].with_options({}).limit(changed).pvalue < 1e-3
