"""How often default, adaptive and small p-values are what they say."""

import numpy as np
import pytest
from scipy.stats import binom

import caltest as ct
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


DATASETS = 1500


@pytest.mark.slow
@pytest.mark.parametrize("test", ["ks", "brier"])
def test_adaptive_pvalues_are_valid(test):
    """P(p <= a) <= a for calibrated data, one-sided and two-sided, within the binomial band."""
    pvalues = np.empty(DATASETS)
    for i in range(DATASETS):
        rng = np.random.default_rng([7, i])
        event = rng.beta(1.0, 2.0, 16)
        data = ct.Predictions(event, (rng.random(16) < event).astype(int), classes=[0, 1])
        pvalues[i] = ct.test_calibration(data, test=test, n_resamples="adaptive", rng=i).pvalue
    for level in (0.005, 0.01, 0.05, 0.1, 0.25, 0.5):
        most = binom.isf(0.001, DATASETS, level)
        assert np.count_nonzero(pvalues <= level) <= most


@pytest.mark.parametrize(("risk", "events"), [(0.1, 23), (0.3, 46)])
def test_adaptive_test_resolves_small_pvalues(risk, events):
    """P-values near 1e-5, within four standard errors of 10^6 resamples."""
    data = ct.Predictions(np.full(90, risk), np.arange(90) < events)
    options = {"test": "binomial", "rng": 1}
    exact = ct.test_calibration(data, null="convolution", **options).pvalue
    found = ct.test_calibration(data, null="exact", n_resamples="adaptive", **options)
    assert 2e-6 < exact < 5e-5
    assert abs(found.pvalue - exact) < 4 * np.sqrt(max(exact, found.pvalue) / found.n_resamples)


def miscalibrated(m, power, shift, n=250):
    """Return predictions, and labels of their powers with more or fewer of the class 1."""
    rng = np.random.default_rng(m)
    probs = rng.dirichlet(np.ones(m), n)
    true = probs**power * np.exp(shift * (np.arange(m) == 1))
    true /= true.sum(axis=1, keepdims=True)
    labels = (np.cumsum(true, axis=1) < rng.random((n, 1))).sum(axis=1)
    return ct.Predictions(probs, labels, classes=np.arange(m))


CASES = [
    ("brier", 2, 1.8, 0.0),
    ("brier", 4, 1.5, 0.0),
    ("log-loss", 2, 1.8, 0.0),
    ("log-loss", 4, 0.55, 0.0),
    ("spiegelhalter", 4, 0.55, 0.0),
    ("calibration-in-the-large", 2, 1.0, -0.6),
    ("binomial", 2, 1.0, 0.6),
]


@pytest.mark.parametrize(
    "resamples", [10**5, pytest.param(10**7, marks=pytest.mark.slow)], ids=["short", "long"]
)
@pytest.mark.parametrize(("test", "m", "power", "shift"), CASES)
def test_saddlepoint_and_convolution_agree_with_very_many_resamples(
    test, m, power, shift, resamples
):
    """Within four standard errors of the count, and 2 % for the approximation."""
    data = miscalibrated(m, power, shift)
    drawn = ct.test_calibration(data, test=test, null="exact", n_resamples=resamples, rng=1)
    sides = 2 if drawn.alternative == "two-sided" else 1
    nulls = [
        null for null in ("saddlepoint", "convolution") if null in ct.htests.REGISTRY[test].nulls
    ]
    for null in nulls:
        found = ct.test_calibration(data, test=test, null=null).pvalue
        count = max(found / sides * resamples, 1.0)
        error = 4 * sides * np.sqrt(count) / resamples + (0.02 * found if null == nulls[0] else 0)
        assert abs(found - drawn.pvalue) < error
