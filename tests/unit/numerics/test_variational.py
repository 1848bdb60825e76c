"""Whitened variational Gaussian processes against their unwhitened definitions."""

import numpy as np
import pytest

from caltest.numerics.variational import (
    cholesky_back,
    divergence,
    inverse_root,
    marginals,
    marginals_back,
    unpack_root,
    unpack_root_back,
    whiten,
    whiten_back,
)

pytestmark = pytest.mark.loops

M, N = 4, 6
RNG = np.random.default_rng(0)
HALF = RNG.normal(size=(M, M))
KZZ = HALF @ HALF.T + np.eye(M)
L = np.linalg.cholesky(KZZ)
B = RNG.normal(size=(M, N))
MEAN = RNG.normal(size=M)
ROOT = np.tril(RNG.normal(size=(M, M)))
ROOT[np.diag_indices(M)] = RNG.uniform(0.3, 1, M)


def differences(function, at):
    out = np.empty(at.shape)
    for place in np.ndindex(at.shape):
        step = np.zeros(at.shape)
        step[place] = 1e-6
        out[place] = (function(at + step) - function(at - step)) / 2e-6
    return out


def test_divergence_is_that_of_two_normal_distributions():
    """KL(N(L m, L S L') || N(0, K))."""
    mu, S = L @ MEAN, L @ ROOT @ ROOT.T @ L.T
    inverse = np.linalg.inv(KZZ)
    logs = np.linalg.slogdet(KZZ)[1] - np.linalg.slogdet(S)[1]
    value, by_C = divergence(MEAN, ROOT)
    assert value == pytest.approx(0.5 * (np.trace(inverse @ S) + mu @ inverse @ mu - M + logs))
    by_m = differences(lambda m: divergence(m, ROOT)[0], MEAN)
    assert by_m == pytest.approx(MEAN, abs=1e-7)
    numeric = differences(lambda C: divergence(MEAN, C)[0], ROOT)
    assert by_C == pytest.approx(np.tril(numeric), abs=1e-6)


def test_marginals_are_those_of_the_conditional():
    """Without whitening: mean K^-1 u, and the prior less what u explains."""
    mean, variance = marginals(whiten(L, B), 30.0, MEAN, ROOT)
    G = np.linalg.solve(KZZ, B).T
    S = L @ ROOT @ ROOT.T @ L.T
    assert mean == pytest.approx(G @ L @ MEAN)
    assert variance == pytest.approx(np.diag(30 * np.eye(N) - G @ (KZZ - S) @ G.T))


def test_marginals_derivatives_are_their_differences():
    """By A, m and C."""
    A = whiten(L, B)
    by_mean, by_variance = RNG.normal(size=(2, N))

    def value(A, m, C):
        mean, variance = marginals(A, 30.0, m, C)
        return np.sum(by_mean * mean + by_variance * variance)

    by_A, by_m, by_C = marginals_back(A, MEAN, ROOT, by_mean, by_variance)
    assert by_A == pytest.approx(differences(lambda a: value(a, MEAN, ROOT), A), abs=1e-6)
    assert by_m == pytest.approx(differences(lambda m: value(A, m, ROOT), MEAN), abs=1e-6)
    numeric = differences(lambda C: value(A, MEAN, C), ROOT)
    assert by_C == pytest.approx(np.tril(numeric), abs=1e-6)


def test_whitening_derivatives_are_their_differences():
    """Through the Cholesky factor to the kernel matrix, changed symmetrically."""
    by_A = RNG.normal(size=(M, N))

    def value(kernel, cross):
        return np.sum(by_A * whiten(np.linalg.cholesky(kernel), cross))

    by_L, by_B = whiten_back(L, whiten(L, B), by_A)
    assert by_B == pytest.approx(differences(lambda b: value(KZZ, b), B), abs=1e-7)
    numeric = differences(lambda e: value(KZZ + (e + e.T) / 2, B), np.zeros((M, M)))
    assert cholesky_back(L, by_L) == pytest.approx(numeric, abs=1e-7)


def test_root_is_packed_with_a_positive_diagonal():
    values = RNG.normal(size=M * (M + 1) // 2)
    by_C = np.tril(RNG.normal(size=(M, M)))
    C = unpack_root(values, M)
    assert (np.diag(C) > 0).all()
    numeric = differences(lambda v: np.sum(by_C * unpack_root(v, M)), values)
    assert unpack_root_back(C, by_C) == pytest.approx(numeric, abs=1e-7)


@pytest.mark.parametrize("size", [1.0, 1e12, 1e25])
def test_inverse_root_holds_for_any_precision(size):
    """A lower triangle even where rounding errors exceed the prior's precision."""
    H = size * (HALF @ HALF.T)
    C = inverse_root(H)
    assert np.triu(C, 1) == pytest.approx(0)
    assert C @ C.T @ (np.eye(M) + H) == pytest.approx(np.eye(M), abs=1e-8)


def test_inverse_root_of_rounding_errors_ends():
    """Of huge sums that should cancel: neither positive nor with a trace."""
    C = inverse_root(1e180 * np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert np.isfinite(C).all()
    assert (np.diagonal(C) > 0).all()
