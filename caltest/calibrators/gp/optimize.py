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
from scipy.optimize import minimize

from caltest.calibrators.gp import process
from caltest.calibrators.gp.elbo import Evaluation, GPScores, bound, kept_stencils, pack_gradient
from caltest.numerics import variational
from caltest.numerics.loops import one_blas_thread
from caltest.types import Floats

Interval = tuple[float, float]
DECREMENT = 1e-4  # nats; Newton's steps end where the next one would gain less
LEFT = 0.1  # nats that a Newton step may leave at the end
GAIN = 0.01  # nats for which L-BFGS starts once more
MOST_STEPS = 30
MIXED = 4  # earlier steps that Anderson's mixing takes
MEMORY = 15  # of L-BFGS
MOST_TRIALS = 8  # of a line search of L-BFGS; more show that the derivatives are wrong
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
        self.values = np.concatenate([self.inputs.start, np.log([q.variance, q.scale, q.noise])])
        self.count, self.value, self.left = 0, -math.inf, math.inf
        self.best: Evaluation | None = None

    def __call__(self, values: Floats) -> tuple[float, Floats]:
        """Return minus the bound and its gradient, per unit of weight."""
        self.count += 1
        Z, back = self.inputs.places(values[:-3])
        variance, scale, noise = (float(value) for value in np.exp(values[-3:]))
        new = replace(self.q, Z=Z, variance=variance, scale=scale, noise=noise)
        if self.best is not None:  # a trial far down may end anywhere
            new = replace(new, m=carried(new, self.q, self.best))
        q, found = ascend(self.scores, new)
        if found.value > self.value:
            self.q, self.best, self.values = q, found, values.copy()
            self.value, self.left = found.value, newton(found)[2]
        slope = np.concatenate([back @ found.by_inputs, found.by_kernel])
        total = self.scores.weight.sum()
        return -found.value / total, -slope / total


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
        root, move, gain = newton(here)
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


def newton(here: Evaluation) -> tuple[Floats, Floats, float]:
    """Return the root of the best S, the step of m, and twice what it gains to first order."""
    root = variational.inverse_root(here.curvature)
    move = root @ (root.T @ here.by_mean)
    return root, move, float(here.by_mean @ move)


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
    variance, (low, high), noise = limits.log_kernel
    steps, done = 0, False
    with one_blas_thread():
        while not done and steps < limits.max_iter:  # until another start gains nothing
            before, length = ridge.value, ridge.values[-2]
            # A trial far down costs many times the others: its grid is as fine as it is short.
            near = max(low, length - REACH), min(high, length + REACH)
            box = [*ridge.inputs.box, variance, near, noise]
            left = replace(limits, max_iter=limits.max_iter - steps)
            end = _minimise(ridge, ridge.values, box, left)
            steps += int(end.nit)
            at_edge = {edge for edge in near if abs(ridge.values[-2] - edge) < EDGE}
            gain = max(GAIN, limits.tol * max(abs(ridge.value), scores.weight.sum()))
            done = not end.nit or (at_edge <= {low, high} and ridge.value - before < gain)
    converged = bool(end.success) and ridge.left < LEFT
    return FittedGP(ridge.q, ridge.value, steps, converged, ridge.count)


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
    options = {"maxcor": MEMORY, "maxiter": most, "maxls": MOST_TRIALS, "ftol": limits.tol}
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
