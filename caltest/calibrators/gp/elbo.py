"""Evidence lower bound with its softmax expectations and gradient, Wenger et al. 2020."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import repeat
from typing import Any

import numpy as np

from caltest.calibrators.gp import process
from caltest.numerics import variational
from caltest.numerics.loops import blocks, map_threads, njit, one_blas_thread
from caltest.types import Codes, Floats, Ints


@njit()
def softmax_rows(mean: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """Return the softmax of each row, (n, K), and the logarithm of its entry y, (n,)."""
    n, K = mean.shape
    sigma, log_prob = np.empty((n, K)), np.empty(n)
    for i in range(n):
        top = mean[i].max()
        total = 0.0
        for k in range(K):
            sigma[i, k] = np.exp(mean[i, k] - top)
            total += sigma[i, k]
        for k in range(K):
            sigma[i, k] /= total
        log_prob[i] = mean[i, codes[i]] - top - np.log(total)
    return sigma, log_prob


@njit()
def taylor(
    sigma: Floats, log_prob: Floats, product: Floats, variance: Floats, codes: Codes, weight: Floats
) -> tuple[float, Floats]:
    """Return the weighted sum of equation 7 over rows and its derivative by the means, (n, K).

    The derivative by the entries of C, seen as one matrix per row, is w (sigma sigma' -
    diag(sigma)) / 2.

    Parameters
    ----------
    sigma : (n, K) array
        Softmax of the means.
    log_prob : (n,) array
        Logarithm of entry y of sigma.
    product : (n, K) array
        C sigma; for a diagonal C, `variance * sigma`.
    variance : (n, K) array
        The diagonal of C.
    codes : (n,) array
        y.
    weight : (n,) array
        w.
    """
    n, K = sigma.shape
    value = 0.0
    by_mean = np.empty((n, K))
    for i in range(n):
        second = pull = 0.0
        for k in range(K):
            second += sigma[i, k] * (product[i, k] - variance[i, k])
            pull += sigma[i, k] * (product[i, k] - 0.5 * variance[i, k])
        value += weight[i] * (log_prob[i] + 0.5 * second)
        for k in range(K):
            r = product[i, k] - 0.5 * variance[i, k] - pull - 1
            by_mean[i, k] = weight[i] * sigma[i, k] * r
        by_mean[i, codes[i]] += weight[i]
    return value, by_mean


def monte_carlo(draws: Floats, codes: Codes, weight: Floats) -> float:
    """Return the weighted sum over rows of the mean of log softmax_y over draws, (n, K, S).

    The draws are overwritten by the derivatives by them.
    """
    rows, part = np.arange(len(draws)), weight / draws.shape[2]
    draws -= draws.max(axis=1, keepdims=True)
    value = part @ draws[rows, codes].sum(axis=1)
    np.exp(draws, out=draws)
    total = draws.sum(axis=1)
    value -= part @ np.log(total).sum(axis=1)
    draws *= (-part[:, None] / total)[:, None]
    draws[rows, codes] += part[:, None]
    return float(value)


Stencil = tuple[Ints, Floats]
POINTS = 2**14  # scores per block, whose stencils stay in the cache
VALUES_PER_BLOCK = 2**20  # latent values per block of draws
PAIR_COST = 32  # a pair of classes costs as much as this many products on the grid
PRODUCTS = 2**23  # entries of a table of rows by grid nodes
HELD = 2**17  # scores whose stencils are kept; to read more takes longer than to compute them


@dataclass(frozen=True)
class GPScores:
    """What the latent function is fitted to.

    Attributes
    ----------
    z : (n, K) array
        Probabilities or logits.
    prior : (n, K) array
        The prior mean of the latent function there: log z or z.
    codes : (n,) array
        Classes.
    weight : (n,) array
        Weights of the rows.
    low, high : float
        The range of z, in any row that will be used.
    full : bool
        Whether the covariances within a row count, or the variances alone.
    n_jobs : int or None
        Threads.
    """

    z: Floats
    prior: Floats
    codes: Codes
    weight: Floats
    low: float
    high: float
    full: bool = True
    n_jobs: int | None = None

    def rows(self, rows: Ints | slice) -> GPScores:
        """Take some of the rows."""
        parts = {name: getattr(self, name)[rows] for name in ("z", "prior", "codes", "weight")}
        return replace(self, **parts)

    def blocks(self, points: int) -> list[GPScores]:
        """Divide the rows into blocks of about `points` scores."""
        n, K = self.z.shape
        return [self.rows(some) for some in blocks(n, max(1, points // K))]


# Sums over the rows of a block:
# value : the expected log likelihood
# mean, variance : its derivatives by the mean and the variance of f on the grid, (G,)
# outer : sum_i w_i T_i (W_i' sigma_i)' with T_i = A_G W_i' sigma_i, (M, G)
# inner : sum_i w_i T_i T_i', (M, M)
# kernel : the derivatives of what the grid does not hold by log variance, log scale, noise, (3,)
# paths : the derivative by the paths on the grid, (G, S)
BlockSums = dict[str, Any]


def _added(one: BlockSums, other: BlockSums) -> BlockSums:
    """Add two blocks."""
    return {name: value + other[name] for name, value in one.items()}


@dataclass(frozen=True)
class GridTables:
    """The process on the grid, for all blocks.

    Attributes
    ----------
    q : LatentPosterior
    at : Projection
        On the grid.
    full : bool
        Whether the covariances within a row count.
    mean, variance : (G,) arrays
        Of f on the grid, without the prior mean and without the noise.
    factor : tuple of (G, F) and (F,) arrays, or None
        From `fourier_features`, unless pairs are cheaper.
    """

    q: process.LatentPosterior
    at: process.Projection
    full: bool
    mean: Floats
    variance: Floats
    factor: tuple[Floats, Floats] | None


def tables(scores: GPScores, q: process.LatentPosterior, *, full: bool) -> GridTables:
    """Compute the process on the grid."""
    at = process.project(q, process.grid(scores.low, scores.high, q.scale, q.kernel))
    mean, variance = variational.marginals(at.A, q.variance, q.m, q.C)
    size = at.x.size * (2 * process.fourier(float(at.x[-1] - at.x[0]) / q.scale)[0].size - 1)
    cheap = size <= min(PAIR_COST * scores.z.shape[1] ** 2, 4 * PRODUCTS)
    factor = None
    if full and q.kernel is process.RBF and cheap:
        factor = process.fourier_features(at.x, q.variance, q.scale)
    return GridTables(q, at, full, mean, variance, factor)


def kept_stencils(scores: GPScores, q: process.LatentPosterior) -> list[Stencil] | None:
    """Return the stencils of each block, or None where they would not stay in the cache."""
    if scores.z.size > HELD:
        return None
    x = process.grid(scores.low, scores.high, q.scale, q.kernel)
    tasks = [(block.z.ravel(), x) for block in _blocks(scores, x.size)]
    return list(map_threads(process.stencils, tasks, scores.n_jobs))


def _blocks(scores: GPScores, G: int) -> list[GPScores]:
    return scores.blocks(min(POINTS, scores.z.shape[1] * PRODUCTS // G))


@dataclass(frozen=True)
class Evaluation:
    r"""The evidence lower bound at q.

    Equation 7 is linear in S: with
    :math:`H = \sum_i w_i A_i (diag(\sigma_i) - \sigma_i \sigma_i') A_i'` (its diagonal part alone
    where variances alone count) the best S at the mean of q is :math:`(I + H)^{-1}`. H is also the
    curvature by m, but for terms of the second order.

    Attributes
    ----------
    value : float
    by_mean, by_root, by_inputs, by_kernel : (M,), (M, M), (M,) and (3,) arrays
        Its derivatives by m, C, Z and (log variance, log scale, log noise).
    at : Projection
        Of q on the grid.
    density : (G,) array
        The diagonal of the inner matrices, summed over the scores near each node.
    curvature : (M, M) array
        H; without meaning where the expectation is over draws.
    """

    value: float
    by_mean: Floats
    by_root: Floats
    by_inputs: Floats
    by_kernel: Floats
    at: process.Projection
    density: Floats
    curvature: Floats


def pack_gradient(q: process.LatentPosterior, found: Evaluation, root: Floats) -> Floats:
    """Return the derivatives by the vector of `pack`."""
    by_C = variational.unpack_root_back(variational.whiten(root, q.C), root.T @ found.by_root)
    return np.concatenate([root.T @ found.by_mean, by_C, found.by_inputs, found.by_kernel])


def bound(
    scores: GPScores,
    q: process.LatentPosterior,
    *,
    paths: process.Paths | None = None,
    share: float = 1.0,
    kept: list[Stencil] | None = None,
) -> Evaluation:
    """Return the evidence lower bound, its gradient, and what a Newton step needs.

    Parameters
    ----------
    scores : GPScores
        All rows, or some of them.
    q : LatentPosterior
        The process.
    paths : Paths, optional
        Random numbers; the expectation is then the mean over them instead of equation 7.
    share : float
        The weight of these rows in that of all: their sums are divided by it.
    kept : list, optional
        From `kept_stencils`, for the same length scale.
    """
    with one_blas_thread():
        known = tables(scores, q, full=scores.full and paths is None)
        values, back = None, None
        if paths is None:
            blocks = _blocks(scores, known.at.x.size)
            tasks: Iterable[Any] = zip(blocks, repeat(known), kept or repeat(None), strict=False)
            parts = map_threads(_taylor_block, tasks, scores.n_jobs)
        else:
            if scores.full:
                values, back = process.paths_on(paths, q, known.at, scores.low)
            blocks = scores.blocks(max(1, VALUES_PER_BLOCK // paths.classes.shape[1]))
            tasks = [(block, known, paths.classes, values) for block in blocks]
            parts = map_threads(_drawn_block, tasks, scores.n_jobs)
        return _assemble(reduce(_added, parts), known, back, share)


def _taylor_block(scores: GPScores, known: GridTables, stencil: Stencil | None) -> BlockSums:
    (n, K), q, G = scores.z.shape, known.q, known.at.x.size
    if stencil is None:
        stencil = process.stencils(scores.z.ravel(), known.at.x)
    mean = process.gather(*stencil, known.mean[None]).reshape(n, K) + scores.prior
    variance = process.gather(*stencil, known.variance[None]).reshape(n, K) + q.noise
    sigma, log_prob = softmax_rows(mean, scores.codes)
    weight = scores.weight[:, None]
    if known.full:
        product, sums = _products(scores, known, stencil, sigma)
        by_variance = -0.5 * weight * sigma
    else:
        product, sums = variance * sigma, {"kernel": np.zeros(3)}
        by_variance = 0.5 * weight * (sigma - 1) * sigma
    noise = 0.5 * float(np.sum(weight * (sigma - 1) * sigma))
    value, by_mean = taylor(sigma, log_prob, product, variance, scores.codes, scores.weight)
    sides = by_mean, by_variance
    mean, variance = (process.scatter(*stencil, by.reshape(1, -1), G)[0] for by in sides)
    sums["kernel"][2] = noise
    return {"value": value, "mean": mean, "variance": variance, **sums}


def _products(
    scores: GPScores, known: GridTables, stencil: Stencil, sigma: Floats
) -> tuple[Floats, BlockSums]:
    """Return C_i sigma_i, (n, K), and the sums that go with the covariances within rows."""
    q, weight, A, G = known.q, scores.weight, known.at.A, known.at.x.size
    if known.factor is not None:
        features, slope = known.factor
        W = process.scatter(*stencil, sigma, G)
        T, Y = W @ A.T, W @ features
        product = process.gather(*stencil, ((T @ q.C) @ q.C.T - T) @ A + Y @ features.T)
        Y *= Y
        squares, by_scale = Y.sum(axis=1), Y @ slope
        weighted = weight[:, None] * T
        outer = weighted.T @ W
    else:  # the rows of a fine grid are nearly empty
        kernel_of = q.variance, q.scale, q.kernel.order
        product, by_scale = process.pair_products(scores.z, sigma, *kernel_of)
        squares = np.einsum("ik,ik->i", sigma, product)
        at = np.zeros((sigma.size, q.m.size))
        process.gather_draws(*stencil, np.ascontiguousarray(A.T), at)
        at = at.reshape(*sigma.shape, -1)
        T = (sigma[:, None] @ at)[:, 0]
        product += (at @ ((T @ q.C) @ q.C.T - T)[:, :, None])[:, :, 0]
        weighted = weight[:, None] * T
        spread = (sigma[:, :, None] * weighted[:, None]).reshape(sigma.size, -1)
        outer = process.scatter_draws(*stencil, spread, G).T
    product += q.noise * sigma
    kernel = np.array([0.5 * weight @ squares, 0.5 * weight @ by_scale, 0.0])
    return product, {"outer": outer, "inner": weighted.T @ T, "kernel": kernel}


def _drawn_block(
    scores: GPScores, known: GridTables, normal: Floats, paths: Floats | None
) -> BlockSums:
    """The mean over draws: of whole paths and noise, or of each class by itself."""
    (n, K), q, S, G = scores.z.shape, known.q, normal.shape[1], known.at.x.size
    stencil = process.stencils(scores.z.ravel(), known.at.x)
    if paths is not None:
        draws = scores.prior[:, :, None] + np.sqrt(q.noise) * normal
        process.gather_draws(*stencil, paths, draws.reshape(n * K, S))
        value = monte_carlo(draws, scores.codes, scores.weight)
        noise = 0.5 * float(np.einsum("iks,ks->", draws, normal)) / np.sqrt(q.noise)
        out = process.scatter_draws(*stencil, draws.reshape(n * K, S), G)
        return {"value": value, "kernel": np.array([0.0, 0.0, noise]), "paths": out}
    mean = process.gather(*stencil, known.mean[None]).reshape(n, K) + scores.prior
    variance = process.gather(*stencil, known.variance[None]).reshape(n, K) + q.noise
    draws = mean[:, :, None] + np.sqrt(variance)[:, :, None] * normal
    value = monte_carlo(draws, scores.codes, scores.weight)
    by_variance = 0.5 * np.einsum("iks,ks->ik", draws, normal) / np.sqrt(variance)
    sides = draws.sum(axis=2), by_variance
    mean, variance = (process.scatter(*stencil, by.reshape(1, -1), G)[0] for by in sides)
    kernel = np.array([0.0, 0.0, float(by_variance.sum())])
    return {"value": value, "mean": mean, "variance": variance, "kernel": kernel}


def _assemble(
    sums: BlockSums, known: GridTables, back: process.PathsBack | None, share: float
) -> Evaluation:
    """Carry the derivatives on the grid back to the parameters, and subtract the divergence."""
    q, at = known.q, known.at
    G = at.x.size
    by_mean = np.broadcast_to(sums.get("mean", 0.0), G) / share
    by_variance = np.broadcast_to(sums.get("variance", 0.0), G) / share
    kernel = sums["kernel"] / share
    by_A, by_m, by_C = variational.marginals_back(at.A, q.m, q.C, by_mean, by_variance)
    # 1/2 sum_i w_i T_i' (C C' - I) T_i, T_i = A W_i' sigma_i
    outer = np.broadcast_to(sums.get("outer", 0.0), at.A.shape) / share
    by_A = by_A + q.C @ (q.C.T @ outer) - outer
    inner = np.broadcast_to(sums.get("inner", 0.0), q.C.shape) / share
    by_C = by_C + np.tril(inner @ q.C)
    by_L, by_Z = np.zeros_like(at.L), np.zeros_like(q.Z)
    if back is not None:
        by_paths = back(sums["paths"] / share)
        sides = zip((by_A, by_m, by_C, by_L, by_Z, kernel), by_paths, strict=True)
        by_A, by_m, by_C, by_L, by_Z, kernel = (mine + theirs for mine, theirs in sides)
    more_L, by_B = variational.whiten_back(at.L, at.A, by_A)
    by_inner = variational.cholesky_back(at.L, by_L + more_L)
    kernel_of = (q.variance, q.scale, q.kernel)
    of_inner = process.kernel_line_back(by_inner, q.Z, q.Z, *kernel_of)
    of_B = process.kernel_line_back(by_B, q.Z, at.x, *kernel_of)
    by_Z = by_Z + 2 * of_inner[2] + of_B[2]  # k(Z, Z) depends on Z twice
    log_kernel = [
        kernel[0] + of_inner[0] + of_B[0] + q.variance * by_variance.sum(),
        kernel[1] + of_inner[1] + of_B[1],
        q.noise * (kernel[2] + np.trace(by_inner)),
    ]
    penalty, by_penalty = variational.divergence(q.m, q.C)
    density = -2 * by_variance
    H = (at.A * density) @ at.A.T - inner
    value = sums["value"] / share - penalty
    by_m, by_C = by_m - q.m, by_C - by_penalty
    return Evaluation(value, by_m, by_C, by_Z, np.array(log_kernel), at, density, H)
