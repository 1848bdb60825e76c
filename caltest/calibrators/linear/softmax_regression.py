"""Penalised softmax regression: loss, derivatives, Newton by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy

from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.inputs import Inputs
from caltest.numerics.loops import blocks, one_blas_thread
from caltest.numerics.newton import Solver, backtrack, conjugate_gradients, damped_factor
from caltest.numerics.sorted_scores import shares
from caltest.types import Codes, Flags, Floats, Ints

BLOCK = 2**16  # entries of a block of rows: it stays in the cache


SAMPLE = 20_000  # rows that tell a good multiple of the start


def row_blocks(n: int, m: int) -> list[slice]:
    """Split n rows of m entries into blocks of half a megabyte, or of 1024 rows."""
    return list(blocks(n, max(1024, BLOCK // m)))


def hessian(probs: Floats, X: Floats, weight: Floats) -> Floats:
    """Return the Hessian of the log loss, (m d, m d), without the penalty."""
    (m, n), d = probs.shape, X.shape[1]
    H = np.zeros((m * d, m * d))
    for rows in row_blocks(n, m * d):
        p, x, w = probs[:, rows], X[rows].T, weight[rows]
        z = (p[:, None, :] * (np.sqrt(w) * x)).reshape(m * d, -1)
        product = z @ z.T
        for k, q in enumerate(p):
            # As p (1 - p): a difference of sums would lose all digits where p is near 1.
            block = slice(k * d, (k + 1) * d)
            product[block, block] = -(x * (w * q * (1 - q))) @ x.T
        H -= product
    return H


def drawn_rows(weight: Floats, size: int) -> tuple[Ints, Floats]:
    """Draw rows without replacement; return them and their weights, which sum to 1."""
    rows = np.random.default_rng(0).choice(len(weight), size, replace=False)
    return rows, weight[rows] / max(float(weight[rows].sum()), 1e-300)


FEW = 1000  # rows that tell whether many are equal


@dataclass(frozen=True, slots=True)
class LogitRows:
    """Rows of positive weight; where many are equal, as of trees, each stands for all of them.

    Attributes
    ----------
    logits : (n, m) array
        Logits, or logarithms of probabilities, within 1e100 of 0.
    codes : (n,) array of int64
        Column of each label.
    weight : (n,) array
        Weights, which sum to 1.
    total : float
        What the weights summed to: the number of observations.
    """

    logits: Floats
    codes: Ints
    weight: Floats
    total: float


def logit_rows(data: CalibrationSet, scores: Callable[[Inputs], Floats]) -> LogitRows:
    """Return the rows that count; `scores` takes their logits from the inputs."""
    data = data.counted
    logits, (weight, total) = scores(data.inputs), shares(data.weight, data.n)
    return LogitRows(*_merged(logits, data.codes, weight), total)


def _merged(logits: Floats, codes: Ints, weight: Floats) -> tuple[Floats, Ints, Floats]:
    """Add up the weights of equal rows of one label, if a sample has at least half of them."""
    step = -(-len(codes) // FEW)
    sample = np.column_stack([logits[::step], codes[::step]])
    if 2 * len(np.unique(sample, axis=0)) > len(sample):
        return logits, codes, weight
    distinct, place = np.unique(np.column_stack([logits, codes]), axis=0, return_inverse=True)
    merged = np.bincount(place.ravel(), weight).astype(float)
    return distinct[:, :-1], distinct[:, -1].astype(np.int64), merged


Trial = tuple[float, Floats, Floats]  # objective, gradient, probabilities
TOLERANCE = 1e-9  # of the gradient, relative to that at the start, or to 1 where that is more
EPSILON = 4e-16  # of the objective, of one near 0 too
ROUNDING = 1e-14  # of the gradient, relative to the size of x
VANISHED = 1e-9  # of the gradient, relative to the size of x: what rounding may leave of it
DENSE = 600  # parameters
ROWS = 2000  # of many, that the dense preconditioner sums over at first
SLOW = 10  # products per step, after which it sums over more of them
BLOCKS = 300  # classes
STEPS = 200
PRODUCTS = 300  # with the Hessian, per step
DAMPING = 1e-10
LARGE_STEP = 0.1  # change of a score by a step
FAST = 20  # fall of the gradient by a step


class Minimum(NamedTuple):
    """Where the iteration ended.

    Attributes
    ----------
    theta : (m, d) array
        The parameters.
    norm : float
        Norm of the gradient.
    escaping : bool
        Whether the minimum is at infinity.
    steps : int
        Newton steps.
    converged : bool
        Whether the gradient vanishes.
    """

    theta: Floats
    norm: float
    escaping: bool
    steps: int
    converged: bool


@dataclass(frozen=True)
class Problem:
    """A softmax regression, weighted and penalised.

    Attributes
    ----------
    X : (n, d) array
    codes : (n,) array
    weight : (n,) array
    penalty : (m, d) array
        The second derivatives of the penalty, which is that of theta - centre.
    start : (m, d) array
    free : (m, d) array of bool
        Entries of theta that are fitted.
    tied : bool
        Whether the diagonal has one value.
    scale : bool
        Whether to look for the best multiple of the start first.
    centre : (m, d) array or float
    """

    X: Floats
    codes: Codes
    weight: Floats
    penalty: Floats
    start: Floats
    free: Flags
    tied: bool = False
    scale: bool = True
    centre: Floats | float = 0.0

    def project(self, V: Floats) -> Floats:
        """Set what is not free to 0, and the diagonal to its mean if that is tied."""
        projected = np.where(self.free, V, 0.0)
        if self.tied:
            diagonal = np.arange(len(V))
            projected[diagonal, diagonal] = projected[diagonal, diagonal].mean()
        return projected

    def at(self, theta: Floats) -> Trial:
        """Return the objective, its projected gradient and the probabilities, (m, n)."""
        probs = np.empty((len(theta), len(self.X)))
        away = theta - self.centre
        gradient = self.penalty * away
        value = 0.5 * float(np.vdot(gradient, away))
        for rows in row_blocks(len(self.X), len(theta)):
            z = np.matmul(theta, self.X[rows].T, out=probs[:, rows])
            observed, w = (self.codes[rows], np.arange(z.shape[1])), self.weight[rows]
            z -= z.max(axis=0)
            score = z[observed]
            np.exp(z, out=z)
            total = z.sum(axis=0)
            z /= total
            residual = z * w
            residual[observed] -= w
            value += float(w @ (np.log(total) - score))
            gradient += residual @ self.X[rows]
        return value, self.project(gradient), probs

    def hessian_product(self, V: Floats, probs: Floats) -> Floats:
        """Return the projected product of the Hessian with V, (m, d)."""
        product = self.penalty * V
        for rows in row_blocks(len(self.X), len(V)):
            p = probs[:, rows]
            u = V @ self.X[rows].T
            u -= np.einsum("ij,ij->j", p, u)
            u *= p
            u *= self.weight[rows]
            product += u @ self.X[rows]
        return self.project(product)

    def scaled_start(self) -> Floats:
        """Return the best multiple of the start, roughly: Newton's iteration in one dimension."""
        X, codes, weight, start = self.X, self.codes, self.weight, self.start
        if len(X) > SAMPLE:
            rows, weight = drawn_rows(weight, SAMPLE)
            X, codes = X[rows], codes[rows]
        z = start @ X.T
        z -= z.max(axis=0)
        observed = z[codes, np.arange(len(codes))]
        curvature = float(np.vdot(self.penalty * start, start))
        pull = float((self.penalty * start * self.centre).sum())
        t = 1.0
        for _ in range(150):
            p = np.exp(t * z)
            p /= p.sum(axis=0)
            mean = np.einsum("ij,ij->j", p, z)
            slope = float(weight @ (mean - observed)) + t * curvature - pull
            p *= z
            second = float(weight @ (np.einsum("ij,ij->j", p, z) - mean**2)) + curvature
            # Of separated labels every multiple is better than the one before: 10 is enough.
            moved = t - slope / max(second, 1e-290)
            before, t = t, min(float(np.clip(moved, t / 10, 10 * t)), 10.0)
            if abs(t - before) < 0.02 * t:
                break
        return start * t

    def change(self, step: Floats) -> float:
        """Return the largest change of a score relative to the others of its row."""
        blocks = row_blocks(len(self.X), len(step))
        return max(float(np.ptp(step @ self.X[rows].T, axis=0).max()) for rows in blocks)


def minimise(task: Problem, warm: Floats | None = None) -> Minimum:
    """Go from the start to the minimum.

    `warm`, where it is given, is a better start; the gradient to end at is still measured by that
    at `start`. On the way to infinity each step of Newton's method changes some scores by about 1
    and divides the gradient by about e, until it vanishes.
    """
    X, theta, size = task.X, task.start, task.start.size
    # Where products are small, one thread of BLAS is the fastest.
    with one_blas_thread() if size <= DENSE else nullcontext():
        value, gradient, probs = task.at(theta)
        length = float(np.sqrt(task.weight @ np.einsum("ij,ij->i", X, X)))
        norm = float(np.linalg.norm(gradient))
        enough = max(TOLERANCE * min(norm, 1.0), ROUNDING * length)
        if warm is None and task.scale and norm > enough:
            warm = task.scaled_start()
        if warm is not None:
            theta = warm
            value, gradient, probs = task.at(theta)
        first = norm = float(np.linalg.norm(gradient))
        precondition, rows, used, count, escaping = None, ROWS, 0, 0, False
        while count < STEPS and norm > 0:
            if precondition is None or used > (3 if size <= DENSE else 10):
                rows = 8 * rows if used > SLOW else rows
                precondition = _preconditioner(task, probs, rows)
            product = partial(task.hessian_product, probs=probs)
            forcing = min(0.1, np.sqrt(norm / max(first, norm)))
            step, used = conjugate_gradients(product, precondition, -gradient, forcing, PRODUCTS)
            if norm <= enough:  # at the start: only to tell a minimum from one at infinity
                return Minimum(theta, norm, task.change(step) > LARGE_STEP, count, converged=True)
            found = _moved(task, theta, step, value, gradient)
            count += 1
            if found is None:
                break
            part, (value, gradient, probs) = found
            theta = theta + part * step
            before, norm = norm, float(np.linalg.norm(gradient))
            escaping = task.change(part * step) > LARGE_STEP and norm > before / FAST
            if norm <= enough or norm == before:  # the step was lost in rounding
                break
    return Minimum(theta, norm, escaping, count, norm <= VANISHED * max(length, 1.0))


def _moved(
    task: Problem, theta: Floats, step: Floats, value: float, gradient: Floats
) -> tuple[float, Trial] | None:
    """Shorten the step until the objective falls by enough, or the gradient does.

    Near the minimum the objective no longer tells: it falls by less than its last digit, or that of
    the sums of exponentials, which are at least 1.
    """
    norm = np.linalg.norm(gradient)

    def is_flatter(trial: Trial) -> bool:
        close = abs(trial[0] - value) <= max(1e-13 * abs(value), EPSILON)
        return close and bool(np.linalg.norm(trial[1]) < norm)

    slope = float(np.vdot(gradient, step))
    return backtrack(lambda length: task.at(theta + length * step), value, slope, is_flatter)


def _preconditioner(task: Problem, probs: Floats, rows: int) -> Solver:
    m, d = task.penalty.shape
    if m * d <= DENSE:
        solve = _dense(task, probs, max(rows, 4 * m * d))
    else:
        solve = _blocks(task, probs) if m <= BLOCKS else _common(task, probs)
    return lambda V: task.project(solve(V))


def _dense(task: Problem, probs: Floats, rows: int) -> Solver:
    """Factor the Hessian, of all rows or of some that are drawn."""
    X, weight = task.X, task.weight
    if len(X) > 2 * rows:
        some, weight = drawn_rows(weight, rows)
        probs, X = probs[:, some], X[some]
    H = hessian(probs, X, weight)
    diagonal = np.arange(len(H))
    H[diagonal, diagonal] += task.penalty.ravel()
    fixed = ~task.free.ravel()
    H[fixed] = H[:, fixed] = 0.0
    H[fixed, fixed] = 1.0
    unit = 1 / np.sqrt(np.maximum(H[diagonal, diagonal], 1e-290))
    H *= unit
    H *= unit[:, None]
    H[diagonal, diagonal] = 1.0
    factor, _ = damped_factor(H, DAMPING)

    def solve(V: Floats) -> Floats:
        flat: Floats = scipy.linalg.cho_solve(factor, V.ravel() * unit, check_finite=False) * unit
        return flat.reshape(V.shape)

    return solve


def _blocks(task: Problem, probs: Floats) -> Solver:
    """Invert the diagonal block of each class, from the rows that matter to it."""
    X, weight, (m, d) = task.X, task.weight, task.penalty.shape
    inverses = np.empty((m, d, d))
    squared = weight * np.einsum("ij,ij->i", X, X)
    diagonal = np.arange(d)
    for k in range(m):
        variance = probs[k] * (1 - probs[k])
        share = variance * squared
        rows = np.flatnonzero(share > 0.5 * share.mean())
        x = X[rows] * np.sqrt(variance[rows] * weight[rows])[:, None]
        block = x.T @ x
        block[diagonal, diagonal] += task.penalty[k]
        block[diagonal, diagonal] *= 1 + 1e-8
        block[diagonal, diagonal] += 1e-290
        inverses[k] = np.linalg.inv(block)

    def solve(V: Floats) -> Floats:
        return np.asarray(np.matmul(inverses, V[:, :, None])[:, :, 0])

    return solve


def _common(task: Problem, probs: Floats) -> Solver:
    """Take every block for a multiple of the second moments, which are diagonalised once.

    To it comes one penalty per class. The diagonal weight and the intercept, whose penalties are
    others, are solved apart from the rest: the result stays positive definite.
    """
    X, weight, penalty = task.X, task.weight, task.penalty
    m, d = penalty.shape
    moments = (X * weight[:, None]).T @ X
    values, vectors = np.linalg.eigh(moments)
    variance = np.maximum((probs * (1 - probs)) @ weight, 1e-290)
    ridge = np.median(penalty, axis=1)[:, None]
    kept = values > 1e-12 * values[-1]  # at most n of d
    vectors, divisor = vectors[:, kept], variance[:, None] * values[kept] + ridge
    floor = variance[:, None] * 1e-12 * values[-1] + ridge
    change = 1 / divisor - 1 / floor
    columns = np.column_stack([np.arange(m), np.full(m, d - 1)])  # diagonal and intercept
    pairs = variance[:, None, None] * moments[columns[:, :, None], columns[:, None, :]]
    own = np.arange(2)
    pairs[:, own, own] += np.take_along_axis(penalty, columns, axis=1)
    pairs[:, own, own] *= 1 + 1e-8
    inverses = np.linalg.inv(pairs)

    def solve(V: Floats) -> Floats:
        apart = np.take_along_axis(V, columns, axis=1)
        rest = V.copy()
        np.put_along_axis(rest, columns, 0.0, axis=1)
        solved: Floats = rest / floor + ((rest @ vectors) * change) @ vectors.T
        np.put_along_axis(solved, columns, np.einsum("aij,aj->ai", inverses, apart), axis=1)
        return solved

    return solve
