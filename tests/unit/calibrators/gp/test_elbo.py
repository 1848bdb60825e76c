"""The bound of GP calibration against a dense one, written without whitening or interpolation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.gaussian_process.kernels import RBF, Matern

from caltest.calibrators.gp.elbo import GPScores, bound, kept_stencils, pack_gradient, tables
from caltest.calibrators.gp.process import KERNELS, LatentPosterior, pack, random_paths, unpack

pytestmark = pytest.mark.loops

M = 5


def example(K, n, *, seed=0, kernel=KERNELS["rbf"]):
    """Weighted rows and a process that is far from any optimum."""
    rng = np.random.default_rng(seed)
    z, codes = rng.dirichlet(np.ones(K) / 2, n), rng.integers(0, K, n)
    weight = rng.uniform(0, 2, n)
    prior = np.log(np.maximum(z, 2e-16))
    scores = GPScores(z, prior, codes, weight, float(z.min()), float(z.max()))
    C = np.tril(rng.normal(0, 0.3, (M, M)))
    C[np.diag_indices(M)] = rng.uniform(0.2, 1, M)
    Z = rng.uniform(0, 1, M)
    return scores, LatentPosterior(rng.normal(size=M), C, Z, 1.3, 0.21, 0.013, kernel)


def dense_kernel(q, x, y):
    """The prior covariances by scikit-learn's kernels."""
    kernel = Matern(q.scale, nu=q.kernel.order / 2) if q.kernel.order else RBF(q.scale)
    return q.variance * kernel(x[:, None], y[:, None])


def rows_of(scores, q):
    """Each row's mean, K x K covariance, label and weight, from u ~ N(mu, S) itself."""
    K_uu = dense_kernel(q, q.Z, q.Z) + q.noise * np.eye(M)
    L = np.linalg.cholesky(K_uu)
    mu, S, inverse = L @ q.m, L @ q.C @ q.C.T @ L.T, np.linalg.inv(K_uu)
    for z, prior, y, w in zip(scores.z, scores.prior, scores.codes, scores.weight, strict=True):
        a = dense_kernel(q, z, q.Z) @ inverse
        block = dense_kernel(q, z, z) + q.noise * np.eye(z.size)
        yield prior + a @ mu, block - a @ (K_uu - S) @ a.T, y, w


def divergence(q):
    """KL(N(mu, S) || N(0, K_uu)) without whitening."""
    K_uu = dense_kernel(q, q.Z, q.Z) + q.noise * np.eye(M)
    L = np.linalg.cholesky(K_uu)
    mu, S, inverse = L @ q.m, L @ q.C @ q.C.T @ L.T, np.linalg.inv(K_uu)
    logs = np.linalg.slogdet(K_uu)[1] - np.linalg.slogdet(S)[1]
    return 0.5 * (np.trace(inverse @ S) + mu @ inverse @ mu - M + logs)


def dense(scores, q, *, full):
    """The bound with equation 7, straight from the paper."""
    total = 0.0
    for phi, C, y, w in rows_of(scores, q):
        C_used = C if full else np.diag(np.diag(C))
        sigma = softmax(phi)
        second = sigma @ C_used @ sigma - np.diag(C_used) @ sigma
        total += w * (np.log(sigma[y]) + 0.5 * second)
    return total - divergence(q)


def differences(function, at, step):
    steps = step * np.eye(at.size)
    return np.array([function(at + d) - function(at - d) for d in steps]) / (2 * step)


@pytest.mark.parametrize("full", [True, False], ids=["full", "diagonal"])
@pytest.mark.parametrize("scale", [0.011, 0.21, 10.0])
@pytest.mark.parametrize(("K", "n"), [(2, 30), (4, 25), (30, 10)])
def test_bound_is_the_dense_unwhitened_one(K, n, scale, full):
    """To 1e-8, with the prior block by pairs (K = 2, 4) and by the grid (K = 30)."""
    scores, q = example(K, n)
    q = replace(q, scale=scale)
    assert bound(replace(scores, full=full), q).value == pytest.approx(
        dense(scores, q, full=full), abs=1e-8
    )
    if scale == 0.21:
        assert (tables(scores, q, full=full).factor is None) == (K < 10 or not full)


@pytest.mark.parametrize("full", [True, False], ids=["full", "diagonal"])
@pytest.mark.parametrize("K", [3, 30])
def test_gradient_is_that_of_the_dense_bound(K, full):
    """By every parameter: m, C, inducing inputs, variance, scale, noise."""
    scores, q = example(K, 8)
    root = np.linalg.cholesky(np.eye(M) + 0.3)
    gradient = pack_gradient(q, bound(replace(scores, full=full), q), root)

    def value(values):
        return dense(scores, unpack(values, root), full=full)

    assert gradient == pytest.approx(differences(value, pack(q, root), 1e-5), abs=2e-6)


@pytest.mark.parametrize("which", ["matern32", "matern52"])
def test_bound_with_a_matern_kernel_is_the_dense_one(which):
    """To 1e-6 of a nat per row, as the kink at 0 is interpolated; so is its gradient."""
    scores, q = example(4, 25, kernel=KERNELS[which])
    found, root = bound(scores, q), np.eye(M)
    assert found.value == pytest.approx(dense(scores, q, full=True), abs=25e-6)

    def value(values):
        return dense(scores, unpack(values, root, q.kernel), full=True)

    numeric = differences(value, pack(q, root), 1e-5)
    assert pack_gradient(q, found, root) == pytest.approx(numeric, rel=1e-3, abs=1e-3)
    paths = random_paths(4, M, 6, 20.0, np.random.default_rng(1), q.kernel)

    def drawn(values):
        return bound(scores, unpack(values, root, q.kernel), paths=paths).value

    numeric = differences(drawn, pack(q, root), 1e-4)
    slope = pack_gradient(q, bound(scores, q, paths=paths), root)
    assert slope == pytest.approx(numeric, rel=1e-3, abs=0.02)


@pytest.mark.parametrize("full", [True, False], ids=["full", "diagonal"])
def test_gradient_over_draws_is_its_own_difference(full):
    """The draws are fixed, so that their mean is a smooth function of all parameters."""
    scores, q = example(3, 8)
    scores, root = replace(scores, full=full), np.eye(M)
    paths = random_paths(3, M, 6, 20.0, np.random.default_rng(1))
    found = bound(scores, q, paths=paths)

    def value(values):
        return bound(scores, unpack(values, root), paths=paths).value

    numeric = differences(value, pack(q, root), 1e-4)
    assert pack_gradient(q, found, root) == pytest.approx(numeric, rel=1e-4, abs=1e-3)


@pytest.mark.full
@pytest.mark.parametrize("full", [True, False], ids=["full", "diagonal"])
def test_mean_over_draws_is_the_expectation(full):
    """Against draws from each row's dense normal distribution, within 4 standard errors."""
    scores, q = example(3, 4)
    rng, S = np.random.default_rng(2), 20_000
    expected, variance = -divergence(q), 0.0
    for phi, C, y, w in rows_of(scores, q):
        C_used = C if full else np.diag(np.diag(C))
        f = rng.multivariate_normal(phi, C_used, S)
        logs = w * log_softmax(f, axis=1)[:, y]
        expected, variance = expected + logs.mean(), variance + logs.var() / S
    paths = random_paths(3, M, S, 5.0, rng)
    value = bound(replace(scores, full=full), q, paths=paths).value
    # Rows share their draws: the errors of their means may add up.
    assert abs(value - expected) < 4 * np.sqrt((1 + len(scores.z)) * variance)


def test_batches_add_up_to_the_whole():
    """The expected bound over batches of equal size is the bound."""
    scores, q = example(3, 20)
    parts = [bound(scores.rows(slice(i, i + 5)), q, share=0.25) for i in (0, 5, 10, 15)]
    whole = bound(scores, q)
    assert np.mean([part.value for part in parts]) == pytest.approx(whole.value)
    assert np.mean([part.by_inputs for part in parts], axis=0) == pytest.approx(whole.by_inputs)


def test_kept_stencils_and_smaller_blocks_change_nothing(monkeypatch):
    """Stencils depend on the length scale alone; fine grids divide the rows."""
    scores, q = example(3, 20)
    plain = bound(scores, q)
    kept = bound(scores, q, kept=kept_stencils(scores, q))
    assert kept.value == plain.value
    assert (kept.by_inputs == plain.by_inputs).all()
    monkeypatch.setattr("caltest.calibrators.gp.elbo.PRODUCTS", 300)
    assert len(kept_stencils(scores, q)) > 4
    assert bound(scores, q).value == pytest.approx(plain.value)
    monkeypatch.setattr("caltest.calibrators.gp.elbo.HELD", 59)
    assert kept_stencils(scores, q) is None
