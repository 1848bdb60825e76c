"""K regressions on class labels, exact or by Titsias' collapsed bound, each with its gradient.

Class k's noise D_k has two values, so that with A = L^-1 k(Z, X), L the root of k(Z, Z), the matrix
S_k = A D_k^-1 A' needs the Gram matrix K_c = A_c A_c' of each class c alone:
S_k = sum_c K_c / s_off + (1/s_on - 1/s_off) K_k. One evaluation costs O(n M^2 + K M^3) instead of
O(K n M^2), in blocks of rows; with the same noise everywhere the regressions share one S, and it is
O(n M^2 + M^3). The rows are whitened and not the Gram matrices of k(Z, X): of many rows those have
rounding errors beyond the least eigenvalue of k(Z, Z).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, pairwise

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotri

from caltest.classifiers.base import GPClassifier, in_parts
from caltest.classifiers.rbf import RBFParameters, inducing_points, kernel_gradient, rbf
from caltest.numerics.loops import map_threads
from caltest.types import Codes, Floats


@dataclass(frozen=True)
class Targets:
    """Normal observations of K latent functions.

    Attributes
    ----------
    on, off : (K,) array
        Target of class c's regression in rows of class c, and in the others.
    noise_on, noise_off : float
        Their variances.
    centre : (K,) array
        What was subtracted from the targets: the prior mean of each class.
    """

    on: Floats
    off: Floats
    noise_on: float
    noise_off: float
    centre: Floats

    def of(self, codes: Codes) -> tuple[Floats, Floats]:
        """Return targets and noises of all classes for rows of the classes `codes`, (n, K)."""
        own = codes[:, None] == np.arange(len(self.on))
        return np.where(own, self.on, self.off), np.where(own, self.noise_on, self.noise_off)


def pseudo_targets(alpha: float, counts: Codes, *, zero: bool = False) -> Targets:
    """Match the moments of Gamma(alpha_c, 1) by a log-normal, Milios et al. (2018), equation 5.

    The Dirichlet parameters are 1 + alpha for the observed class and alpha for the others. The
    targets are centred as in the authors' code: the prior has the observed shares of the classes,
    and the mean of all targets, each class counted once in each row, is that of the centres.

    Parameters
    ----------
    alpha : float
        alpha_epsilon, positive.
    counts : (K,) array
        Observations of each class, at least 1.
    zero : bool
        Whether the prior means are 0 instead, as in section 4.2.
    """
    parameters = np.array([1 + alpha, alpha])
    noise = np.log1p(1 / parameters)
    on, off = np.log(parameters) - noise / 2
    K = len(counts)
    mean = (on + (K - 1) * off) / K
    logs = np.log(counts / counts.sum())
    centre = np.zeros(K) if zero else logs + mean - logs.mean()
    return Targets(on - centre, off - centre, float(noise[0]), float(noise[1]), centre)


def label_targets(noise: float, counts: Codes) -> Targets:
    """Return one-hot labels, less their means, with the same noise everywhere."""
    share = counts / counts.sum()
    return Targets(1 - share, -share, noise, noise, share)


JITTER = 1e-8  # of the variance, on the diagonal of k(Z, Z)
CHUNK = 2**20  # entries of k(X, Z) in a block
KEPT = 2**24  # entries of k(X, Z) up to which it and A are kept between two passes over the rows
Pair = tuple[Floats, Floats]
LEAST_REST = 1e-12  # of 1 - a' B^-1 a / d; rounding may leave less


@dataclass(frozen=True)
class LogEvidence:
    """A log marginal likelihood, or its bound, summed over classes, with its gradient.

    Attributes
    ----------
    value : float
    kernel : (1 + d,) array
        As `kernel_gradient` gives it.
    log_noise : float
        The derivative by the logarithm of a factor of all variances of the noise.
    """

    value: float
    kernel: Floats
    log_noise: float


@dataclass(frozen=True)
class Latent:
    """The K posteriors of the latent functions, from the kernel at all rows.

    Attributes
    ----------
    Z : (M, d) array
        The rows; of sparse posteriors the inducing points.
    kernel : Kernel
    roots : (K, M, M) or (1, M, M) array
        Lower triangles of the roots of k(X, X) + D_k; one where the noise is the same.
    weights : (M, K) array
        (k(X, X) + D_k)^-1 y_k.
    """

    sign = -1  # of what the roots say of the variance

    Z: Floats
    kernel: RBFParameters
    roots: Floats
    weights: Floats

    def __call__(self, X: Floats, n_jobs: int | None) -> tuple[Floats, Floats]:
        """Return mean and variance, each (n, K)."""
        mean, known, unknown = self._parts(X, n_jobs)
        return mean, np.maximum(unknown + known, 0)

    def without_own(self, X: Floats, codes: Codes, targets: Targets, n_jobs: int | None) -> Pair:
        """Return mean and variance at each row of the fit given the other rows, each (n, K).

        They are y_i - w_i / c_i and 1 / c_i less the noise, where c is the diagonal of
        (k(X, X) + D)^-1 and w the weights (Rasmussen and Williams 2006, equation 5.12).
        """
        values, noise = targets.of(codes)
        roots = [(root,) for root in self.roots]
        # The diagonal of the inverse of root root'.
        diagonals = map_threads(lambda r: np.diag(dpotri(r, lower=1)[0]).copy(), roots, n_jobs)
        precision = np.array(list(diagonals)).T
        return values - self.weights / precision, np.maximum(1 / precision - noise, 0)

    def _parts(self, X: Floats, n_jobs: int | None) -> Sequence[Floats]:
        """Return means, and variances in two parts: by the roots, (n, K), and without, (n, 1)."""

        def part(X: Floats) -> tuple[Floats, Floats, Floats]:
            seen, unknown = self._seen(rbf(self.Z, X, *self.kernel))
            known = np.empty((len(X), self.weights.shape[1]))
            for k, root in enumerate(self.roots):
                half = solve_triangular(root, seen, lower=True, check_finite=False)
                # With one root for all, the one assignment serves all classes.
                known[:, k:] = self.sign * np.einsum("ji,ji->i", half, half)[:, None]
            return seen.T @ self.weights, known, unknown[:, None]

        return in_parts(part, (X,), CHUNK // len(self.Z), n_jobs)

    def _seen(self, kernel: Floats) -> tuple[Floats, Floats]:
        """Return what weights and roots apply to, (M, n), and the variances beside, (n,)."""
        return kernel, np.full(kernel.shape[1], self.kernel.variance)


@dataclass(frozen=True)
class SparseLatent(Latent):
    """The posteriors through M inducing variables, whitened by L, the root of k(Z, Z).

    The roots are those of B_k = I + S_k, and the weights B_k^-1 A D_k^-1 y_k.
    """

    sign = 1

    L: Floats

    def without_own(self, X: Floats, codes: Codes, targets: Targets, n_jobs: int | None) -> Pair:
        """Return mean and variance at each row of the fit given the other rows, each (n, K).

        Without a row whose noise is d, B is B - a a' / d, so that a' B^-1 a, which is less than d,
        becomes that over 1 - a' B^-1 a / d (Sherman and Morrison).
        """
        mean, known, unknown = self._parts(X, n_jobs)
        values, noise = targets.of(codes)
        pull = known / noise
        rest = np.maximum(1 - pull, LEAST_REST)
        return (mean - pull * values) / rest, np.maximum(unknown + known / rest, 0)

    def _seen(self, kernel: Floats) -> tuple[Floats, Floats]:
        whitened = solve_triangular(self.L, kernel, lower=True, check_finite=False)
        return whitened, self.kernel.variance - np.einsum("ji,ji->i", whitened, whitened)


@dataclass(frozen=True)
class _Block:
    """Some rows of a class, and k(X, Z) and A' there, both (rows, M)."""

    c: int
    X: Floats
    kernel: Floats
    whitened: Floats


# Bound, posteriors, Gram matrices A A' of each class, (K, M, M), or of all rows, (1, M, M), where
# the noise is the same everywhere, the terms that the noise scales, and the rows, where kept.
Solved = tuple[float, SparseLatent, Floats, float, list[_Block]]


def root_of_kernel(Z: Floats, kernel: RBFParameters) -> Floats:
    """Return the lower root of k(Z, Z) with a jitter, more of it where rounding asks for it."""
    inner, jitter = rbf(Z, Z, *kernel), JITTER
    while True:
        try:
            inner[np.diag_indices_from(inner)] = kernel.variance * (1 + jitter)
            return np.asarray(cholesky(inner, lower=True, check_finite=False))
        except np.linalg.LinAlgError:
            jitter *= 10


@dataclass(frozen=True)
class SparseRegressions:
    """K regressions on rows in the order of their classes, with inducing points.

    Attributes
    ----------
    X : (n, d) array
    codes : (n,) array
        Ascending.
    Z : (M, d) array
    n_jobs : int or None
        Threads.
    """

    X: Floats
    codes: Codes
    Z: Floats
    n_jobs: int | None = None

    def posterior(self, targets: Targets, kernel: RBFParameters) -> Latent:
        """Return the posteriors given the inducing variables."""
        return self._solved(targets, kernel)[1]

    def evidence(self, targets: Targets, kernel: RBFParameters) -> LogEvidence:
        """Return the bound and its gradient by the kernel's parameters and by the noise."""
        keep = len(self.X) * len(self.Z) <= KEPT
        value, latent, grams, scaled, kept = self._solved(targets, kernel, keep=keep)
        L, roots, means = latent.L, latent.roots, latent.weights
        low, high, K, Z = 1 / targets.noise_off, 1 / targets.noise_on, len(targets.on), self.Z

        def by_gram_of(k: int) -> Floats:
            """Return the derivative by S_k, whitened; summed over classes where they share it."""
            own = means if len(roots) == 1 else means[:, [k]]
            eye = np.eye(len(L))
            return np.asarray(0.5 * (own.shape[1] * (eye - inverse_of(roots[k])) - own @ own.T))

        each = [(k,) for k in range(len(roots))]
        by_gram = np.array(list(map_threads(by_gram_of, each, self.n_jobs)))
        by_all = by_gram.sum(axis=0)
        # By A of the rows of each class: slopes A + pull, times L^-T.
        mixed = [(2 * low * by_all + 2 * (high - low) * part, L) for part in by_gram]
        slopes = list(map_threads(_unwhitened, mixed, self.n_jobs))
        pull = low * (means @ targets.off)[:, None]
        pull = _unwhitened(pull + means * (high * targets.on - low * targets.off), L)

        def by_rows(c: int, block: Floats | _Block) -> Floats:
            """Return the derivatives through k(X, Z)."""
            rows = block if isinstance(block, _Block) else self._block(c, block, L, kernel)
            weights = rows.whitened @ slopes[c % len(slopes)].T
            weights += pull[:, c]
            weights *= rows.kernel
            return kernel_gradient(weights, rows.X, Z, kernel.scales)

        gradient = np.zeros(1 + Z.shape[1])
        blocks = [(one.c, one) for one in kept] if keep else self._chunks(K)
        for part in map_threads(by_rows, blocks, self.n_jobs):
            gradient += part
        # S_k depends on k(Z, Z) through L.
        total = grams.sum(axis=0)
        S = (low * (K - 1) + high) * total  # summed over classes
        half = _unwhitened(by_all - 0.5 * S, L)
        by_inner = _unwhitened(half.T, L)  # L^-T (...) L^-1
        gradient += kernel_gradient(by_inner * rbf(Z, Z, *kernel), Z, Z, kernel.scales)
        own = np.bincount(self.codes, minlength=K)
        rows = (high * own + low * (len(self.X) - own)).sum()
        gradient[0] -= 0.5 * kernel.variance * float(rows)
        # The derivative by the logarithm of a factor of the noise.
        traces = low * float(np.vdot(by_all, total))
        for part, gram in zip(by_gram, grams, strict=True):
            traces += (high - low) * float(np.vdot(part, gram))
        return LogEvidence(value, gradient, -traces - scaled - 0.5 * K * len(self.X))

    def _chunks(self, K: int) -> Iterator[tuple[int, Floats]]:
        """Yield a class and some of its rows, all rows once."""
        size = max(1, CHUNK // len(self.Z))
        for c, (first, last) in enumerate(pairwise(np.searchsorted(self.codes, range(K + 1)))):
            for start in range(int(first), int(last), size):
                yield c, self.X[start : min(start + size, int(last))]

    def _block(self, c: int, X: Floats, L: Floats, kernel: RBFParameters) -> _Block:
        values = rbf(X, self.Z, *kernel)
        return _Block(c, X, values, solve_triangular(L, values.T, lower=True, check_finite=False).T)

    def _solved(self, targets: Targets, kernel: RBFParameters, *, keep: bool = False) -> Solved:
        """Return the bound and the posteriors, and what the gradient of the bound needs."""
        K, M = len(targets.on), len(self.Z)
        groups = 1 if targets.noise_on == targets.noise_off else K
        linear, grams = np.zeros((K, M)), np.zeros((groups, M, M))  # A 1 of each class, and A A'
        L = root_of_kernel(self.Z, kernel)

        def gram_of(c: int, X: Floats) -> tuple[_Block, Floats]:
            block = self._block(c, X, L, kernel)
            return block, block.whitened.T @ block.whitened

        blocks = []
        for block, gram in map_threads(gram_of, self._chunks(K), self.n_jobs):
            linear[block.c] += block.whitened.sum(axis=0)
            grams[block.c % groups] += gram
            if keep:
                blocks.append(block)
        low, high = 1 / targets.noise_off, 1 / targets.noise_on
        total = grams.sum(axis=0)

        def root_of(k: int) -> Floats:
            B = low * total + (high - low) * grams[k]
            B[np.diag_indices_from(B)] += 1
            return np.asarray(cholesky(B, lower=True, check_finite=False))

        roots = np.array(list(map_threads(root_of, [(k,) for k in range(groups)], self.n_jobs)))
        own = np.bincount(self.codes, minlength=K)
        others = len(self.X) - own
        constants = own * np.log(2 * np.pi * targets.noise_on)
        constants = constants + others * np.log(2 * np.pi * targets.noise_off)
        squares = high * own * targets.on**2 + low * others * targets.off**2
        squares += kernel.variance * (high * own + low * others)
        pulls = (low * targets.off)[:, None] * linear.sum(axis=0)
        pulls += (high * targets.on - low * targets.off)[:, None] * linear
        weights, value, scaled = np.empty((M, K)), 0.0, 0.0
        for k, (r, root) in enumerate(zip(pulls, cycle(roots), strict=False)):
            half = solve_triangular(root, r, lower=True, check_finite=False)
            weights[:, k] = solve_triangular(root, half, lower=True, trans="T", check_finite=False)
            trace = low * np.trace(total) + (high - low) * np.trace(grams[k % groups])
            value -= 0.5 * float(constants[k] + squares[k] - trace - half @ half)
            value -= float(np.log(np.diag(root)).sum())
            scaled += float(r @ weights[:, k] - 0.5 * squares[k])
        latent = SparseLatent(self.Z, kernel, roots, weights, L)
        return value, latent, grams, scaled, blocks


def inverse_of(root: Floats) -> Floats:
    """Return (L L')^-1 of a lower triangle L."""
    inverse = dpotri(root, lower=1)[0]
    return np.asarray(np.tril(inverse) + np.tril(inverse, -1).T)


def _unwhitened(matrix: Floats, L: Floats) -> Floats:
    """Return L^-T matrix."""
    return np.asarray(solve_triangular(L, matrix, lower=True, trans="T", check_finite=False))


# ---- the exact regressions, and the classifiers that are exact or sparse ones --------------------

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
        gradient = kernel_gradient(by_kernel * rbf(X, X, *kernel), X, X, kernel.scales)
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
        each = [(k,) for k in range(1 if targets.noise_on == targets.noise_off else K)]
        roots = list(map_threads(root_of, each, self.n_jobs))
        weights, value = np.empty((n, K)), 0.0
        for k in range(K):
            root = roots[k % len(roots)]
            half = solve_triangular(root, values[:, k], lower=True, check_finite=False)
            weights[:, k] = solve_triangular(root, half, lower=True, trans="T", check_finite=False)
            value -= 0.5 * (half @ half + n * np.log(2 * np.pi)) + np.log(np.diag(root)).sum()
        return float(value), Latent(self.X, kernel, np.array(roots), weights)


Regressions = SparseRegressions | ExactRegressions  # bound to data; targets and kernel remain
