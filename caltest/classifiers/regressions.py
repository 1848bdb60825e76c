"""K Gaussian-process regressions with one kernel, exact or with inducing points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotri

from caltest.classifiers.base import GPClassifier
from caltest.classifiers.collapsed_bound import (
    CollapsedBound,
    RowsByClass,
    Targets,
    bound_and_gradient,
    posterior,
    rows_by_class,
)
from caltest.classifiers.rbf import inducing_points, no_gradient, rbf
from caltest.numerics.loops import map_threads
from caltest.types import Codes, Floats, Ints

CHUNK = 2**20  # entries of the kernel in a block of a prediction
MOST_EXACT = 1000  # rows up to which the posterior is exact unless inducing points are asked for
INDUCING = 500
HELD = 2**24  # entries of the K matrices that a posterior holds; both are less for many classes
LEAST_REST = 1e-12  # of 1 - a' B^-1 a / d; rounding may leave less
Target = Callable[[int], tuple[Floats, Floats]]


def regressions(
    X: Floats, codes: Ints, K: int, Z: Floats | None, n_jobs: int | None
) -> Regressions:
    """Return the exact regressions or, given inducing points Z, the sparse ones."""
    if Z is None:
        return ExactRegressions(X, codes, n_jobs)
    return SparseRegressions(rows_by_class(X, codes, K), Z, n_jobs)


def size_of(n_inducing: int | None, n: int, K: int) -> int | None:
    """Return the number of inducing points, or None for the exact posterior.

    With all rows inducing the bound is the exact log marginal likelihood.
    """
    if n_inducing is None:
        most = int((HELD / K) ** 0.5)
        return None if n <= min(MOST_EXACT, most) else min(INDUCING, most)
    return n_inducing if n_inducing < n else None


class RegressionsClassifier(GPClassifier):
    """A classifier whose latent functions are regressions on targets that the labels give."""

    _centre: Floats
    _posterior: Latent

    def _regressions(self, X: Floats, codes: Codes, rng: np.random.RandomState) -> Regressions:
        """Choose the inducing points, if any, and return the regressions."""
        K = len(self.classes_)
        size = size_of(self.n_inducing, len(X), K)
        Z = None if size is None else inducing_points(X, size, self.inducing, rng)
        self.inducing_points_ = Z
        return regressions(X, codes, K, Z, self.n_jobs)

    def _latent(self, X: Floats) -> tuple[Floats, Floats]:
        mean, variance = self._posterior(X, self.n_jobs)
        return mean + self._centre, variance


@dataclass(frozen=True)
class SparseRegressions:
    """Titsias' collapsed bound, with inducing points Z."""

    rows: RowsByClass
    Z: Floats
    n_jobs: int | None

    def evidence(self, targets: Targets, variance: float, scales: Floats) -> CollapsedBound:
        """Return the bound and its gradient."""
        return bound_and_gradient(self.rows, targets, self.Z, variance, scales, n_jobs=self.n_jobs)

    def posterior(self, targets: Targets, variance: float, scales: Floats) -> Latent:
        """Return the posterior given the inducing variables."""
        _, found = posterior(self.rows, targets, self.Z, variance, scales, n_jobs=self.n_jobs)
        return SparseLatent(self.Z, variance, scales, found.L, found.roots, found.means)


@dataclass(frozen=True)
class SparseLatent:
    """Posterior through M inducing points; see `numerics.collapsed_bound.Posterior`."""

    Z: Floats
    variance: float
    scales: Floats
    L: Floats
    roots: Floats
    means: Floats

    def __call__(self, X: Floats, n_jobs: int | None) -> tuple[Floats, Floats]:
        """Return mean and variance, each (n, K)."""
        mean, known, unknown = in_parts(self._part, X, len(self.Z), n_jobs)
        return mean, np.maximum(unknown + known, 0)

    def without_own(
        self, X: Floats, codes: Ints, targets: Targets, n_jobs: int | None
    ) -> tuple[Floats, Floats]:
        """Return mean and variance at each row of the fit given the other rows, each (n, K).

        Without a row whose noise is d, B is B - a a' / d, so that a' B^-1 a, which is less than d,
        becomes that over 1 - a' B^-1 a / d (Sherman and Morrison).
        """
        mean, known, unknown = in_parts(self._part, X, len(self.Z), n_jobs)
        values, noise = targets.of_all(codes)
        pull = known / noise
        rest = np.maximum(1 - pull, LEAST_REST)
        return (mean - pull * values) / rest, np.maximum(unknown + known / rest, 0)

    def _part(self, X: Floats) -> tuple[Floats, Floats, Floats]:
        """Return means, a' B^-1 a and k(x, x) - a' a, what the inducing variables leave open."""
        kernel = rbf(self.Z, X, self.variance, self.scales)
        whitened = solve_triangular(self.L, kernel, lower=True, check_finite=False)
        unknown = self.variance - np.einsum("ji,ji->i", whitened, whitened)
        known = np.empty((len(X), self.means.shape[1]))
        for k, root in enumerate(self.roots):
            half = solve_triangular(root, whitened, lower=True, check_finite=False)
            # With one root for all, the one assignment serves all classes.
            known[:, k:] = np.einsum("ji,ji->i", half, half)[:, None]
        return whitened.T @ self.means, known, unknown[:, None]


@dataclass(frozen=True)
class ExactRegressions:
    """The exact log marginal likelihood, for n up to a few thousands."""

    X: Floats
    codes: Ints
    n_jobs: int | None

    def evidence(self, targets: Targets, variance: float, scales: Floats) -> CollapsedBound:
        """Return the log marginal likelihood and its gradient."""
        task = self.X, len(targets.on), partial(targets.of, codes=self.codes), variance, scales
        return evidence_and_gradient(*task, same_noise=targets.same_noise, n_jobs=self.n_jobs)

    def posterior(self, targets: Targets, variance: float, scales: Floats) -> Latent:
        """Return the posterior."""
        task = self.X, len(targets.on), partial(targets.of, codes=self.codes), variance, scales
        own = exact_posterior(*task, same_noise=targets.same_noise, n_jobs=self.n_jobs)
        return ExactLatent(self.X, variance, scales, *own[1:])


@dataclass(frozen=True)
class ExactLatent:
    """Posterior through all n rows; see `exact_posterior`."""

    X: Floats
    variance: float
    scales: Floats
    roots: Floats
    weights: Floats

    def __call__(self, X: Floats, n_jobs: int | None) -> tuple[Floats, Floats]:
        """Return mean and variance, each (n, K)."""
        mean, variance = in_parts(self._part, X, len(self.X), n_jobs)
        return mean, variance

    def without_own(
        self, X: Floats, codes: Ints, targets: Targets, n_jobs: int | None
    ) -> tuple[Floats, Floats]:
        """Return mean and variance at each row of the fit given the other rows, each (n, K).

        They are y_i - w_i / c_i and 1 / c_i less the noise, where c is the diagonal of
        (k(X, X) + D)^-1 and w the weights (Rasmussen and Williams 2006, equation 5.12).
        """
        values, noise = targets.of_all(codes)
        roots = [(root,) for root in self.roots]
        # The diagonal of the inverse of root root'.
        diagonals = map_threads(lambda r: np.diag(dpotri(r, lower=1)[0]).copy(), roots, n_jobs)
        precision = np.array(list(diagonals)).T
        variance = np.maximum(1 / precision - noise, 0)
        return values - self.weights / precision, variance

    def _part(self, X: Floats) -> tuple[Floats, Floats]:
        kernel = rbf(self.X, X, self.variance, self.scales)
        variance = np.empty((len(X), self.weights.shape[1]))
        for k, root in enumerate(self.roots):
            half = solve_triangular(root, kernel, lower=True, check_finite=False)
            variance[:, k:] = (self.variance - np.einsum("ji,ji->i", half, half))[:, None]
        return kernel.T @ self.weights, np.maximum(variance, 0)


Latent = SparseLatent | ExactLatent  # the posterior of the latent functions
Regressions = SparseRegressions | ExactRegressions  # bound to data; targets and kernel remain


def in_parts(
    latent: Callable[[Floats], tuple[Floats, ...]], X: Floats, M: int, n_jobs: int | None
) -> tuple[Floats, ...]:
    """Compute the posterior for some rows at a time."""
    size = max(1, CHUNK // M)
    tasks = [(X[start : start + size],) for start in range(0, len(X), size)]
    parts = list(map_threads(latent, tasks, n_jobs))
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def exact_posterior(
    X: Floats,
    K: int,
    target: Target,
    variance: float,
    scales: Floats,
    *,
    same_noise: bool = False,
    n_jobs: int | None = None,
) -> tuple[float, Floats, Floats]:
    """Return the log marginal likelihood, summed over classes, and the posteriors.

    Parameters
    ----------
    X : (n, d) array
        Inputs.
    K : int
        Number of classes.
    target : callable
        target(k) gives the targets y_k and the noise diag(D_k) of class k, each (n,).
    variance : float
        Of the kernel.
    scales : (d,) or (1,) array
        Length scales.
    same_noise : bool
        Whether D_k is the same for all classes.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    value : float
        The log marginal likelihood.
    roots : (K, n, n) or (1, n, n) array
        Lower triangle of the root of k(X, X) + D_k; one where the noise of all is the same.
    weights : (n, K) array
        (k(X, X) + D_k)^-1 y_k.
    """
    kernel = rbf(X, X, variance, scales)
    np.fill_diagonal(kernel, variance)

    def root_of(k: int) -> Floats:
        root: Floats = cholesky(kernel + np.diag(target(k)[1]), lower=True, check_finite=False)
        return root

    roots = list(map_threads(root_of, [(k,) for k in range(1 if same_noise else K)], n_jobs))
    weights, value = np.empty((len(X), K)), 0.0
    for k in range(K):
        root = roots[k % len(roots)]
        half = solve_triangular(root, target(k)[0], lower=True, check_finite=False)
        weights[:, k] = solve_triangular(root, half, lower=True, trans="T", check_finite=False)
        value -= 0.5 * (half @ half + len(X) * np.log(2 * np.pi)) + np.log(np.diag(root)).sum()
    return float(value), np.array(roots), weights


def evidence_and_gradient(
    X: Floats,
    K: int,
    target: Target,
    variance: float,
    scales: Floats,
    *,
    same_noise: bool = False,
    n_jobs: int | None = None,
) -> CollapsedBound:
    """Return the log marginal likelihood and its gradient; see `exact_posterior`.

    That by Z is the one by X as the second argument alone, and of no use.
    """
    task = X, K, target, variance, scales
    value, roots, weights = exact_posterior(*task, same_noise=same_noise, n_jobs=n_jobs)

    def by_covariance(k: int) -> tuple[Floats, float]:
        """Return the derivatives by k(X, X) + D and by a factor of D, of classes that share it."""
        own = weights if len(roots) == 1 else weights[:, [k]]
        inverse = dpotri(roots[k], lower=1)[0]
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        G = 0.5 * (own @ own.T - own.shape[1] * inverse)
        return G, float(np.diag(G) @ target(k)[1])

    by_kernel, log_noise = np.zeros((len(X), len(X))), 0.0
    tasks = [(k,) for k in range(len(roots))]
    for part, by_noise in map_threads(by_covariance, tasks, n_jobs):
        by_kernel += part
        log_noise += by_noise
    gradient = no_gradient(*X.shape)
    gradient.add(by_kernel * rbf(X, X, variance, scales), X, X, scales)
    return CollapsedBound(value, gradient, log_noise)
