"""The likelihood of softmax(w z + b), one weight and one bias per class, and its maximum."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from caltest.numerics.parallel import map_threads

Floats = NDArray[np.float64]


Codes = NDArray[np.int64]


BLOCK = 2**15  # numbers that stay in the cache between the loops over them


PRODUCT = 2**19  # numbers of a matrix product


STEPS = 200


TOLERANCE = 1e-7  # of the decrement: what remains after a step of this size is rounding


LARGE_STEP = 1e-4  # in log odds: there is no maximum nearby, however flat the likelihood is


SHIFT = 1e-11  # of the Hessian with unit diagonal, above the rounding errors of 2000 parameters


SINGULAR = 1e-9  # the smallest pivot of a Hessian that determines the parameters


SLACK = 1e-14  # rounding error of the objective


class Point(NamedTuple):
    """Objective, gradient (2m,) and Hessian (2m, 2m) at theta = (w, b)."""

    theta: Floats
    value: float
    gradient: Floats
    hessian: Floats


class Optimum(NamedTuple):
    """Where Newton's method stopped, and whether that is the only minimum."""

    point: Point
    unique: bool


def minimize(z: Floats, y: Codes, weight: Floats, start: Floats, ridge: float = 0.0) -> Optimum:
    """Minimise the mean loss + ridge/2 (|w - 1|^2 + |b|^2) by Newton's method.

    The loss is the negative log likelihood of the classes `y`; `z` (n, m) are finite, `weight`
    (n,) sums to 1. Where there is no minimum, the steps stay long while the loss converges.
    """
    task = (z, y, weight, start, ridge)
    (optimum,) = map_threads(_minimize, [task], None)  # for its one thread of BLAS
    return optimum


def _minimize(z: Floats, y: Codes, weight: Floats, start: Floats, ridge: float) -> Optimum:
    m = z.shape[1]
    scale = np.sqrt(weight @ (z * z))
    w, b = np.where(scale > 0, start[:m], 1.0), start[m:]  # of zeros no weight matters
    point = objective(z, y, weight, np.concatenate([w, b - b.mean()]), ridge)
    size = np.concatenate([scale, np.ones(m)])
    for _ in range(STEPS):
        step, pivot = newton_step(point)
        decrement = math.sqrt(max(-float(point.gradient @ step), 0.0))
        before, point = point, _search(z, y, weight, point, step, ridge)
        if decrement <= TOLERANCE or point is before:
            break
    longest = float(np.abs(step * size).max())
    return Optimum(point, longest < LARGE_STEP and pivot > SINGULAR)


def _search(z: Floats, y: Codes, weight: Floats, point: Point, step: Floats, ridge: float) -> Point:
    """Halve the step until the objective decreases enough, Armijo's rule."""
    slope = float(point.gradient @ step)
    for _ in range(60):
        trial = objective(z, y, weight, point.theta + step, ridge)
        if trial.value <= point.value + 1e-4 * slope + SLACK * abs(point.value):
            return trial
        step, slope = step / 2, slope / 2
    return point


def newton_step(point: Point) -> tuple[Floats, float]:
    """Return the Newton step, and the smallest pivot of the Hessian scaled to unit diagonal.

    The same number added to each b changes no probability: the step has no part along it.
    """
    scale, scaled = _scaled(point.hessian)
    solve, pivot = _factor(scaled)
    step: Floats = solve(-point.gradient / scale) / scale
    m = len(step) // 2
    step[m:] -= step[m:].mean()
    return step, pivot


def _factor(scaled: Floats) -> tuple[Callable[[Floats], Floats], float]:
    """Factor a matrix of unit diagonal that is positive definite up to rounding errors."""
    from scipy.linalg import LinAlgError, cho_solve, cholesky

    shift = SHIFT
    while True:
        try:
            shifted = scaled.copy()
            shifted[np.diag_indices(len(scaled))] += shift
            factor = cholesky(shifted, lower=True, overwrite_a=True)
        except LinAlgError:
            shift *= 100
            continue
        pivot = float(factor.diagonal().min()) ** 2 if shift == SHIFT else 0.0
        return partial(cho_solve, (factor, True)), pivot


def _scaled(hessian: Floats) -> tuple[Floats, Floats]:
    """Scale to unit diagonal, and make regular along what changes nothing."""
    diagonal = hessian.diagonal()
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = hessian / scale
    scaled /= scale[:, np.newaxis]
    m = len(scale) // 2
    null = scale[m:] / np.linalg.norm(scale[m:])
    scaled[m:, m:] += null * null[:, np.newaxis]
    scaled[diagonal <= 0, diagonal <= 0] = 1.0
    return scale, scaled


def variances(hessian: Floats) -> Floats:
    """Return the diagonal of the pseudo-inverse of the Hessian of a loss, for b with sum 0.

    It is infinite for a weight without influence, whose row is zero.
    """
    (diagonal,) = map_threads(_variances, [(hessian,)], None)  # for its one thread of BLAS
    return diagonal


def _variances(hessian: Floats) -> Floats:
    scale, scaled = _scaled(hessian)
    solve, _ = _factor(scaled)
    inverse = solve(np.eye(len(scale))) / scale / scale[:, np.newaxis]
    m = len(scale) // 2
    inverse[m:] -= inverse[m:].mean(axis=0)
    inverse[:, m:] -= inverse[:, m:].mean(axis=1, keepdims=True)
    return np.where(hessian.diagonal() > 0, inverse.diagonal(), np.inf)


def objective(z: Floats, y: Codes, weight: Floats, theta: Floats, ridge: float = 0.0) -> Point:
    """Return the mean loss plus the ridge penalty, with gradient and Hessian.

    The Hessian of the loss is -E[g g'], g = (p z, p), where both parameters are not of the same
    class, and otherwise E[p (1 - p) z^2], E[p (1 - p) z] and E[p (1 - p)]. These are the last
    three sums; the first two are the gradient, E[(p - e_y) z] and E[p - e_y].
    """
    m = z.shape[1]
    rows = max(PRODUCT // m, 2 * m)  # enough, since each product is as large as the Hessian
    parts = [slice(start, start + rows) for start in range(0, len(z), rows)]
    tasks = [(z[part], y[part], weight[part], theta) for part in parts]
    value, sums, hessian = 0.0, np.zeros((5, m)), np.zeros((2 * m, 2 * m))
    for loss, part_sums, product in map_threads(_part, tasks, None):
        value += loss
        sums += part_sums
        hessian -= product
    w = np.arange(m)
    b = w + m
    hessian[w, w], hessian[w, b], hessian[b, w], hessian[b, b] = sums[[2, 3, 3, 4]]
    gradient = sums[:2].ravel()
    if ridge:
        away = theta - np.repeat([1.0, 0.0], m)
        value += ridge / 2 * float(away @ away)
        gradient += ridge * away
        hessian[np.diag_indices(2 * m)] += ridge
    return Point(theta, value, gradient, hessian)


def _part(z: Floats, y: Codes, weight: Floats, theta: Floats) -> tuple[float, Floats, Floats]:
    """Return the loss, the sums of `_add` and the matrix product of some rows."""
    m = z.shape[1]
    value, sums, g = 0.0, np.zeros((5, m)), np.empty((len(z), 2 * m))
    size = max(1, BLOCK // m)
    for start in range(0, len(z), size):
        rows = slice(start, start + size)
        e, observed = _exponents(z[rows], y[rows], theta)
        # numpy's exponential is faster than one inside of a compiled loop.
        value += _add(z[rows], y[rows], weight[rows], np.exp(e, out=e), observed, sums, g[rows])
    return value, sums, g.T @ g


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc", "nnan"})
def _exponents(z: Floats, y: Codes, theta: Floats) -> tuple[Floats, Floats]:
    """Return w z + b minus its largest of each row, and that of the observed class."""
    n, m = z.shape
    e, observed = np.empty((n, m)), np.empty(n)
    for i in range(n):
        top = -np.inf
        for j in range(m):
            e[i, j] = theta[j] * z[i, j] + theta[m + j]
            top = max(top, e[i, j])
        for j in range(m):
            e[i, j] -= top
        observed[i] = e[i, y[i]]
    return e, observed


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"})
def _add(
    z: Floats, y: Codes, weight: Floats, e: Floats, observed: Floats, sums: Floats, g: Floats
) -> float:
    """Return the loss; add the sums that `objective` names; write the rows of g.

    1 - p is computed from the other classes where p is the largest, so that derivatives are
    accurate for predictions near 1 too. There e is 1, and it is overwritten.
    """
    m = z.shape[1]
    value = 0.0
    for i in range(z.shape[0]):
        top = 0
        while e[i, top] < 1.0:
            top += 1
        e[i, top] = 0.0
        rest = 0.0
        for j in range(m):
            rest += e[i, j]
        value += weight[i] * (np.log1p(rest) - observed[i])
        over, root = 1.0 / (1.0 + rest), np.sqrt(weight[i])
        for j in range(m):
            p = e[i, j] * over
            pw = p * weight[i]
            v = pw * (1.0 - p)
            sums[0, j] += pw * z[i, j]
            sums[1, j] += pw
            sums[2, j] += v * z[i, j] * z[i, j]
            sums[3, j] += v * z[i, j]
            sums[4, j] += v
            g[i, j] = root * p * z[i, j]
            g[i, m + j] = root * p
        t, k = z[i, top], y[i]
        v = weight[i] * rest * over * over
        sums[2, top] += v * t * t
        sums[3, top] += v * t
        sums[4, top] += v
        g[i, top] = root * over * t
        g[i, m + top] = root * over
        r = -weight[i] * rest * over if top == k else weight[i] * over
        sums[0, top] += r * t
        sums[1, top] += r
        if top != k:
            sums[0, k] -= weight[i] * z[i, k]
            sums[1, k] -= weight[i]
    return value
