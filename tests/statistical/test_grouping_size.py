"""How often tests over risk groups reject calibrated models, and where their limits fail.

Rates at level 5 % are compared with binomial bands that hold with probability 99.9 % each.
"External" predictions are drawn and their labels redrawn; "development" ones are a logistic
regression of one feature fitted to the labels that it is tested on.
"""

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import binom, chi2

from caltest import Predictions
from caltest.htests import REGISTRY
from caltest.nulls import REGISTRY as NULLS
from caltest.numerics.labels import resample_keys
from caltest.numerics.logistic import fit_logistic

LEVEL, BAND = 0.05, 0.999
RIDGE = np.array([1e-9, 1e-9])


@pytest.fixture(params=[1000, pytest.param(10_000, marks=pytest.mark.slow)])
def sets(request):
    return request.param


def band(sets):
    """Return the central band of the number of rejections at the level."""
    return binom.interval(BAND, sets, LEVEL)


def external(test, predictions, sets, df, **options):
    """Count rejections by chi^2 with df degrees of freedom, over redrawn labels."""
    bound = REGISTRY[test].with_options(options).bind(predictions)
    values = bound.values(bound.redraw(resample_keys(1, sets)))
    return np.count_nonzero(chi2.sf(values, df) <= LEVEL)


def development(sets, n=400):
    """Yield the predictions of models fitted to their own labels."""
    rng = np.random.default_rng(2)
    for _ in range(sets):
        X = np.vstack((np.ones(n), rng.normal(size=n)))
        labels = (rng.random(n) < expit(0.3 + X[1])).astype(float)
        beta, _ = fit_logistic(X, labels, np.full(n, 1 / n), RIDGE)
        yield Predictions(expit(beta @ X), labels.astype(int))


def pvalues(test, data_sets, **options):
    """Return the p-values of the limit law."""
    measure = REGISTRY[test].with_options(options)
    return np.array([measure.limit(data).pvalue for data in data_sets])


def uniform(n):
    """Return calibrated predictions of which every group has many events."""
    return Predictions(np.random.default_rng(0).random(n), np.arange(n) % 2)


# ---- where the limits hold ----------------------------------------------------------------------


@pytest.mark.parametrize("test", ["hosmer-lemeshow", "pigeon-heyse"])
@pytest.mark.parametrize("groups", [5, 10])
def test_external_limit_holds_its_level(test, groups, sets):
    """As many degrees of freedom as groups, 1,000 rows."""
    low, high = band(sets)
    assert low <= external(test, uniform(1000), sets, groups, groups=groups) <= high


def test_external_limit_of_several_classes_holds_its_level(sets):
    """There are g (m - 1) = 30 degrees of freedom; here one class tells all probabilities."""
    x = np.random.default_rng(0).normal(size=2000)
    probs = softmax(np.outer(x, [0, 0.5, 1, 0.2]), axis=1)
    low, high = band(sets)
    data = Predictions(probs, np.arange(2000) % 4)
    assert low <= external("hosmer-lemeshow", data, sets, 30) <= high


@pytest.mark.parametrize("test", ["hosmer-lemeshow", "pigeon-heyse", "le-cessie-van-houwelingen"])
def test_internal_limit_holds_its_level(test, sets):
    """With g - 2, g - 1 and the variance that fitting leaves; the second is conservative."""
    low, high = band(sets)
    count = np.count_nonzero(pvalues(test, development(sets), internal=True) <= LEVEL)
    assert count <= high
    assert count >= low or test == "pigeon-heyse"


# ---- where they fail ----------------------------------------------------------------------------


def test_internal_freedom_rejects_external_data_too_often(sets):
    """With g - 2 for data that the model was not fitted to: 11.5 % in place of 5 %."""
    rate = chi2.sf(chi2.isf(LEVEL, 8), 10)
    low, high = binom.interval(BAND, sets, rate)
    count = external("hosmer-lemeshow", uniform(1000), sets, 8)
    assert low <= count <= high
    assert count > band(sets)[1]


@pytest.mark.slow
@pytest.mark.parametrize("test", ["hosmer-lemeshow", "le-cessie-van-houwelingen"])
def test_external_limit_rejects_development_samples_too_seldom(test, sets):
    """A model is nearer to the labels that it was fitted to."""
    count = np.count_nonzero(pvalues(test, development(sets)) <= LEVEL)
    assert count < band(sets)[0]


def notes(data):
    return " ".join(REGISTRY["hosmer-lemeshow"].with_options({}).limit(data).notes)


def test_limit_is_conservative_where_predictions_vary_within_groups(sets):
    """Groups along one of four probabilities: size 3 %, and the mean of the note is right."""
    probs = np.random.default_rng(0).dirichlet(np.full(4, 3.0), 2000)
    data = Predictions(probs, np.arange(2000) % 4)
    assert external("hosmer-lemeshow", data, 4 * sets, 30) < band(4 * sets)[0]
    assert "the chi^2 limit is conservative" in notes(data)
    bound = REGISTRY["hosmer-lemeshow"].with_options({}).bind(data)
    values = bound.values(bound.redraw(resample_keys(1, sets)))
    assert abs(values.mean() - bound.statistic.sums.mean) < 4 * values.std() / np.sqrt(sets)


def sparse():
    """Return rare events: from 0.02 to 0.2 are expected in a group of ten."""
    return Predictions(0.001 + 0.02 * np.linspace(0, 1, 100), np.arange(100) == 0)


def test_limit_fails_in_sparse_groups(sets):
    """Expected counts below 1: about 16 % in place of 5 %, and the result says so."""
    assert external("hosmer-lemeshow", sparse(), sets, 10) > 2 * band(sets)[1]
    assert "the chi^2 limit is rough; use null='exact'" in notes(sparse())


@pytest.mark.parametrize("test", ["hosmer-lemeshow", "pigeon-heyse", "ici"])
def test_exact_null_holds_its_level_in_sparse_groups(test):
    """The same data; 400 sets of 99 redrawn labels each."""
    measure, judge, data = REGISTRY[test].with_options({}), NULLS["exact"].test, sparse()
    rng, count = np.random.default_rng(3), 0
    for seed in range(400):
        one = data.simulate(rng)
        pvalue = judge(measure, one, n_resamples=99, seed=seed).pvalue
        count += pvalue <= LEVEL
    assert count <= binom.ppf(BAND, 400, LEVEL)
