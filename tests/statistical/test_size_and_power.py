"""How often the SKCE tests reject, over many data sets of the paper's models M1, M2 and M3.

All data sets have n = 250 predictions of m = 10 classes with alpha = 0.1 and are judged at level
5 %, unless a test says otherwise. Rates are compared with binomial bands that hold with
probability 99.9 % each. Paper: Widmann, Lindsten, Zachariah (2019), figure 2 and appendix J, read
off the published figure sources (10,000 data sets, default kernel).
"""

import pytest
from scipy.stats import binom

from caltest import Predictions
from caltest.datasets import generative_model
from caltest.kernels import Exponential
from caltest.lenses import resolve_lens
from caltest.measures import SKCE
from caltest.nulls import REGISTRY as NULLS

LEVEL = 0.05
BAND = 0.999


@pytest.fixture(params=[300, pytest.param(1000, marks=pytest.mark.slow)])
def data_sets(request):
    """Return the number of data sets: 300, and 1000 where --slow asks for it."""
    return range(request.param)


def pvalue(null, predictions, seed, *, n_resamples=199, **options):
    """Judge the SKCE of one data set."""
    measure = SKCE(**options)
    judge = NULLS[null].test
    return judge(measure, predictions, n_resamples=n_resamples, seed=seed).pvalue


def rejections(model, null, seeds, **options):
    sets = ((seed, generative_model(model, rng=seed)) for seed in seeds)
    return sum(pvalue(null, p, seed, **options) <= LEVEL for seed, p in sets)


def in_band(count, size, rate):
    """Tell whether a count lies in the central 99.9 % of the binomial distribution."""
    low, high = binom.interval(BAND, size, rate)
    return low <= count <= high


# ---- the exact null -----------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["unbiased", "biased", "linear", "block"])
def test_exact_test_rejects_calibrated_models_at_its_level(estimator, data_sets):
    """M1: 5 % with B = 199; the band is 4 to 29 of 300, and 29 to 74 of 1000."""
    count = rejections("M1", "exact", data_sets, estimator=estimator, block_size=10)
    assert in_band(count, len(data_sets), LEVEL)


@pytest.mark.parametrize("model", ["M2", "M3"])
def test_exact_test_rejects_miscalibrated_models_always(model, data_sets):
    """By a statistic that is above all of 19 resampled ones."""
    assert rejections(model, "exact", data_sets, n_resamples=19) == len(data_sets)


TINY = [
    ("strong", {}),
    ("confidence", {}),
    pytest.param("strong", {"estimator": "biased"}, marks=pytest.mark.slow),
    pytest.param("strong", {"estimator": "linear"}, marks=pytest.mark.slow),
    pytest.param("strong", {"estimator": "block", "block_size": 4}, marks=pytest.mark.slow),
    pytest.param("top-2", {}, marks=pytest.mark.slow),
    pytest.param("largest-2", {}, marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize(("lens", "options"), TINY)
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_exact_null_is_exact_for_tiny_data(lens, options, alpha):
    """Over 2000 data sets from H0 with n = 8, m = 3: P(p <= a) <= a, for every a.

    The band is one-sided: with so few labels many statistics tie, and ties make p larger.
    """
    pvalues = []
    for seed in range(2000):
        seen = resolve_lens(lens)(generative_model("M1", n=8, m=3, alpha=alpha, rng=seed))
        pvalues.append(pvalue("exact", seen, seed, **options))
    for a in (0.01, 0.05, 0.1, 0.5):
        assert sum(p <= a for p in pvalues) <= binom.ppf(BAND, 2000, a)


def test_exact_null_is_exact_for_one_observation():
    """With n = 1 the p-value of a label is the probability of labels as bad, up to B."""
    predictions = [Predictions([[0.7, 0.2, 0.1]], [label]) for label in (0, 1, 2)]
    pvalues = [
        pvalue("exact", p, 0, n_resamples=9999, estimator="biased", kernel=Exponential(1.0))
        for p in predictions
    ]
    for found, exact in zip(pvalues, (1.0, 0.3, 0.1), strict=True):
        assert in_band(round(found * 10_000) - 1, 9999, exact)


# ---- the other nulls ----------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["unbiased", "biased", "linear", "block"])
def test_distribution_free_bounds_never_reject_calibrated_models(estimator):
    """M1: no rejection in 300 data sets (paper: 0.0000)."""
    options = {"estimator": estimator, "block_size": 10}
    assert rejections("M1", "distribution-free", range(300), **options) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("model", "rate"), [("M1", 0.0455), ("M3", 0.1859)])
def test_linear_asymptotic_test_rejects_as_often_as_in_the_paper(model, rate):
    """SKCE_ul with the median bandwidth: 4.55 % of M1 and 18.59 % of M3, over 2000 data sets."""
    count = rejections(model, "asymptotic", range(2000), estimator="linear")
    assert in_band(count, 2000, rate)


def test_linear_asymptotic_test_rejects_m2_always():
    """SKCE_ul with the median bandwidth: all data sets of M2 (paper: 1.0000)."""
    assert rejections("M2", "asymptotic", range(300), estimator="linear") == 300


@pytest.mark.slow
def test_bootstrap_rejects_calibrated_models_as_often_as_in_the_paper(data_sets):
    """SKCE_uq with the median bandwidth on M1: 3.47 %, less than the level of 5 %."""
    assert in_band(rejections("M1", "bootstrap", data_sets), len(data_sets), 0.0347)


@pytest.mark.parametrize("model", ["M2", "M3"])
def test_bootstrap_rejects_miscalibrated_models_always(model):
    """SKCE_uq with the median bandwidth: all data sets (paper: 1.0000)."""
    assert rejections(model, "bootstrap", range(100)) == 100
