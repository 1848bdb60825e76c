r"""Smoothing on [0, 1] with the reflected Gaussian kernel, the heat kernel of the interval.

.. math::
    K_\sigma(s, t) = \sum_{j \in Z} \phi_\sigma(s - t + 2j) + \phi_\sigma(s + t + 2j)
    = 1 + 2 \sum_{k \ge 1} e^{-k^2 \pi^2 \sigma^2 / 2} \cos(k \pi s) \cos(k \pi t),

so the smoothed residuals :math:`\hat r_\sigma(t) = \sum_i r_i K_\sigma(t, p_i)` are a cosine series
with the coefficients :math:`a_k = \sum_i r_i \cos(k \pi p_i)`, damped.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Labels = NDArray[np.unsignedinteger]

DAMPED = 8.6  # exp(-8.6^2 / 2) is half the precision of a double
TOLERANCE = 1e-10
BLOCK = 512  # points whose rotations stay in the L1 cache


@njit()
def cells(ordered: Floats, size: int) -> tuple[Indices, Floats]:
    """Return where each of `size` equal cells of [0, 1] starts, and the place of points in theirs.

    The points are in ascending order; a point of the last cell may have place 1.
    """
    start, place = np.zeros(size + 1, np.int64), np.empty(ordered.size)
    for i in range(ordered.size):
        cell = min(int(ordered[i] * size), size - 1)
        place[i] = ordered[i] * size - cell
        start[cell + 1] += 1
    for cell in range(size):
        start[cell + 1] += start[cell]
    return start, place


@njit(fastmath={"contract", "nsz", "reassoc"})
def residual_sums(labels: Labels, weight: Floats, score: Floats) -> tuple[float, float]:
    """Return the sums of w (y - p) and of its modulus."""
    signed = absolute = 0.0
    for i in range(score.size):
        r = weight[i] * (labels[i] - score[i])
        signed += r
        absolute += abs(r)
    return signed, absolute


@njit(fastmath={"contract", "nsz", "reassoc"})
def spread(
    values: Floats | Labels, weight: Floats, start: Indices, place: Floats, out: Floats
) -> None:
    """Spread weighted values over the four nodes around each point, by cubic interpolation.

    Any smooth function has the same sum over the nodes as over the points, up to the fourth power
    of the width of a cell. The nodes outside are reflected, as the kernel is. `out` has the
    size + 1 nodes of the cells.
    """
    size = start.size - 1
    out[:] = 0.0
    for cell in range(size):
        s0 = s1 = s2 = s3 = 0.0
        for i in range(start[cell], start[cell + 1]):
            v, x = weight[i] * values[i], place[i]
            s0 += v
            s1 += v * x
            s2 += v * x * x
            s3 += v * x * x * x
        _add_to_nodes(out, cell, s0, s1, s2, s3)


@njit(fastmath={"contract", "nsz", "reassoc"})
def spread_residuals(labels: Labels, weight: Floats, score: Floats, out: Floats) -> None:
    """Spread the residuals w (y - p) of rows in any order over the nodes, as `spread` does."""
    size = out.size - 1
    sums = np.zeros((size, 4))
    for i in range(score.size):
        cell = min(int(score[i] * size), size - 1)
        r, x = weight[i] * (labels[i] - score[i]), score[i] * size - cell
        sums[cell, 0] += r
        sums[cell, 1] += r * x
        sums[cell, 2] += r * x * x
        sums[cell, 3] += r * x * x * x
    out[:] = 0.0
    for cell in range(size):
        _add_to_nodes(out, cell, sums[cell, 0], sums[cell, 1], sums[cell, 2], sums[cell, 3])


@njit(inline="always")
def _add_to_nodes(out: Floats, cell: int, s0: float, s1: float, s2: float, s3: float) -> None:
    """Spread the values of a cell, given by the sums of v x^k over it, over the four nodes."""
    size = out.size - 1
    out[abs(cell - 1)] += (3.0 * s2 - s3 - 2.0 * s1) / 6.0
    out[cell] += (s3 - 2.0 * s2 - s1 + 2.0 * s0) / 2.0
    out[cell + 1] += (s2 - s3 + 2.0 * s1) / 2.0
    out[size - abs(size - cell - 2)] += (s3 - s1) / 6.0


@njit(fastmath={"contract", "nsz", "reassoc"})
def cosine_sums(points: Floats, residuals: Floats, size: int) -> Floats:
    """Return a_k for k = 0 to `size`, in O(n size), by rotating each point through its angles."""
    out = np.zeros(size + 1)
    for first in range(0, points.size, BLOCK):
        angle = math.pi * points[first : first + BLOCK]
        re, im = residuals[first : first + BLOCK].copy(), np.zeros(angle.size)
        cosine, sine = np.cos(angle), np.sin(angle)
        for k in range(size + 1):
            total = 0.0
            for i in range(angle.size):
                total += re[i]
                turned = re[i] * cosine[i] - im[i] * sine[i]
                im[i] = im[i] * cosine[i] + re[i] * sine[i]
                re[i] = turned
            out[k] += total
    return out


def grid_coefficients(nodes: Floats) -> Floats:
    """Return a_k for k = 0 to the number of cells, for masses on the nodes of a grid."""
    masses = nodes / 2.0
    masses[[0, -1]] *= 2.0
    return np.asarray(scipy.fft.dct(masses, type=1))


def damped(coefficients: Floats, bandwidth: float, size: int) -> Floats:
    """Return the coefficients of the smoothed residuals, cut or padded to k = 0 to `size`."""
    last = min(size, coefficients.size - 1, math.ceil(DAMPED / (math.pi * bandwidth)))
    out = np.zeros(size + 1)
    k = np.arange(last + 1)
    out[: last + 1] = coefficients[: last + 1]
    out[: last + 1] *= np.exp(-0.5 * np.square((math.pi * bandwidth) * k))
    return out


def integral_on_grid(coefficients: Floats, bandwidth: float) -> float:
    """Return the integral of the absolute smoothed residuals from their values on a grid."""
    size = coefficients.size - 1
    return float(corrected_trapezoid(scipy.fft.dct(damped(coefficients, bandwidth, size), type=1)))


@njit()
def corrected_trapezoid(g: Floats) -> float:
    r"""Return the integral of |g| over [0, 1] from equidistant values, g' = 0 at both ends.

    Where g is smooth and its slope vanishes at the ends, the trapezoidal rule is exact to all
    orders. A kink at the share :math:`\theta` of a cell of width h adds
    :math:`h^2 |g'| (\theta (1 - \theta) - 1/6)` (Euler and Maclaurin), which is subtracted.
    """
    h = 1.0 / (g.size - 1)
    total = 0.5 * (abs(g[0]) + abs(g[-1]))
    for j in range(g.size - 1):
        if j > 0:
            total += abs(g[j])
        if g[j] * g[j + 1] < 0.0:
            a, b = abs(g[j]), abs(g[j + 1])
            total -= (a + b) * (a * b / (a + b) ** 2 - 1.0 / 6.0)
    return float(total * h)


def integral_between_roots(coefficients: Floats, bandwidth: float) -> float:
    """Return the integral of the absolute smoothed residuals to the precision of doubles.

    The roots are bracketed on a grid of 32 cells a bandwidth, solved for, and the antiderivative
    taken between them.
    """
    size = 1 << max(5, math.ceil(math.log2(32.0 / bandwidth)))
    b = damped(coefficients, bandwidth, size)
    b = b[: np.flatnonzero(b)[-1] + 1] if b.any() else b[:1]
    grid = np.zeros(size + 1)
    grid[: b.size] = b
    return float(_between_roots(b, scipy.fft.dct(grid, type=1)))


@njit()
def _between_roots(b: Floats, g: Floats) -> float:
    h = 1.0 / (g.size - 1)
    noise = 1e-13 * np.abs(g).max()
    total, left, last = 0.0, 0.0, -1
    for j in range(g.size):
        if abs(g[j]) <= noise:
            continue
        if last >= 0 and g[last] * g[j] < 0.0:
            # Signs may change somewhere in a stretch of rounding noise.
            t = _root(b, last * h, j * h, g[last]) if last == j - 1 else 0.5 * (last + j) * h
            right = _series(b, t)[2]
            total += abs(right - left)
            left = right
        last = j
    return float(total + abs(b[0] - left))


@njit()
def _series(b: Floats, t: float) -> tuple[float, float, float]:
    """Return value, slope and antiderivative of b_0 + 2 sum_k b_k cos(k pi t)."""
    value, slope, area = b[0], 0.0, b[0] * t
    cosine, sine = math.cos(math.pi * t), math.sin(math.pi * t)
    c, s = 1.0, 0.0
    for k in range(1, b.size):
        c, s = c * cosine - s * sine, s * cosine + c * sine
        w = k * math.pi
        value += 2.0 * b[k] * c
        slope -= 2.0 * b[k] * s * w
        area += 2.0 * b[k] * s / w
    return value, slope, area


@njit()
def _root(b: Floats, low: float, high: float, at_low: float) -> float:
    """Solve by Newton steps inside a shrinking bracket."""
    t = 0.5 * (low + high)
    for _ in range(60):
        value, slope, _ = _series(b, t)
        if value * at_low > 0.0:
            low = t
        else:
            high = t
        step = t - value / slope if slope != 0.0 else low
        following = step if low < step < high else 0.5 * (low + high)
        if abs(following - t) <= 1e-15:
            break
        t = following
    return t


def fixed_point(function: Callable[[float], float], start: float, floor: float) -> float | None:
    """Solve f(x) = x for a positive, non-increasing f; None where the solution is below `floor`.

    Secant steps for log f(x) - log x against log x, whose slope lies in [-2, -1] as a rule, inside
    the bracket that monotony gives: the solution lies between x and f(x).
    """
    x = max(start, floor)
    low, high, slope = 0.0, math.inf, -1.3
    before: tuple[float, float] | None = None
    for _ in range(200):
        value = function(x)
        if x <= floor and value < x:
            return None
        low, high = max(low, min(x, value)), min(high, max(x, value))
        if high - low <= TOLERANCE * high:
            break
        u, gap = math.log(x), math.log(value / x) if value > 0.0 else -1.0
        if before is not None and before[0] != u:
            slope = min(-1.0, (gap - before[1]) / (u - before[0]))
        before = (u, gap)
        step = math.exp(u - gap / slope)
        x = max(floor, step if low < step < high else math.sqrt(max(low, floor) * high))
    return 0.5 * (low + high)
