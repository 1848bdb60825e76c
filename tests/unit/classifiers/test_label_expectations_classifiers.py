"""Expected log-likelihoods of labels."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_softmax
from scipy.stats import norm

from caltest.classifiers.variational_gp import antithetic, bernoulli, hermite, softmax

pytestmark = pytest.mark.loops

STEP = 1e-5


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (2.0, 4.0), (-1.0, 0.01)])
@pytest.mark.parametrize("code", [0, 1])
def test_bernoulli_is_the_integral(mean, variance, code):
    law = norm(mean, np.sqrt(variance))
    expected = quad(lambda f: law.pdf(f) * np.log(expit((2 * code - 1) * f)), -25, 25, limit=200)[0]
    arguments = np.array([[mean]]), np.array([[variance]]), np.array([code])
    assert bernoulli(*arguments, *hermite(32))[0] == pytest.approx(expected, rel=1e-6)


def cases():
    """Means, variances and labels of both likelihoods."""
    rng = np.random.default_rng(0)
    nodes = hermite(32)
    for K, function in [(1, bernoulli), (4, softmax)]:
        codes = rng.integers(0, max(K, 2), 5)
        points = nodes if K == 1 else (antithetic(64, K),)
        yield function, rng.normal(size=(K, 5)), rng.uniform(0.1, 3, (K, 5)), codes, points


@pytest.mark.parametrize("case", list(cases()), ids=["bernoulli", "softmax"])
def test_derivatives_are_those_of_finite_differences(case):
    function, mean, variance, codes, points = case
    _, by_mean, by_variance = function(mean, variance, codes, *points)
    for place in np.ndindex(*mean.shape):
        unit = np.zeros_like(mean)
        unit[place] = STEP
        for found, low, high in [
            (by_mean, (mean - unit, variance), (mean + unit, variance)),
            (by_variance, (mean, variance - unit), (mean, variance + unit)),
        ]:
            ends = [function(*end, codes, *points)[0] for end in (low, high)]
            expected = (ends[1] - ends[0]) / (2 * STEP)
            assert found[place] == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_softmax_is_the_mean_over_the_points():
    rng = np.random.default_rng(1)
    mean, variance, codes = rng.normal(size=(3, 6)), rng.uniform(0, 2, (3, 6)), np.arange(6) % 3
    points = antithetic(32, 3)
    f = mean.T[:, None] + np.sqrt(variance.T)[:, None] * points
    expected = log_softmax(f, axis=2).mean(axis=1)[np.arange(6), codes].sum()
    assert softmax(mean, variance, codes, points)[0] == pytest.approx(expected, rel=1e-12)


def test_softmax_is_close_to_the_expectation():
    mean, variance = np.array([[1.0], [0.0], [-1.0]]), np.array([[2.0], [1.0], [0.5]])
    f = mean.T + np.sqrt(variance.T) * np.random.default_rng(0).normal(size=(200_000, 3))
    draws = log_softmax(f, axis=1)[:, 0]
    value = softmax(mean, variance, np.array([0]), antithetic(128, 3))[0]
    assert abs(value - draws.mean()) < 5 * draws.std() / np.sqrt(len(draws)) + 0.01


def test_points_are_antithetic():
    np.testing.assert_allclose(antithetic(33, 4).mean(axis=0), 0, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-300, 1e3])
def test_extreme_values_stay_finite(scale):
    """A variance of 0, and means of thousands."""
    for K, function, points in [(1, bernoulli, hermite(32)), (3, softmax, (antithetic(16, 3),))]:
        mean = scale * np.array([[1.0, -1.0]] * K)
        for part in function(mean, np.full((K, 2), 1e-300), np.array([0, 1]), *points):
            assert np.isfinite(part).all()
