"""Expectations of log softmax: the expansion of the second order, and draws."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from caltest.calibrators.gp.elbo import monte_carlo, softmax_rows, taylor

pytestmark = pytest.mark.loops

N, K = 5, 4
RNG = np.random.default_rng(0)
MEAN, CODES = RNG.normal(0, 2, (N, K)), np.array([0, 1, 2, 3, 1])
WEIGHT = RNG.uniform(0, 2, N)
HALVES = RNG.normal(size=(N, K, K))
C = HALVES @ np.swapaxes(HALVES, 1, 2)


def expansion(mean):
    """Equation 7 as it stands in the paper, row by row."""
    total = 0.0
    for phi, c, y, w in zip(mean, C, CODES, WEIGHT, strict=True):
        sigma = softmax(phi)
        total += w * (np.log(sigma[y]) + 0.5 * (sigma @ c @ sigma - np.diag(c) @ sigma))
    return total


def call_taylor(mean):
    sigma, log_prob = softmax_rows(mean, CODES)
    product = np.einsum("njk,nk->nj", C, sigma)
    variance = np.ascontiguousarray(np.diagonal(C, axis1=1, axis2=2))
    return taylor(sigma, log_prob, product, variance, CODES, WEIGHT)


def test_taylor_is_equation_7_with_its_derivative():
    """The value against the formula, the derivative against differences of the formula."""
    value, by_mean = call_taylor(MEAN)
    assert value == pytest.approx(expansion(MEAN))
    for place in np.ndindex(N, K):
        step = np.zeros((N, K))
        step[place] = 1e-5
        numeric = (expansion(MEAN + step) - expansion(MEAN - step)) / 2e-5
        assert by_mean[place] == pytest.approx(numeric, abs=1e-7)


def test_softmax_rows_hold_for_large_latent_values():
    """No overflow, and logarithms of what is 0."""
    sigma, log_prob = softmax_rows(np.array([[1000.0, 0.0, -1000.0]]), np.array([2]))
    assert sigma == pytest.approx(np.array([[1.0, 0.0, 0.0]]))
    assert log_prob == pytest.approx(-2000)


def test_monte_carlo_is_the_mean_over_draws_with_its_derivative():
    """Against scipy's log_softmax; the draws become the derivatives."""
    draws = RNG.normal(0, 3, (N, K, 6))
    logs = log_softmax(draws, axis=1)[np.arange(N), CODES].mean(axis=1)
    indicator = (np.arange(K) == CODES[:, None])[:, :, None]
    slopes = WEIGHT[:, None, None] * (indicator - softmax(draws, axis=1)) / 6
    assert monte_carlo(draws, CODES, WEIGHT) == pytest.approx(WEIGHT @ logs)
    assert draws == pytest.approx(slopes)
