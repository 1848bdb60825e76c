"""The exact regressions on labels, and the classifiers that are exact or sparse regressions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from caltest.classifiers.base import GPClassifier
from caltest.classifiers.collapsed_bound import (
    Latent,
    LogEvidence,
    SparseRegressions,
    Targets,
    inverse_of,
)
from caltest.classifiers.rbf import RBFParameters, inducing_points, no_gradient, rbf
from caltest.numerics.loops import map_threads
from caltest.types import Codes, Floats

MOST_EXACT = 1000  # rows up to which the posterior is exact unless inducing points are asked for
INDUCING = 500
HELD = 2**24  # entries of the K matrices that a posterior holds; both are less for many classes


def regressions(X: Floats, codes: Codes, Z: Floats | None, n_jobs: int | None) -> Regressions:
    """Return the exact regressions or, given inducing points Z, the sparse ones."""
    if Z is None:
        return ExactRegressions(X, codes, n_jobs)
    order = np.argsort(codes, kind="stable")
    return SparseRegressions(np.ascontiguousarray(X[order]), codes[order], Z, n_jobs)


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
        size = size_of(self.n_inducing, len(X), len(self.classes_))
        Z = None if size is None else inducing_points(X, size, self.inducing, rng)
        self.inducing_points_ = Z
        return regressions(X, codes, Z, self.n_jobs)

    def _latent(self, X: Floats) -> tuple[Floats, Floats]:
        mean, variance = self._posterior(X, self.n_jobs)
        return mean + self._centre, variance


@dataclass(frozen=True)
class ExactRegressions:
    """The exact log marginal likelihood, for n up to a few thousands."""

    X: Floats
    codes: Codes
    n_jobs: int | None = None

    def evidence(self, targets: Targets, kernel: RBFParameters) -> LogEvidence:
        """Return the log marginal likelihood, summed over classes, and its gradient.

        That by Z is the one by X as the second argument alone, and of no use.
        """
        X, (value, latent) = self.X, self._solved(targets, kernel)
        roots, weights, noise = latent.roots, latent.weights, targets.of(self.codes)[1]

        def by_covariance(k: int) -> tuple[Floats, float]:
            """Return the derivatives by k(X, X) + D and by a factor of D, of classes sharing it."""
            own = weights if len(roots) == 1 else weights[:, [k]]
            G = 0.5 * (own @ own.T - own.shape[1] * inverse_of(roots[k]))
            return G, float(np.diag(G) @ noise[:, k])

        by_kernel, log_noise = np.zeros((len(X), len(X))), 0.0
        tasks = [(k,) for k in range(len(roots))]
        for part, by_noise in map_threads(by_covariance, tasks, self.n_jobs):
            by_kernel += part
            log_noise += by_noise
        gradient = no_gradient(*X.shape)
        gradient.add(by_kernel * rbf(X, X, *kernel), X, X, kernel.scales)
        return LogEvidence(value, gradient, log_noise)

    def posterior(self, targets: Targets, kernel: RBFParameters) -> Latent:
        """Return the posteriors."""
        return self._solved(targets, kernel)[1]

    def _solved(self, targets: Targets, kernel: RBFParameters) -> tuple[float, Latent]:
        inner = rbf(self.X, self.X, *kernel)
        np.fill_diagonal(inner, kernel.variance)
        values, noise = targets.of(self.codes)

        def root_of(k: int) -> Floats:
            covariance = inner + np.diag(noise[:, k])
            return np.asarray(cholesky(covariance, lower=True, check_finite=False))

        n, K = values.shape
        each = [(k,) for k in range(1 if targets.same_noise else K)]
        roots = list(map_threads(root_of, each, self.n_jobs))
        weights, value = np.empty((n, K)), 0.0
        for k in range(K):
            root = roots[k % len(roots)]
            half = solve_triangular(root, values[:, k], lower=True, check_finite=False)
            weights[:, k] = solve_triangular(root, half, lower=True, trans="T", check_finite=False)
            value -= 0.5 * (half @ half + n * np.log(2 * np.pi)) + np.log(np.diag(root)).sum()
        return float(value), Latent(self.X, kernel, np.array(roots), weights)


Regressions = SparseRegressions | ExactRegressions  # bound to data; targets and kernel remain
