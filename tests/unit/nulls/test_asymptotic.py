"""Limit laws: what the measure knows, passed on."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from caltest.datasets import generative_model
from caltest.kernels import Exponential
from caltest.measures import SKCE


@pytest.mark.parametrize("estimator", ["linear", "block"])
@pytest.mark.parametrize("model", ["M1", "M2", "M3"])
def test_asymptotic_test_is_a_one_sided_z_test(estimator, model, outcome_of):
    """Like SciPy's one-sample t statistic, referred to the normal distribution."""
    predictions = generative_model(model, n=200, m=3, rng=0)
    measure = SKCE(estimator=estimator)
    outcome = outcome_of("asymptotic", measure, predictions)
    values = measure.bind(predictions).block_values()
    z = stats.ttest_1samp(values, 0.0).statistic
    assert outcome.statistic_name == "z"
    assert outcome.statistic == pytest.approx(z, rel=1e-12)
    assert outcome.pvalue == pytest.approx(stats.norm.sf(z), rel=1e-9)
    assert outcome.estimate == pytest.approx(values.mean(), rel=1e-12)
    assert outcome.distribution is None


@pytest.mark.parametrize("m", [2, 3])
def test_asymptotic_test_of_the_unbiased_estimator_is_pearsons_curve(m, outcome_of):
    """Moments over all pairs and triples by NumPy; the curve is a gamma distribution."""
    predictions = generative_model("M1", n=40, m=m, rng=0)
    delta = np.eye(m)[predictions.labels] - predictions.probs
    distance = np.abs(predictions.probs[:, None] - predictions.probs).sum(axis=2) / 2
    h = np.exp(-distance / 0.3) * (delta @ delta.T)
    n, at = 40, np.arange(40)
    different = [(i, j, k) for i, j, k in product(at, at, at) if len({i, j, k}) == 3]
    i, j, k = np.array(different).T
    triples = (h[i, j] * h[j, k] * h[k, i]).mean()
    off = h[~np.eye(n, dtype=bool)]
    variance = 2 * (off**2).mean() / (n * (n - 1))
    third = (8 * (n - 2) * triples + 4 * (off**3).mean()) / (n * (n - 1)) ** 2
    outcome = outcome_of("asymptotic", SKCE(kernel=Exponential(0.3)), predictions)
    assert outcome.statistic == pytest.approx(off.mean() / variance**0.5, rel=1e-10)
    shape = 4 * variance**3 / third**2
    place = shape + outcome.statistic * shape**0.5
    assert outcome.pvalue == pytest.approx(stats.gamma.sf(place, shape), rel=1e-9)


@pytest.mark.parametrize("m", [2, 10])
def test_pearson_curve_is_near_the_exact_null(m, outcome_of):
    """For calibrated predictions, of more rows than its triples are summed over."""
    predictions = generative_model("M1", n=2500, m=m, rng=3)
    found = [outcome_of(null, SKCE(), predictions).pvalue for null in ("asymptotic", "exact")]
    assert found[0] == pytest.approx(found[1], abs=0.05)
