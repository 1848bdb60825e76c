"""How often the CME test rejects: the exact null holds its level, the chi^2 limit does not."""

import pytest
from scipy.stats import binom

from caltest.datasets import generative_model
from caltest.measures import CME
from caltest.nulls import REGISTRY as NULLS

LEVEL, SETS = 0.05, 300


def rejections(null, model, n, m, locations=None):
    measure, test = CME(locations=locations), NULLS[null].test
    settings = {"n_resamples": 99}
    sets = [generative_model(model, n=n, m=m, rng=seed) for seed in range(SETS)]
    outcomes = [test(measure, data, seed=seed, **settings) for seed, data in enumerate(sets)]
    return sum(outcome.pvalue <= LEVEL for outcome in outcomes)


@pytest.mark.parametrize("locations", [None, 10])
@pytest.mark.parametrize("m", [2, 10])
def test_exact_null_holds_the_level(m, locations):
    """M1, n = 50: no more than the 99.9 % binomial band of 5 %."""
    count = rejections("exact", "M1", 50, m, locations)
    assert count <= binom.ppf(0.9995, SETS, LEVEL)


@pytest.mark.parametrize(
    ("m", "locations", "least"), [(2, None, 0.3), (2, 10, 0.8), (10, 10, 0.15)]
)
def test_chi_squared_limit_rejects_calibrated_models_at_small_n(m, locations, least):
    """M1, n = 50: it is badly anti-conservative, hence no default; the result says so."""
    count = rejections("asymptotic", "M1", 50, m, locations)
    assert count > least * SETS


@pytest.mark.slow
def test_chi_squared_limit_holds_the_level_at_large_n():
    """M1, n = 5000, 3 locations: within the 99.9 % band of 5 %."""
    low, high = binom.interval(0.999, SETS, LEVEL)
    assert low <= rejections("asymptotic", "M1", 5000, 2) <= high


@pytest.mark.slow
@pytest.mark.parametrize("model", ["M2", "M3"])
@pytest.mark.parametrize("m", [2, 10])
def test_exact_null_finds_uncalibrated_models(m, model):
    """At n = 250 both models are rejected nearly always."""
    assert rejections("exact", model, 250, m) > 0.9 * SETS
