"""The bound of sparse variational classification, and expected log-likelihoods of labels."""

from functools import partial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_softmax
from scipy.stats import norm

from caltest.classifiers import variational_gp as label_bound
from caltest.classifiers.rbf import RBFParameters, rbf
from caltest.classifiers.regressions import JITTER
from caltest.classifiers.variational_gp import (
    Inducing,
    Labelled,
    _newton_step,
    antithetic,
    ascend,
    bernoulli,
    gradient,
    hermite,
    prior,
    softmax,
    start,
    step_at,
)

pytestmark = pytest.mark.loops

VARIANCE, SCALES = KERNEL = RBFParameters(2.0, np.array([0.7, 1.5]))
STEP = 1e-5
LIKELIHOODS = {
    1: partial(bernoulli, nodes=hermite(32)[0], weights=hermite(32)[1]),
    3: partial(softmax, points=antithetic(64, 3)),
}


def labelled(latents):
    """Rows, classes and eight inducing points."""
    rng = np.random.default_rng(latents)
    X = rng.normal(size=(40, 2))
    codes = (X[:, 0] > 0).astype(np.int64) + (latents > 1) * (X[:, 1] > 0.5)
    return Labelled(X, codes, X[:8] + 0.1, LIKELIHOODS[latents])


def some_q(latents):
    """A variational distribution that is not the best."""
    rng = np.random.default_rng(9)
    C = np.tril(0.1 * rng.normal(size=(latents, 8, 8))) + 0.7 * np.eye(8)
    return Inducing(rng.normal(size=(latents, 8)), C)


def plain_bound(data, q, variance=VARIANCE, scales=SCALES):
    """Not whitened, with inverses and determinants."""
    inner = rbf(data.Z, data.Z, variance, scales) + JITTER * variance * np.eye(8)
    cross, root = rbf(data.X, data.Z, variance, scales), np.linalg.cholesky(inner)
    project = cross @ np.linalg.inv(inner)
    means, variances, divergence = [], [], 0.0
    for m, C in zip(q.m, q.C, strict=True):
        mean, S = root @ m, root @ C @ C.T @ root.T
        means.append(project @ mean)
        variances.append(variance - np.diag(project @ (inner - S) @ project.T))
        divergence += 0.5 * (np.trace(np.linalg.solve(inner, S)) - 8)
        divergence += 0.5 * mean @ np.linalg.solve(inner, mean)
        divergence += 0.5 * (np.linalg.slogdet(inner)[1] - np.linalg.slogdet(S)[1])
    return data.expectation(np.array(means), np.array(variances), data.codes)[0] - divergence


both_likelihoods = pytest.mark.parametrize("latents", [1, 3])


@both_likelihoods
def test_bound_is_that_of_plain_matrices(latents):
    data, q = labelled(latents), some_q(latents)
    found = step_at(prior(data, KERNEL), q)[0]
    assert found == pytest.approx(plain_bound(data, q), rel=1e-8)


@both_likelihoods
def test_gradient_is_that_of_finite_differences(latents):
    """By variance and length scales, for fixed whitened m and C, of the plain bound."""
    data, q = labelled(latents), some_q(latents)
    found = gradient(prior(data, KERNEL), q)
    for j, unit in enumerate(np.eye(3)):
        ends = [
            plain_bound(data, q, VARIANCE * np.exp(h * unit[0]), SCALES * np.exp(h * unit[1:]))
            for h in (-STEP, STEP)
        ]
        expected = (ends[1] - ends[0]) / (2 * STEP)
        assert found[j] == pytest.approx(expected, rel=1e-5, abs=1e-6)


@both_likelihoods
def test_blocks_of_rows_give_the_same(latents, monkeypatch):
    """Blocks of any size, computed again or kept."""
    data, q = labelled(latents), some_q(latents)
    whole = gradient(prior(data, KERNEL), q)
    monkeypatch.setattr(label_bound, "CHUNK", 60)
    monkeypatch.setattr(label_bound, "KEPT", 0)
    blocks = gradient(prior(data, KERNEL), q)
    np.testing.assert_allclose(blocks, whole, rtol=1e-9)


def test_change_of_the_means_solves_the_system_of_all_classes(monkeypatch):
    """Conjugate gradients beside the dense matrix of all latent functions."""
    monkeypatch.setattr(label_bound, "RESIDUE", 1e-12)
    data, q = labelled(3), some_q(3)
    known = prior(data, KERNEL)
    (A,) = known.projections
    rng = np.random.default_rng(0)
    W, slope = rng.dirichlet(np.ones(3), size=40).T, rng.normal(size=(3, 8))
    dense = np.eye(24).reshape(3, 8, 3, 8)
    for k in range(3):
        dense[k, :, k] += (A * W[k]) @ A.T
        for other in range(3):
            dense[k, :, other] -= (A * W[k] * W[other]) @ A.T
    found = _newton_step(known, W, q.C, slope)
    expected = np.linalg.solve(dense.reshape(24, 24), slope.ravel())
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-8)


@both_likelihoods
def test_best_bound_does_not_depend_on_the_start(latents):
    """The bound is concave enough: from anywhere the steps lead to the same."""
    data = labelled(latents)
    known = prior(data, KERNEL)
    values = [ascend(known, q)[0] for q in (start(latents, 8), some_q(latents))]
    assert values[0] == pytest.approx(values[1], abs=1e-3)


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (2.0, 4.0), (-1.0, 0.01)])
@pytest.mark.parametrize("code", [0, 1])
def test_bernoulli_is_the_integral(mean, variance, code):
    law = norm(mean, np.sqrt(variance))
    expected = quad(lambda f: law.pdf(f) * np.log(expit((2 * code - 1) * f)), -25, 25, limit=200)[0]
    arguments = np.array([[mean]]), np.array([[variance]]), np.array([code])
    assert bernoulli(*arguments, *hermite(32))[0] == pytest.approx(expected, rel=1e-6)


def test_softmax_is_the_mean_over_the_points():
    """Antithetic ones, so that it is close to the expectation."""
    rng = np.random.default_rng(1)
    mean, variance, codes = rng.normal(size=(3, 6)), rng.uniform(0, 2, (3, 6)), np.arange(6) % 3
    points = antithetic(32, 3)
    f = mean.T[:, None] + np.sqrt(variance.T)[:, None] * points
    expected = log_softmax(f, axis=2).mean(axis=1)[np.arange(6), codes].sum()
    assert softmax(mean, variance, codes, points)[0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(antithetic(33, 4).mean(axis=0), 0, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-300, 1e3])
def test_extreme_values_stay_finite(scale):
    """A variance of 0, and means of thousands."""
    for K, function, points in [(1, bernoulli, hermite(32)), (3, softmax, (antithetic(16, 3),))]:
        mean = scale * np.array([[1.0, -1.0]] * K)
        for part in function(mean, np.full((K, 2), 1e-300), np.array([0, 1]), *points):
            assert np.isfinite(part).all()
