"""The softmax of scaled logits, however large, and the temperature that fits labels best."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from caltest.numerics.logistic import PLAIN, newton_sums
from caltest.numerics.loops import blocks, frozen, map_threads, njit
from caltest.types import Codes, Floats, Ints

Pair = tuple[float, float]
LARGEST_SCORE = 1e100  # its square and its products with any temperature or weight are finite


def bounded(z: Floats) -> Floats:
    """Return logits within 1e100 of 0, far beyond which probabilities are 0 or 1.

    A row with a larger logit is scaled, so that zeros stay; one that lies below as a whole is
    shifted. So the largest stays the largest, and what is then below -1e100 is raised to it.
    """
    if z.min() >= -LARGEST_SCORE and z.max() <= LARGEST_SCORE:
        return z
    top = z.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # to -inf, which is raised
        moved = z * (LARGEST_SCORE / np.maximum(top, LARGEST_SCORE)) - np.where(
            top < -LARGEST_SCORE, top, 0.0
        )
    return np.asarray(np.clip(moved, -LARGEST_SCORE, LARGEST_SCORE))


def softmax(z: Floats, w: Floats | float, b: Floats | float = 0.0) -> Floats:
    """Return the probabilities softmax(w z + b) of each row."""
    e = bounded(z) * w
    e += b
    e -= e.max(axis=1, keepdims=True)
    np.exp(e, out=e)
    e /= e.sum(axis=1, keepdims=True)
    return e


def smoothed_logs(z: Floats, beta: float, share: float) -> Floats:
    """Return the logarithms of softmax(beta z), mixed with a share of uniform probabilities."""
    probs = softmax(z, beta)
    probs *= 1 - share
    probs += share / z.shape[1]
    return np.log(probs, out=probs)


BLOCK = 2**15  # numbers that stay in the cache between the loops over them


PRODUCT = 2**19  # numbers of a matrix product, or of logs at a time


class Point(NamedTuple):
    """Objective, gradient (p,) and Hessian (p, p) at parameters, such as theta = (w, b)."""

    theta: Floats
    value: float
    gradient: Floats
    hessian: Floats


def curvature(z: Floats, weight: Floats, theta: Floats) -> Floats:
    """Return the Hessian of the loss, on which the labels have no influence."""
    return objective(z, np.zeros(len(z), np.int64), weight, theta).hessian


def objective(
    z: Floats, y: Codes, weight: Floats, theta: Floats, ridge: Floats | float = 0.0
) -> Point:
    """Return the mean loss plus ridge/2 theta^2, theta less (1, 0), with gradient and Hessian.

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
    if np.any(ridge):
        away = theta - np.repeat([1.0, 0.0], m)
        value += float(ridge / 2 * away @ away)
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
        seen = frozen(z[rows]), frozen(y[rows])
        e, observed = _exponents(*seen, theta)
        # numpy's exponential is faster than one inside of a compiled loop.
        value += _add(*seen, weight[rows], np.exp(e, out=e), observed, sums, g[rows])
    return value, sums, g.T @ g


@njit(fastmath={"contract", "nsz", "reassoc", "nnan"})
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


@njit(fastmath={"contract", "nsz", "reassoc"})
def _add(
    z: Floats, y: Codes, weight: Floats, e: Floats, observed: Floats, sums: Floats, g: Floats
) -> float:
    """Return the loss; add the sums that `objective` names; write the rows of g.

    1 - p is computed from the other classes where p is the largest, so that derivatives are
    accurate for predictions near 1 too. There e is 1.
    """
    m = z.shape[1]
    value = 0.0
    for i in range(z.shape[0]):
        top, rest = 0, 0.0
        while e[i, top] < 1.0:
            top += 1
        e[i, top] = 0.0
        for j in range(m):
            rest += e[i, j]
        e[i, top] = 1.0
        value += weight[i] * (np.log1p(rest) - observed[i])
        over, root = 1.0 / (1.0 + rest), np.sqrt(weight[i])
        for j in range(m):
            p, x = e[i, j] * over, z[i, j]
            others = rest * over if j == top else 1.0 - p
            r, v = weight[i] * (-others if j == y[i] else p), weight[i] * p * others
            sums[0, j] += r * x
            sums[1, j] += r
            sums[2, j] += v * x * x
            sums[3, j] += v * x
            sums[4, j] += v
            g[i, j] = root * p * x
            g[i, m + j] = root * p
    return value


# ---- one temperature, to the last digits ---------------------------------------------------------

FEW = 256  # rows that tell most often that nothing is separated
SAMPLE = 2**16  # numbers whose solution is a good start for more of them
TOLERANCE = 1e-8  # relative to beta: what remains after a Newton step of this size is rounding
EPSILON = 4e-16
STEPS = 200  # bisection alone takes about 60
SMALLEST_TEMPERATURE, LARGEST_TEMPERATURE = 1e-6, 1e6
RANGE = 1 / LARGEST_TEMPERATURE, 1 / SMALLEST_TEMPERATURE


class LogRows:
    """The logs of some rows of a matrix of probabilities, taken as they are read.

    Parameters
    ----------
    probs : (n, m) array
        The probabilities.
    rows : (R,) array
        Which rows.
    least : float
        What smaller probabilities count as.
    """

    def __init__(self, probs: Floats, rows: Ints, least: float) -> None:
        self.probs, self.rows, self.least = probs, rows, least
        self.shape = rows.size, probs.shape[1]
        self.size = rows.size * probs.shape[1]

    def __len__(self) -> int:
        return self.rows.size

    def __getitem__(self, some: slice) -> Floats:
        logs = self.probs[self.rows[some]]
        return np.log(np.maximum(logs, self.least, out=logs), out=logs)


def inverse_temperature(
    z: Floats | LogRows, y: Codes, weight: Floats, bounds: Pair = RANGE, start: float = 1.0
) -> Pair:
    """Return the beta within `bounds` of the least mean loss, and the curvature there.

    `z` (n, m) are finite, `weight` (n,) are positive. The loss, the negative log likelihood, is
    convex in beta; where it still decreases at a bound, the bound itself is returned.
    """
    if _separable(z[:FEW], y[:FEW]) and _separable(z, y):
        return bounds[1], 0.0
    every = -(-z.size // SAMPLE)
    if every > 1:
        rows = np.ascontiguousarray(z[::every])
        guess, _ = inverse_temperature(rows, y[::every], weight[::every].copy(), bounds, start)
        # A sample of separable rows has no optimum, and is no guide.
        start = guess if bounds[0] < guess < bounds[1] else start
    # Newton steps to a slope of 0, bisection where they leave the bracket or are slow.
    slopes, (least, most) = derivatives(z, y, weight), bounds
    low, high = 0.0, math.inf  # a bound belongs to the bracket once it was tried
    beta = min(max(start, least), most)
    before, last = math.inf, math.inf  # the sizes of the last two steps
    for _ in range(STEPS):
        slope, curvature = slopes(beta)
        if slope == 0 or (beta >= most if slope < 0 else beta <= least):
            break
        low, high = (low, beta) if slope > 0 else (beta, high)
        newton = beta - slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        if newton >= most and high == math.inf:
            target = most
        elif newton <= least and low == 0:
            target = least
        elif low < newton < high and abs(newton - beta) < 0.9 * before:
            target = newton
        else:
            target = math.sqrt(max(low, least)) * math.sqrt(min(high, most))
        before, last = last, abs(target - beta)
        beta = target
        if last <= (TOLERANCE if target == newton else EPSILON) * beta:
            break
    return beta, curvature


def _observed(z: Floats, y: Codes) -> Floats:
    return np.asarray(z[np.arange(len(z)), y])


def _separable(z: Floats | LogRows, y: Codes) -> bool:
    """Return whether each observed class has the largest logit of its row: beta is infinite."""
    parts = ((z[rows], y[rows]) for rows in blocks(len(z), max(1, PRODUCT // z.shape[1])))
    return all((_observed(logits, own) >= logits.max(axis=1)).all() for logits, own in parts)


def derivatives(z: Floats | LogRows, y: Codes, weight: Floats) -> Callable[[float], Pair]:
    """Return the function of beta that gives both derivatives of the weighted mean loss.

    They are the means of E_p[z] - z_y and of Var_p[z] where p = softmax(beta z).
    """
    total = float(weight.sum())
    if z.shape[1] == 2:
        # With the logit a of the other class less that of the observed one, log(1 + exp(beta a)).
        both = z[:]
        a = both[:, 1] - both[:, 0]
        a *= 1.0 - 2.0 * y
        slope, curvature = np.empty(1), np.empty((1, 1))

        def of_two(beta: float) -> Pair:
            newton_sums(np.array([beta]), a[np.newaxis], weight, PLAIN, slope, curvature)
            return float(slope[0]) / total, float(curvature[0, 0]) / total

        return of_two
    top, observed = np.empty(len(z)), np.empty(len(z))
    parts = list(blocks(len(z), max(1, BLOCK // (z.shape[1] // 2))))
    for rows in parts:
        logits = z[rows]
        np.max(logits, axis=1, out=top[rows])
        np.subtract(_observed(logits, y[rows]), top[rows], out=observed[rows])

    def of_more(beta: float) -> Pair:
        sums = []
        for rows in parts:
            # numpy's exponential is faster than one inside of a compiled loop.
            d = z[rows] - top[rows, np.newaxis]
            e = beta * d
            sums.append(_sums(d, np.exp(e, out=e), observed[rows], weight[rows]))
        return math.fsum(s[0] for s in sums) / total, math.fsum(s[1] for s in sums) / total

    return of_more


@njit(fastmath={"contract", "nsz", "reassoc"})
def _sums(d: Floats, e: Floats, observed: Floats, weight: Floats) -> Pair:
    """Sum both derivatives; d = z less the largest logit of its row, e = exp(beta d)."""
    slope = curvature = 0.0
    for i in range(d.shape[0]):
        s0 = s1 = s2 = 0.0
        for j in range(d.shape[1]):
            s0 += e[i, j]
            s1 += e[i, j] * d[i, j]
            s2 += e[i, j] * d[i, j] * d[i, j]
        mean = s1 / s0
        slope += weight[i] * (mean - observed[i])
        curvature += weight[i] * max(s2 / s0 - mean * mean, 0.0)
    return slope, curvature
