"""The temperature at which a softmax fits labels best, to the last digits."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from caltest.numerics.logistic import PLAIN, newton_sums
from caltest.numerics.loops import njit
from caltest.types import Codes, Floats

Pair = tuple[float, float]
Derivatives = Callable[[float], Pair]
BLOCK = 2**15  # numbers that stay in the cache between the loops over them
FEW = 256  # rows that tell most often that nothing is separated
SAMPLE = 2**16  # numbers whose solution is a good start for more of them
TOLERANCE = 1e-8  # relative to beta: what remains after a Newton step of this size is rounding
EPSILON = 4e-16
STEPS = 200  # bisection alone takes about 60
SMALLEST_TEMPERATURE, LARGEST_TEMPERATURE = 1e-6, 1e6
RANGE = 1 / LARGEST_TEMPERATURE, 1 / SMALLEST_TEMPERATURE


def inverse_temperature(
    z: Floats, y: Codes, weight: Floats, bounds: Pair = RANGE, start: float = 1.0
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


def _separable(z: Floats, y: Codes) -> bool:
    """Return whether each observed class has the largest logit of its row: beta is infinite."""
    return bool((z[np.arange(len(z)), y] >= z.max(axis=1)).all())


def derivatives(z: Floats, y: Codes, weight: Floats) -> Derivatives:
    """Return the function of beta that gives both derivatives of the weighted mean loss.

    They are the means of E_p[z] - z_y and of Var_p[z] where p = softmax(beta z).
    """
    total = float(weight.sum())
    if z.shape[1] == 2:
        # With the logit a of the other class less that of the observed one, log(1 + exp(beta a)).
        a = z[:, 1] - z[:, 0]
        a *= 1.0 - 2.0 * y
        slope, curvature = np.empty(1), np.empty((1, 1))

        def of_two(beta: float) -> Pair:
            newton_sums(np.array([beta]), a[np.newaxis], weight, PLAIN, slope, curvature)
            return float(slope[0]) / total, float(curvature[0, 0]) / total

        return of_two
    top = z.max(axis=1)
    observed = z[np.arange(len(z)), y] - top
    size = max(1, BLOCK // (z.shape[1] // 2))

    def of_more(beta: float) -> Pair:
        sums = []
        for start in range(0, len(z), size):
            rows = slice(start, start + size)
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
