"""The likelihood of softmax(beta z) in the inverse temperature beta, and its maximum."""

from __future__ import annotations

import math
from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


Codes = NDArray[np.int64]


Pair = tuple[float, float]


Derivatives = Callable[[float], Pair]


BLOCK = 2**15  # numbers that stay in the cache between the loops over them


SAMPLE = 2**16  # numbers whose solution is a good start for more of them


TOLERANCE = 1e-8  # relative to beta: what remains after a Newton step of this size is rounding


EPSILON = 4e-16


STEPS = 200  # bisection alone takes about 60


def inverse_temperature(
    z: Floats, y: Codes, weight: Floats, bounds: Pair, start: float = 1.0
) -> Pair:
    """Return the beta within `bounds` of the least mean loss, and the curvature there.

    `z` (n, m) are finite, `weight` (n,) are positive. The loss, the negative log likelihood, is
    convex in beta; where it still decreases at a bound, the bound itself is returned.
    """
    if _separable(z, y):
        return bounds[1], 0.0
    every = -(-z.size // SAMPLE)
    if every > 1:
        rows = np.ascontiguousarray(z[::every])
        guess, _ = inverse_temperature(rows, y[::every], weight[::every], bounds, start)
        # A sample of separable rows has no optimum, and is no guide.
        start = guess if bounds[0] < guess < bounds[1] else start
    return _root(derivatives(z, y, weight), start, bounds)


@numba.njit(nogil=True, cache=True)
def _separable(z: Floats, y: Codes) -> bool:
    """Return whether each observed class has the largest logit of its row: beta is infinite."""
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            if z[i, j] > z[i, y[i]]:
                return False
    return True


def _root(slopes: Derivatives, start: float, bounds: Pair) -> Pair:
    """Solve slope = 0 by Newton steps, by bisection where they leave the bracket or are slow."""
    least, most = bounds
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


def derivatives(z: Floats, y: Codes, weight: Floats) -> Derivatives:
    """Return the function of beta that gives both derivatives of the weighted mean loss.

    They are the means of E_p[z] - z_y and of Var_p[z] where p = softmax(beta z).
    """
    block = _binary_block(z, y, weight) if z.shape[1] == 2 else _block(z, y, weight)
    rows = max(1, BLOCK // (z.shape[1] // 2))
    total = float(weight.sum())

    def both(beta: float) -> Pair:
        sums = [block(slice(start, start + rows), beta) for start in range(0, len(z), rows)]
        return math.fsum(s[0] for s in sums) / total, math.fsum(s[1] for s in sums) / total

    return both


def _block(z: Floats, y: Codes, weight: Floats) -> Callable[[slice, float], Pair]:
    top = z.max(axis=1)

    def sums(rows: slice, beta: float) -> Pair:
        # numpy's exponential is faster than one inside of a compiled loop.
        e = _exponents(z[rows], top[rows], beta)
        return _sums(z[rows], top[rows], np.exp(e, out=e), y[rows], weight[rows])

    return sums


def _binary_block(z: Floats, y: Codes, weight: Floats) -> Callable[[slice, float], Pair]:
    a = _margins(z, y)

    def sums(rows: slice, beta: float) -> Pair:
        e = np.abs(a[rows])
        e *= -beta
        return _binary_sums(a[rows], np.exp(e, out=e), weight[rows])

    return sums


@numba.njit(nogil=True, cache=True)
def _margins(z: Floats, y: Codes) -> Floats:
    """Return the logit of the other of two classes minus that of the observed one."""
    a = np.empty(len(z))
    for i in range(len(z)):
        a[i] = z[i, 1 - y[i]] - z[i, y[i]]
    return a


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"})
def _binary_sums(a: Floats, e: Floats, weight: Floats) -> Pair:
    """Sum both derivatives of log(1 + exp(beta a)) from e = exp(-beta |a|)."""
    slope = curvature = 0.0
    for i in range(a.size):
        upper = 1.0 / (1.0 + e[i])  # the larger of the two probabilities
        other = upper if a[i] > 0 else e[i] * upper
        slope += weight[i] * (a[i] * other)
        curvature += weight[i] * (a[i] * a[i] * (e[i] * upper * upper))
    return slope, curvature


@numba.njit(nogil=True, cache=True)
def _exponents(z: Floats, top: Floats, beta: float) -> Floats:
    e = np.empty(z.shape)
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            e[i, j] = beta * (z[i, j] - top[i])
    return e


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"})
def _sums(z: Floats, top: Floats, e: Floats, y: Codes, weight: Floats) -> Pair:
    """Sum both derivatives; e = exp(beta (z - top)) with the largest logit of each row."""
    slope = curvature = 0.0
    for i in range(z.shape[0]):
        s0 = s1 = s2 = 0.0
        for j in range(z.shape[1]):
            d = z[i, j] - top[i]
            s0 += e[i, j]
            s1 += e[i, j] * d
            s2 += e[i, j] * d * d
        mean = s1 / s0
        slope += weight[i] * (mean - (z[i, y[i]] - top[i]))
        curvature += weight[i] * max(s2 / s0 - mean * mean, 0.0)
    return slope, curvature
