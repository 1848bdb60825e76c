"""Evidence lower bound with its softmax expectations and gradient, Wenger et al. 2020."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import repeat
from typing import Any

import numpy as np
from scipy.optimize import minimize

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


Interval = tuple[float, float]
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
    q, weight = known.q, scores.weight
    W = process.scatter(*stencil, sigma, known.at.x.size)
    T = W @ known.at.A.T
    V = ((T @ q.C) @ q.C.T - T) @ known.at.A
    if known.factor is not None:
        features, slope = known.factor
        Y = W @ features
        V += Y @ features.T
        Y *= Y
        squares, by_scale = Y.sum(axis=1), Y @ slope
        product = process.gather(*stencil, V)
    else:
        kernel_of = q.variance, q.scale, q.kernel.order
        product, by_scale = process.pair_products(scores.z, sigma, *kernel_of)
        squares = np.einsum("ik,ik->i", sigma, product)
        product += process.gather(*stencil, V)
    product += q.noise * sigma
    weighted = weight[:, None] * T
    kernel = np.array([0.5 * weight @ squares, 0.5 * weight @ by_scale, 0.0])
    return product, {"outer": weighted.T @ W, "inner": weighted.T @ T, "kernel": kernel}


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
    penalty, by_m_penalty, by_C_penalty = variational.divergence(q.m, q.C)
    by_m, by_C = by_m - by_m_penalty, by_C - by_C_penalty
    density = -2 * by_variance
    H = (at.A * density) @ at.A.T - inner
    value = sums["value"] / share - penalty
    return Evaluation(value, by_m, by_C, by_Z, np.array(log_kernel), at, density, H)


# ---- The largest bound over q, the inducing inputs and the kernel --------------------------------
#
# With the Taylor expectation the best m and S for given inducing inputs and kernel are found by a
# few Newton steps, and L-BFGS moves the other M + 3 parameters along that ridge; the derivative
# of the bound at its best m and S is its partial derivative. (L-BFGS on all parameters at once
# takes several times the evaluations and ends lower: when the kernel changes, the best m and S
# change with it.) Draws and mini-batches, which have no such steps, start from there and move all
# parameters.

DECREMENT = 1e-4  # nats; Newton's steps end where the next one would gain less
MOST_STEPS = 30
MIXED = 4  # earlier steps that Anderson's mixing takes
MEMORY = 15  # of L-BFGS
RATE, DECAY, SQUARE_DECAY = 0.03, 0.9, 0.99  # of Adam
ROUNDED = 1e-12
LEAST_GAP = 1e-6  # of neighbouring inducing inputs, of their range
REACH = math.log(4)  # of the length scale from where L-BFGS starts, before it starts again
EDGE = 1e-6  # of the logarithm of the length scale
WIDEST = 8.0  # of the logarithm of a gap over their mean
STEADY = 1e-6  # of the density of scores, so that a fit of it has one solution


@dataclass(frozen=True)
class FitLimits:
    """Intervals of the kernel's parameters, most iterations, and the tolerance of L-BFGS.

    Inducing inputs stay within the range of the scores.
    """

    variance: Interval
    scale: Interval
    noise: Interval
    max_iter: int
    tol: float

    @property
    def log_kernel(self) -> list[Interval]:
        """Bounds for L-BFGS-B."""
        intervals = (self.variance, self.scale, self.noise)
        return [(math.log(low), math.log(high)) for low, high in intervals]


@dataclass(frozen=True)
class FittedGP:
    """The end of an optimisation: q, its bound, iterations, whether it converged, evaluations."""

    q: process.LatentPosterior
    value: float
    n_iter: int
    converged: bool
    evaluations: int = 0


class Ordered:
    """Inducing inputs as the first, the last, and logarithms of the gaps between.

    So they cannot pass each other: where two do, the bound has a ridge on which L-BFGS takes many
    steps, and leaves three inputs at the same place in the end.
    """

    def __init__(self, Z: Floats, low: float, high: float) -> None:
        self.low, self.high, self.M = low, high, Z.size
        gaps = np.maximum(np.diff(Z), LEAST_GAP * max(float(np.ptp(Z)), LEAST_GAP))
        logs = np.log(gaps)
        logs -= logs.mean() if self.M > 1 else 0.0
        self.start = np.concatenate([Z[[0, -1]][: self.M], np.clip(logs, -WIDEST, WIDEST)])

    @property
    def box(self) -> list[Interval]:
        """Return bounds for L-BFGS-B: the first below the last."""
        middle = float(self.start[: min(self.M, 2)].mean())
        first_last = [(self.low, middle), (middle, self.high)]
        if self.M == 1:
            return [(self.low, self.high)]
        return [*first_last, *([(-WIDEST, WIDEST)] * (self.M - 1))]

    def places(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the inputs, (M,), and their derivatives by the values, (values, M)."""
        if self.M == 1:
            return values, np.eye(1)
        share = np.exp(values[2:] - values[2:].max())
        share /= share.sum()
        at = np.concatenate([[0.0], np.cumsum(share)])
        at[-1] = 1.0
        width = values[1] - values[0]
        before = np.arange(self.M - 1)[:, None] < np.arange(self.M)
        by_gaps = width * share[:, None] * (before - at)
        return values[0] + width * at, np.vstack([1 - at, at, by_gaps])


class Ridge:
    """The bound as a function of inducing inputs and kernel, at the best m and S for them."""

    def __init__(self, scores: GPScores, q: process.LatentPosterior) -> None:
        self.scores, self.q = scores, q
        self.inputs = Ordered(q.Z, scores.low, scores.high)
        self.count = 0
        self.last: Evaluation | None = None
        self.best: tuple[float, process.LatentPosterior] = (-math.inf, q)

    def __call__(self, values: Floats) -> tuple[float, Floats]:
        """Return minus the bound and its gradient, per unit of weight."""
        self.count += 1
        Z, back = self.inputs.places(values[:-3])
        variance, scale, noise = (float(value) for value in np.exp(values[-3:]))
        new = replace(self.q, Z=Z, variance=variance, scale=scale, noise=noise)
        if self.last is not None:
            new = replace(new, m=carried(new, self.q, self.last))
        self.q, self.last = ascend(self.scores, new)
        if self.last.value > self.best[0]:
            self.best = (self.last.value, self.q)
        slope = np.concatenate([back @ self.last.by_inputs, self.last.by_kernel])
        total = self.scores.weight.sum()
        return -self.last.value / total, -slope / total


def carried(new: process.LatentPosterior, old: process.LatentPosterior, last: Evaluation) -> Floats:
    """Return the m with which a new kernel gives the old mean where the scores are."""
    known = old.m @ last.at.A
    A = process.project(new, last.at.x).A
    weighted = A * (last.density + STEADY * last.density.max())
    inner = weighted @ A.T
    # Beside huge weights the prior alone would leave it singular.
    ridge = STEADY + ROUNDED * np.trace(inner)
    return np.linalg.solve(inner + ridge * np.eye(new.m.size), weighted @ known)


def ascend(
    scores: GPScores, q: process.LatentPosterior
) -> tuple[process.LatentPosterior, Evaluation]:
    """Move m and S to their best by Newton steps, shorter where they lead down.

    H leaves out terms of the second order, so that the steps alone converge linearly; Anderson's
    mixing of the last ones makes them fast.
    """
    kept = kept_stencils(scores, q)
    here, step = bound(scores, q, kept=kept), 1.0
    trail: list[tuple[Floats, Floats]] = []
    for _ in range(MOST_STEPS):
        root = variational.inverse_root(here.curvature)
        move = root @ (root.T @ here.by_mean)
        gain = float(here.by_mean @ move)
        trail = [*trail[-MIXED:], (q.m, move)]
        to = mixed(trail, root) if step == 1.0 else q.m + step * move
        other = replace(q, m=to, C=root)
        there = bound(scores, other, kept=kept)
        if there.value >= here.value - DECREMENT:
            done = gain < DECREMENT and there.value - here.value < DECREMENT
            q, here, step = other, there, min(1.0, 2 * step)
            if done:
                break
        elif gain < DECREMENT or step < 1e-3:
            break
        else:
            step, trail = step / 4 if len(trail) == 1 else min(step, 0.999), []
    return q, here


def mixed(trail: list[tuple[Floats, Floats]], root: Floats) -> Floats:
    """Return the point at which the moves of the last points, taken as linear, cancel."""
    m, move = trail[-1]
    if len(trail) == 1:
        return m + move
    points = np.array([point for point, _ in trail])
    moves = np.array([each for _, each in trail])
    units = variational.whiten(root, np.diff(moves, axis=0).T)
    share = np.linalg.lstsq(units, variational.whiten(root, move), rcond=1e-8)[0]
    return np.asarray(m + move - share @ np.diff(points + moves, axis=0))


def maximise(scores: GPScores, q: process.LatentPosterior, limits: FitLimits) -> FittedGP:
    """Maximise the bound with equation 7."""
    ridge = Ridge(scores, q)
    values = np.concatenate([ridge.inputs.start, np.log([q.variance, q.scale, q.noise])])
    variance, (low, high), noise = limits.log_kernel
    steps, inside = 0, False
    with one_blas_thread():
        while not inside and steps < limits.max_iter:
            # A trial far down costs many times the others: its grid is as fine as it is short.
            near = max(low, values[-2] - REACH), min(high, values[-2] + REACH)
            box = [*ridge.inputs.box, variance, near, noise]
            end = _minimise(ridge, values, box, replace(limits, max_iter=limits.max_iter - steps))
            values, steps = end.x, steps + int(end.nit)
            at_edge = {edge for edge in near if abs(values[-2] - edge) < EDGE}
            inside = at_edge <= {low, high} or not end.nit
    value, best = ridge.best
    return FittedGP(best, value, steps, bool(end.success), ridge.count)


def maximise_drawn(
    scores: GPScores, q: process.LatentPosterior, limits: FitLimits, paths: process.Paths
) -> FittedGP:
    """Maximise the bound with the mean over draws, from a start that should be near."""
    root, M, total = q.C, q.m.size, scores.weight.sum()

    def loss(values: Floats) -> tuple[float, Floats]:
        at = process.unpack(values, root, q.kernel)
        found = bound(scores, at, paths=paths)
        return -found.value / total, -pack_gradient(at, found, root) / total

    with one_blas_thread():
        end = _minimise(loss, process.pack(q, root), _box(scores, limits, M), limits)
    best, value = process.unpack(end.x, root, q.kernel), -float(end.fun) * total
    return FittedGP(best, value, int(end.nit), bool(end.success), int(end.nfev))


def maximise_batches(
    scores: GPScores,
    q: process.LatentPosterior,
    limits: FitLimits,
    paths: process.Paths | None,
    batch_size: int,
    rng: np.random.Generator,
) -> FittedGP:
    """Move q by Adam on random batches, from a start that should be near, and value it on all rows.

    Kingma and Ba (2015), algorithm 1, with steps that shrink to 0 along a half cosine.
    """
    n, M, n_steps = len(scores.z), q.m.size, limits.max_iter
    share = batch_size / n
    start = scores.rows(rng.permutation(n)[:batch_size])
    first = bound(start, q, share=share)
    root = variational.inverse_root(first.curvature)
    values = process.pack(replace(q, C=root), root)
    low, high = np.array(_box(scores, limits, M)).T
    unit = np.ones_like(values)
    unit[-M - 3 : -3] = scores.high - scores.low
    mean, square = np.zeros_like(values), np.zeros_like(values)
    with one_blas_thread():
        for i in range(1, n_steps + 1):
            at = process.unpack(values, root, q.kernel)
            batch = scores.rows(rng.choice(n, batch_size, replace=False))
            found = bound(batch, at, paths=paths, share=share)
            slope = pack_gradient(at, found, root) * unit
            mean += (1 - DECAY) * (slope - mean)
            square += (1 - SQUARE_DECAY) * (slope**2 - square)
            rate = RATE * (1 + math.cos(math.pi * i / n_steps)) / 2
            size = np.sqrt(square / (1 - SQUARE_DECAY**i)) + 1e-8
            step = rate * unit * mean / ((1 - DECAY**i) * size)
            values = np.clip(values + step, low, high)
        end = process.unpack(values, root, q.kernel)
        value = bound(scores, end, paths=paths).value
    return FittedGP(end, value, n_steps, converged=True, evaluations=n_steps)


def _box(scores: GPScores, limits: FitLimits, M: int) -> list[Interval]:
    """Return the bounds of each packed parameter."""
    free = [(-np.inf, np.inf)] * (M + M * (M + 1) // 2)
    return [*free, *[(scores.low, scores.high)] * M, *limits.log_kernel]


def _minimise(
    loss: Callable[[Floats], tuple[float, Floats]], start: Floats, box: object, limits: FitLimits
) -> Any:
    most = limits.max_iter
    options = {"maxcor": MEMORY, "maxiter": most, "maxfun": 20 * most, "ftol": limits.tol}
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
