r"""The largest evidence lower bound over q, the inducing inputs and the kernel.

With the Taylor expectation the best m and S for given inducing inputs and kernel are found by a few
Newton steps, and L-BFGS moves the other M + 3 parameters along that ridge; the derivative of the
bound at its best m and S is its partial derivative. (L-BFGS on all parameters at once takes several
times the evaluations and ends lower: when the kernel changes, the best m and S change with it.)
Draws and mini-batches, which have no such steps, start from there and move all parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from caltest.calibrators.gp.elbo import Evaluation, GPScores, bound, kept_stencils
from caltest.calibrators.gp.latent import LatentPosterior, pack, pack_gradient, project, unpack
from caltest.calibrators.gp.paths import Paths
from caltest.numerics.loops import one_blas_thread
from caltest.numerics.variational import inverse_root

Floats = NDArray[np.float64]

Interval = tuple[float, float]
DECREMENT = 1e-4  # nats; Newton's steps end where the next one would gain less
MOST_STEPS = 30
MIXED = 4  # earlier steps that Anderson's mixing takes
MEMORY = 15  # of L-BFGS
RATE, DECAY, SQUARE_DECAY = 0.03, 0.9, 0.99  # of Adam
ROUNDED = 1e-12
STEADY = 1e-6  # of the density of scores, so that a fit of it has one solution


@dataclass(frozen=True)
class Limits:
    """Intervals of the kernel's parameters; inducing inputs stay within the range of the scores."""

    variance: Interval
    scale: Interval
    noise: Interval

    @property
    def log_kernel(self) -> list[Interval]:
        """Bounds for L-BFGS-B."""
        intervals = (self.variance, self.scale, self.noise)
        return [(math.log(low), math.log(high)) for low, high in intervals]


@dataclass(frozen=True)
class FittedGP:
    """The end of an optimisation: q, its bound, iterations, and whether it converged."""

    q: LatentPosterior
    value: float
    n_iter: int
    converged: bool


class Ridge:
    """The bound as a function of inducing inputs and kernel, at the best m and S for them."""

    def __init__(
        self, scores: GPScores, q: LatentPosterior, *, full: bool, n_jobs: int | None
    ) -> None:
        self.scores, self.q, self.full, self.n_jobs = scores, q, full, n_jobs
        self.last: Evaluation | None = None
        self.best: tuple[float, LatentPosterior] = (-math.inf, q)

    def __call__(self, values: Floats) -> tuple[float, Floats]:
        """Return minus the bound and its gradient, per unit of weight."""
        M = self.q.m.size
        variance, scale, noise = (float(value) for value in np.exp(values[M:]))
        new = replace(self.q, Z=values[:M], variance=variance, scale=scale, noise=noise)
        if self.last is not None:
            new = replace(new, m=carried(new, self.q, self.last))
        self.q, self.last = ascend(self.scores, new, full=self.full, n_jobs=self.n_jobs)
        if self.last.value > self.best[0]:
            self.best = (self.last.value, self.q)
        slope = np.concatenate([self.last.gradient.Z, self.last.gradient.kernel])
        total = self.scores.weight.sum()
        return -self.last.value / total, -slope / total


def carried(new: LatentPosterior, old: LatentPosterior, last: Evaluation) -> Floats:
    """Return the m with which a new kernel gives the old mean where the scores are."""
    known = old.m @ last.at.A
    A = project(new, last.at.x).A
    weighted = A * (last.density + STEADY * last.density.max())
    inner = weighted @ A.T
    # Beside huge weights the prior alone would leave it singular.
    ridge = STEADY + ROUNDED * np.trace(inner)
    return np.linalg.solve(inner + ridge * np.eye(new.m.size), weighted @ known)


def ascend(
    scores: GPScores, q: LatentPosterior, *, full: bool, n_jobs: int | None = None
) -> tuple[LatentPosterior, Evaluation]:
    """Move m and S to their best by Newton steps, shorter where they lead down.

    H leaves out terms of the second order, so that the steps alone converge linearly; Anderson's
    mixing of the last ones makes them fast.
    """
    kept = kept_stencils(scores, q.scale, n_jobs)
    here, step = bound(scores, q, full=full, kept=kept, n_jobs=n_jobs), 1.0
    trail: list[tuple[Floats, Floats]] = []
    for _ in range(MOST_STEPS):
        root = inverse_root(here.curvature)
        move = root @ (root.T @ here.gradient.m)
        gain = float(here.gradient.m @ move)
        trail = [*trail[-MIXED:], (q.m, move)]
        to = mixed(trail, root) if step == 1.0 else q.m + step * move
        other = replace(q, m=to, C=root)
        there = bound(scores, other, full=full, kept=kept, n_jobs=n_jobs)
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
    units = solve_triangular(root, np.diff(moves, axis=0).T, lower=True, check_finite=False)
    target = solve_triangular(root, move, lower=True, check_finite=False)
    share = np.linalg.lstsq(units, target, rcond=1e-8)[0]
    mixed_point: Floats = m + move - share @ np.diff(points + moves, axis=0)
    return mixed_point


def maximise(
    scores: GPScores,
    q: LatentPosterior,
    limits: Limits,
    *,
    full: bool,
    max_iter: int,
    tol: float,
    n_jobs: int | None = None,
) -> FittedGP:
    """Maximise the bound with equation 7."""
    ridge = Ridge(scores, q, full=full, n_jobs=n_jobs)
    start = np.concatenate([q.Z, np.log([q.variance, q.scale, q.noise])])
    box = [(scores.low, scores.high)] * q.m.size + limits.log_kernel
    with one_blas_thread():
        end = _minimise(ridge, start, box, max_iter, tol)
    value, best = ridge.best
    return FittedGP(best, value, int(end.nit), bool(end.success))


def maximise_drawn(
    scores: GPScores,
    q: LatentPosterior,
    limits: Limits,
    paths: Paths,
    *,
    full: bool,
    max_iter: int,
    tol: float,
    n_jobs: int | None = None,
) -> FittedGP:
    """Maximise the bound with the mean over draws, from a start that should be near."""
    root, M, total = q.C, q.m.size, scores.weight.sum()

    def loss(values: Floats) -> tuple[float, Floats]:
        at = unpack(values, root)
        found = bound(scores, at, full=full, paths=paths, n_jobs=n_jobs)
        return -found.value / total, -pack_gradient(at, found.gradient, root) / total

    box = list(zip(*_box(scores, limits, M), strict=True))
    with one_blas_thread():
        end = _minimise(loss, pack(q, root), box, max_iter, tol)
    return FittedGP(unpack(end.x, root), -float(end.fun) * total, int(end.nit), bool(end.success))


def maximise_batches(
    scores: GPScores,
    q: LatentPosterior,
    limits: Limits,
    paths: Paths | None,
    *,
    full: bool,
    batch_size: int,
    n_steps: int,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> FittedGP:
    """Move q by Adam on random batches, from a start that should be near, and value it on all rows.

    Kingma and Ba (2015), algorithm 1, with steps that shrink to 0 along a half cosine.
    """
    n, M = len(scores.z), q.m.size
    share = batch_size / n
    start = scores.rows(rng.permutation(n)[:batch_size])
    first = bound(start, q, full=full, share=share, n_jobs=n_jobs)
    root = inverse_root(first.curvature)
    values = pack(replace(q, C=root), root)
    low, high = _box(scores, limits, M)
    unit = np.ones_like(values)
    unit[-M - 3 : -3] = scores.high - scores.low
    mean, square = np.zeros_like(values), np.zeros_like(values)
    with one_blas_thread():
        for i in range(1, n_steps + 1):
            at = unpack(values, root)
            batch = scores.rows(rng.choice(n, batch_size, replace=False))
            found = bound(batch, at, full=full, paths=paths, share=share, n_jobs=n_jobs)
            slope = pack_gradient(at, found.gradient, root) * unit
            mean += (1 - DECAY) * (slope - mean)
            square += (1 - SQUARE_DECAY) * (slope**2 - square)
            rate = RATE * (1 + math.cos(math.pi * i / n_steps)) / 2
            size = np.sqrt(square / (1 - SQUARE_DECAY**i)) + 1e-8
            step = rate * unit * mean / ((1 - DECAY**i) * size)
            values = np.clip(values + step, low, high)
        end = unpack(values, root)
        value = bound(scores, end, full=full, paths=paths, n_jobs=n_jobs).value
    return FittedGP(end, value, n_steps, converged=True)


def _box(scores: GPScores, limits: Limits, M: int) -> tuple[Floats, Floats]:
    """Return the lower and upper limits of the vector of `pack`."""
    free = [(-np.inf, np.inf)] * (M + M * (M + 1) // 2)
    inputs = [(scores.low, scores.high)] * M
    low, high = np.array([*free, *inputs, *limits.log_kernel]).T
    return low, high


def _minimise(
    loss: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    box: list[Interval],
    max_iter: int,
    tol: float,
) -> Any:
    options = {"maxcor": MEMORY, "maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": tol}
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
