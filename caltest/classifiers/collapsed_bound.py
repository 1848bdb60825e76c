"""Titsias' collapsed bound for K regressions on class labels, with its gradient.

Class k's noise D_k has two values, so that with A = L^-1 k(Z, X), L the root of k(Z, Z), the matrix
S_k = A D_k^-1 A' needs the Gram matrix K_c = A_c A_c' of each class c alone:
S_k = sum_c K_c / s_off + (1/s_on - 1/s_off) K_k. One evaluation costs O(n M^2 + K M^3) instead of
O(K n M^2), in blocks of rows; with the same noise everywhere the regressions share one S, and it is
O(n M^2 + M^3). The rows are whitened and not the Gram matrices of k(Z, X): of many rows those have
rounding errors beyond the least eigenvalue of k(Z, Z).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotri

from caltest.classifiers.rbf import KernelGradient, no_gradient, rbf
from caltest.numerics.loops import map_threads
from caltest.types import Codes, Floats, Ints


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

    @property
    def same_noise(self) -> bool:
        """Whether all rows have the same noise, and so all regressions the same covariance."""
        return self.noise_on == self.noise_off

    def of(self, c: int, codes: Codes) -> tuple[Floats, Floats]:
        """Return class c's targets and noise for rows of the classes `codes`."""
        own = codes == c
        targets = np.where(own, self.on[c], self.off[c])
        return targets, np.where(own, self.noise_on, self.noise_off)

    def of_all(self, codes: Codes) -> tuple[Floats, Floats]:
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


Kernel = tuple[Floats, float, Floats]  # inducing points, variance, length scales


@dataclass(frozen=True)
class RowsByClass:
    """Features in the order of the classes.

    Attributes
    ----------
    X : (n, d) array
    starts : (K + 1,) array
        Rows starts[c] to starts[c + 1] are those of class c.
    """

    X: Floats
    starts: Ints

    @property
    def counts(self) -> Ints:
        """Rows of each class, (K,)."""
        return np.diff(self.starts)

    def chunks(self, M: int) -> Iterator[tuple[int, Floats]]:
        """Yield a class and some of its rows, all rows once."""
        size = max(1, CHUNK // M)
        for c, (first, last) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            for start in range(int(first), int(last), size):
                yield c, self.X[start : min(start + size, int(last))]


def rows_by_class(X: Floats, codes: Ints, K: int) -> RowsByClass:
    """Sort the rows of X by their class, 0 to K - 1."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(K + 1))
    return RowsByClass(np.ascontiguousarray(X[order]), starts)


@dataclass(frozen=True)
class Posterior:
    """The K posteriors over the inducing variables, whitened by L, the root of k(Z, Z).

    Attributes
    ----------
    L : (M, M) array
        Lower triangle.
    roots : (K, M, M) or (1, M, M) array
        Lower triangle of the root of B_k = I + S_k; one where the noise is the same.
    means : (M, K) array
        B_k^-1 A D_k^-1 y_k.
    """

    L: Floats
    roots: Floats
    means: Floats


@dataclass(frozen=True)
class CollapsedBound:
    """A log marginal likelihood, or its bound, summed over classes, with its gradient.

    Attributes
    ----------
    value : float
    kernel : KernelGradient
    log_noise : float
        The derivative by the logarithm of a factor of all variances of the noise.
    """

    value: float
    kernel: KernelGradient
    log_noise: float


@dataclass(frozen=True)
class _Block:
    """Some rows of a class, and k(X, Z) and A' there, both (rows, M)."""

    c: int
    X: Floats
    kernel: Floats
    whitened: Floats


@dataclass(frozen=True)
class _Sums:
    """Sums over rows: of each class A 1, (K, M), and A A', (K, M, M).

    The latter over all rows, (1, M, M), where the noise is the same everywhere. And the blocks of
    rows, where they are kept.
    """

    rows: RowsByClass
    L: Floats
    linear: Floats
    grams: Floats
    total: Floats
    blocks: list[_Block]


@dataclass(frozen=True)
class _ClassBound:
    """One class's bound: its value, posterior, and the terms that the noise scales."""

    value: float
    root: Floats
    mean: Floats
    scaled: float


def root_of_kernel(Z: Floats, variance: float, scales: Floats) -> Floats:
    """Return the lower root of k(Z, Z) with a jitter, more of it where rounding asks for it."""
    kernel = rbf(Z, Z, variance, scales)
    jitter = JITTER
    while True:
        try:
            kernel[np.diag_indices_from(kernel)] = variance * (1 + jitter)
            root: Floats = cholesky(kernel, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            jitter *= 10
        else:
            return root


def posterior(
    rows: RowsByClass,
    targets: Targets,
    Z: Floats,
    variance: float,
    scales: Floats,
    *,
    n_jobs: int | None = None,
) -> tuple[float, Posterior]:
    """Return the bound of the log marginal likelihood, summed over classes, and the posteriors."""
    sums = _class_sums(rows, targets, (Z, variance, scales), keep=False, n_jobs=n_jobs)
    found = _class_bounds(sums, targets, variance, n_jobs)
    return sum(one.value for one in found), _posterior(sums, targets, found)


def bound_and_gradient(
    rows: RowsByClass,
    targets: Targets,
    Z: Floats,
    variance: float,
    scales: Floats,
    *,
    n_jobs: int | None = None,
) -> CollapsedBound:
    """Return the bound and its gradient by the kernel's parameters, by Z and by the noise."""
    keep = len(rows.X) * len(Z) <= KEPT
    kernel = Z, variance, scales
    sums = _class_sums(rows, targets, kernel, keep=keep, n_jobs=n_jobs)
    bounds = _class_bounds(sums, targets, variance, n_jobs)
    found = _posterior(sums, targets, bounds)
    each = [(found, k) for k in range(len(found.roots))]
    by_gram = np.array(list(map_threads(_by_gram, each, n_jobs)))
    gradient = no_gradient(*Z.shape)
    slopes, pull = _slopes(found, targets, by_gram, n_jobs)
    blocks = sums.blocks if keep else rows.chunks(len(Z))
    tasks = [(block, slopes, pull, found.L, kernel) for block in blocks]
    for part in map_threads(_by_rows, tasks, n_jobs):
        gradient.merge(part)
    low, high = 1 / targets.noise_off, 1 / targets.noise_on
    # S_k depends on k(Z, Z) through L.
    S = (low * (len(bounds) - 1) + high) * sums.total  # summed over classes
    half = _unwhiten_left(by_gram.sum(axis=0) - 0.5 * S, found.L)
    by_inner = _unwhiten_left(half.T, found.L)  # L^-T (...) L^-1
    gradient.add_inner(by_inner * rbf(Z, Z, variance, scales), Z, scales)
    n, rest = rows.counts, len(rows.X) - rows.counts
    gradient.log_variance -= 0.5 * variance * float((high * n + low * rest).sum())
    # The derivative by the logarithm of a factor of the noise.
    traces = low * float(np.vdot(by_gram.sum(axis=0), sums.total))
    for part, gram in zip(by_gram, sums.grams, strict=True):
        traces += (high - low) * float(np.vdot(part, gram))
    scaled = sum(one.scaled for one in bounds)
    log_noise = -traces - scaled - 0.5 * len(bounds) * len(rows.X)
    return CollapsedBound(sum(one.value for one in bounds), gradient, log_noise)


def _slopes(
    found: Posterior, targets: Targets, by_gram: Floats, n_jobs: int | None
) -> tuple[list[Floats], Floats]:
    """Return the derivatives by A of the rows of each class: slopes A + pull, times L^-T."""
    low, high = 1 / targets.noise_off, 1 / targets.noise_on
    total = by_gram.sum(axis=0)
    mixed = [2 * low * total + 2 * (high - low) * part for part in by_gram]
    slopes = list(map_threads(_unwhiten_left, [(part, found.L) for part in mixed], n_jobs))
    pull = low * (found.means @ targets.off)[:, None]
    pull = pull + found.means * (high * targets.on - low * targets.off)
    return slopes, _unwhiten_left(pull, found.L)


def _class_sums(
    rows: RowsByClass, targets: Targets, kernel: Kernel, *, keep: bool, n_jobs: int | None
) -> _Sums:
    K, M = len(rows.counts), len(kernel[0])
    groups = 1 if targets.same_noise else K
    linear, grams = np.zeros((K, M)), np.zeros((groups, M, M))
    L = root_of_kernel(*kernel)

    def gram_of(c: int, X: Floats) -> tuple[_Block, Floats]:
        block = _block(c, X, L, kernel)
        return block, block.whitened.T @ block.whitened

    blocks = []
    for block, gram in map_threads(gram_of, rows.chunks(M), n_jobs):
        linear[block.c] += block.whitened.sum(axis=0)
        grams[block.c % groups] += gram
        if keep:
            blocks.append(block)
    return _Sums(rows, L, linear, grams, grams.sum(axis=0), blocks)


def _block(c: int, X: Floats, L: Floats, kernel: Kernel) -> _Block:
    values = rbf(X, *kernel)
    whitened = solve_triangular(L, values.T, lower=True, check_finite=False).T
    return _Block(c, X, values, whitened)


def _class_bounds(
    sums: _Sums, targets: Targets, variance: float, n_jobs: int | None
) -> list[_ClassBound]:
    tasks = [(sums, targets, variance, k) for k in range(len(sums.rows.counts))]
    if not targets.same_noise:
        return list(map_threads(_class_bound, tasks, n_jobs))
    B = np.eye(len(sums.total)) + sums.total / targets.noise_on
    root = cholesky(B, lower=True, check_finite=False)
    return [_class_bound(*task, root) for task in tasks]


def _class_bound(
    sums: _Sums, targets: Targets, variance: float, k: int, root: Floats | None = None
) -> _ClassBound:
    low, high = 1 / targets.noise_off, 1 / targets.noise_on
    own, others = int(sums.rows.counts[k]), len(sums.rows.X) - int(sums.rows.counts[k])
    r = low * targets.off[k] * sums.linear.sum(axis=0)
    r = r + (high * targets.on[k] - low * targets.off[k]) * sums.linear[k]
    if root is None:
        B = low * sums.total + (high - low) * sums.grams[k]
        B[np.diag_indices_from(B)] += 1
        root = cholesky(B, lower=True, check_finite=False)
    half = solve_triangular(root, r, lower=True, check_finite=False)
    mean = solve_triangular(root, half, lower=True, trans="T", check_finite=False)
    constants = own * np.log(2 * np.pi * targets.noise_on)
    constants += others * np.log(2 * np.pi * targets.noise_off)
    squares = high * own * targets.on[k] ** 2 + low * others * targets.off[k] ** 2
    squares += variance * (high * own + low * others)
    trace = low * np.trace(sums.total)
    if high != low:
        trace += (high - low) * np.trace(sums.grams[k])
    value = -0.5 * (constants + squares - trace - half @ half) - np.log(np.diag(root)).sum()
    return _ClassBound(float(value), root, mean, float(r @ mean - 0.5 * squares))


def _posterior(sums: _Sums, targets: Targets, bounds: list[_ClassBound]) -> Posterior:
    roots = [one.root for one in bounds[: 1 if targets.same_noise else None]]
    return Posterior(sums.L, np.array(roots), np.array([one.mean for one in bounds]).T)


def _by_gram(found: Posterior, k: int) -> Floats:
    """Return the derivative by S_k, whitened; summed over classes where they share it."""
    means = found.means if len(found.roots) == 1 else found.means[:, [k]]
    inverse = dpotri(found.roots[k], lower=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    by_gram: Floats = 0.5 * (means.shape[1] * (np.eye(len(inverse)) - inverse) - means @ means.T)
    return by_gram


def _by_rows(
    rows: _Block | tuple[int, Floats], slopes: list[Floats], pull: Floats, L: Floats, kernel: Kernel
) -> KernelGradient:
    """Return the derivatives through k(X, Z); `slopes` and `pull` are multiplied by L^-T."""
    block = rows if isinstance(rows, _Block) else _block(*rows, L, kernel)
    weights = block.whitened @ slopes[block.c % len(slopes)].T
    weights += pull[:, block.c]
    weights *= block.kernel
    Z, _, scales = kernel
    gradient = no_gradient(*Z.shape)
    gradient.add(weights, block.X, Z, scales)
    return gradient


def _unwhiten_left(matrix: Floats, L: Floats) -> Floats:
    """Return L^-T matrix."""
    found: Floats = solve_triangular(L, matrix, lower=True, trans="T", check_finite=False)
    return found
