"""How often tests of rows that depend reject calibrated and miscalibrated models."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import binom

import caltest as ct
from caltest.htests import REGISTRY
from caltest.nulls import REGISTRY as NULLS

LEVEL, SETS = 0.05, 300
SIZES = np.maximum(1, np.round(np.geomspace(3, 30, 30))).astype(int)  # of 30 clusters


def simulate(seed, correlation, slope=1.0):
    """Labels whose latent variables correlate within clusters of unequal sizes."""
    rng = np.random.default_rng(seed)
    c = np.repeat(np.arange(30), SIZES)
    x = np.sqrt(0.5) * (rng.normal(size=30)[c] + rng.normal(size=c.size))
    shared = np.sqrt(correlation) * rng.normal(size=30)[c]
    latent = shared + np.sqrt(1 - correlation) * rng.normal(size=c.size)
    return ct.Predictions(expit(x), ndtr(latent) < expit(slope * x), classes=[0, 1], clusters=c)


def rejections(key, null, correlation, slope=1.0):
    measure, test = REGISTRY[key].with_options({}), NULLS[null].test
    settings = {"n_resamples": 99}
    sets = [simulate(seed, correlation, slope) for seed in range(SETS)]
    pvalues = [test(measure, p, seed=seed, **settings).pvalue for seed, p in enumerate(sets)]
    return sum(p <= LEVEL for p in pvalues)


SLOPES = ["calibration-slope", "calibration-in-the-large", "cox"]
SUMS = ["cramer-von-mises", "hosmer-lemeshow", "pigeon-heyse"]


@pytest.mark.parametrize("key", ["brier", "skce", "ece", "ks", *SLOPES, *SUMS])
def test_cluster_null_holds_the_level(key):
    """30 clusters of 3 to 30 rows, correlation 0.2: within the 99.9 % band of 7 %."""
    assert rejections(key, "cluster", 0.2) <= binom.ppf(0.999, SETS, 0.07)


@pytest.mark.parametrize("key", ["calibration-in-the-large", "skce", "ks"])
def test_exact_null_does_not(key):
    assert rejections(key, "exact", 0.2) >= 0.12 * SETS


@pytest.mark.slow
@pytest.mark.parametrize("key", ["brier", "skce"])
def test_cluster_null_has_power(key):
    """Independent rows of a model that is too extreme: nearly that of the exact null."""
    exact, cluster = (rejections(key, null, 0.0, slope=0.6) for null in ("exact", "cluster"))
    assert cluster >= exact - 0.12 * SETS
    assert cluster >= 0.25 * SETS


def test_risk_groups_of_clusters_find_more_than_bins_do():
    """A slope of 0.6: Hosmer-Lemeshow in about 38 % of the data sets, ECE in 19 %."""
    groups, bins = (
        rejections(key, "cluster", 0.0, slope=0.6) for key in ("hosmer-lemeshow", "ece")
    )
    assert groups >= 0.28 * SETS
    assert groups >= bins


def bursts(seed, kind):
    """Calibrated predictions whose sums of clusters are skewed."""
    rng = np.random.default_rng(seed)
    rows = np.full(30, 10) if kind == "weights" else np.ceil(10 * rng.lognormal(0, 1.2, 30))
    c = np.repeat(np.arange(30), rows.astype(int))
    p, correlation, weight = rng.random(c.size), 0.0, None
    if kind == "weights":
        weight = np.exp(4 * p)
    else:
        p, correlation = rng.beta(1, 10, 30)[c], 0.3
    shared = rng.random(c.size) < np.sqrt(correlation)
    uniform = np.where(shared, rng.random(30)[c], rng.random(c.size))
    labels = (uniform > 1 - p).astype(int)
    return ct.Predictions(p, labels, sample_weight=weight, clusters=c)


@pytest.mark.parametrize("key", ["brier", "calibration-in-the-large", "skce"])
@pytest.mark.parametrize("kind", ["weights", "bursts"])
def test_skewed_sums_of_few_clusters_hold_the_level(kind, key):
    """Weights exp(4 p); sizes lognormal, p constant: within the 99.9 % band of 6.5 %."""
    measure, settings = REGISTRY[key].with_options({}), {"n_resamples": 199}
    sets = [bursts(seed, kind) for seed in range(SETS)]
    test = NULLS["cluster"].test
    found = [test(measure, p, seed=seed, **settings) for seed, p in enumerate(sets)]
    assert sum(one.pvalue <= LEVEL for one in found) <= binom.ppf(0.999, SETS, 0.065)
    if kind == "bursts":
        alone = [one.replicates.pvalues()[0] <= LEVEL for one in found]
        assert sum(alone) >= 0.12 * SETS
