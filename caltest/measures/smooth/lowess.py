"""Lowess of Cleveland (1979) as R computes it, a linear function of the labels.

The line fitted at a knot weighs the rows by the tricube of their distance. All that is needed of
the labels is linear in them, so that it is worked out once for given scores: a weight for every row
and knot where rows are few, else coefficients of the moments of the labels in cells between which
no weight changes its formula. A weight times a line is a polynomial of degree 10 there, so that the
moments lose nothing.
"""

from __future__ import annotations

import math

import numpy as np

from caltest.numerics.loops import njit
from caltest.types import Floats, Ints, Labels

Windows = tuple[Floats, Floats, Ints]  # knots, their radii and edges
Frames = tuple[Ints, Floats, Floats]  # where cells of rows start, their middles and half widths
# Of the radius: weights are 1 up to the first, 0 beyond the second (R).
FULL_WEIGHT_RADIUS, NO_WEIGHT_RADIUS = 0.001, 0.999
LEAST_SPREAD = 0.001  # of the range: rows nearer to each other are fitted by their mean (R)
DEGREES = 12  # 0 to 10, and 11 for the spread about the mean
REDUCE = {"contract", "nsz", "reassoc"}  # lets sums run in several chains


@njit()
def find_knots(x: Floats, delta: float) -> Floats:
    """Return the scores at which lines are fitted, from ascending scores.

    From each knot the next is the last score within `delta`, or else the next score; so rows
    between knots are near enough to interpolate.
    """
    n = x.size
    knots = [x[0]]
    last = np.searchsorted(x, x[0], side="right") - 1
    while last < n - 1:
        beyond = np.searchsorted(x, x[last] + delta, side="right")
        i = max(last + 1, beyond - 1)
        knots.append(x[i])
        last = np.searchsorted(x, x[i], side="right") - 1
    return np.array(knots)


@njit()
def find_radii(x: Floats, before: Floats, knots: Floats, k: int) -> Floats:
    """Return the distance from each knot to the farthest of its `k` nearest rows.

    `before` holds the number of rows before each score, and of all.
    """
    radii = np.empty(knots.size)
    for a in range(knots.size):
        low, high = 0, np.searchsorted(before, before[-1] - k, side="right") - 1
        while low < high:  # the first window of k rows that reaches at least as far to the right
            middle = (low + high) // 2
            right = np.searchsorted(before, before[middle] + k) - 1
            if knots[a] - x[middle] <= x[right] - knots[a]:
                high = middle
            else:
                low = middle + 1
        radii[a] = math.inf
        for first in range(max(low - 1, 0), low + 1):
            right = np.searchsorted(before, before[first] + k) - 1
            radii[a] = min(radii[a], max(knots[a] - x[first], x[right] - knots[a]))
    return radii


@njit()
def window_edges(x: Floats, knots: Floats, radii: Floats, near: float, far: float) -> Ints:
    """Return where the rows of each knot start that are left of it, near, right of it, and beyond.

    With h the radius, these are the first rows of distance at most `far` h and `near` h on the
    left, and of a distance above `near` h and `far` h on the right; (knots, 4).
    """
    edges = np.empty((knots.size, 4), np.int64)
    for a in range(knots.size):
        h = radii[a]
        for side, limit in enumerate((-far * h, -near * h, near * h, far * h)):
            low, high = 0, x.size
            while low < high:
                middle = (low + high) // 2
                distance = x[middle] - knots[a]
                if distance > limit or (side < 2 and distance == limit):
                    high = middle
                else:
                    low = middle + 1
            edges[a, side] = low
    return edges


# ---- few rows: a weight for every row -----------------------------------------------------------


@njit()
def row_weights(x: Floats, mass: Floats, windows: Windows) -> Floats:
    """Return the weight of every label in the line at every knot, (knots, n).

    A score stands for `mass` rows, the labels of which are added.
    """
    knots, radii, edges = windows
    weights = np.zeros((knots.size, x.size))
    spread = LEAST_SPREAD * (x[-1] - x[0])
    for a in range(knots.size):
        first, near, right, beyond = edges[a]
        w = weights[a]
        for i in range(first, beyond):
            w[i] = 1.0
            if i < near or i >= right:
                r = abs(x[i] - knots[a]) / radii[a]
                w[i] = (1.0 - r * r * r) ** 3
        w /= (w[first:beyond] * mass[first:beyond]).sum()
        mean = 0.0
        for i in range(first, beyond):
            mean += mass[i] * w[i] * (x[i] - knots[a])
        variance = 0.0
        for i in range(first, beyond):
            variance += mass[i] * w[i] * (x[i] - knots[a] - mean) ** 2
        if np.sqrt(variance) > spread:
            slope = -mean / variance
            for i in range(first, beyond):
                w[i] *= 1.0 + slope * (x[i] - knots[a] - mean)
    return weights


# ---- many rows: moments of cells ----------------------------------------------------------------


@njit()
def cell_frames(x: Floats, start: Ints) -> Frames:
    """Return the start, the middle and half the width of each cell of rows; 1 for a width of 0."""
    middle, half = np.empty(start.size - 1), np.ones(start.size - 1)
    for c in range(start.size - 1):
        low, high = x[start[c]], x[start[c + 1] - 1]
        middle[c] = 0.5 * (low + high)
        if high > low:
            half[c] = 0.5 * (high - low)
    return start, middle, half


@njit()
def cell_moments(x: Floats, labels: Labels | Floats, frames: Frames) -> Floats:
    """Return sum_i y_i t_i^d over each cell, t the place in [-1, 1]; (B, cells, DEGREES)."""
    start, middle, half = frames
    out = np.empty((labels.shape[0], start.size - 1, DEGREES))
    for b in range(labels.shape[0]):
        for c in range(start.size - 1):
            rows = slice(start[c], start[c + 1])
            _add_powers(x[rows], labels[b, rows], middle[c], 1.0 / half[c], out[b, c])
    return out


@njit(fastmath=REDUCE)
def _add_powers(x: Floats, y: Labels | Floats, middle: float, unit: float, out: Floats) -> None:
    m0 = m1 = m2 = m3 = m4 = m5 = m6 = m7 = m8 = m9 = m10 = m11 = 0.0
    for i in range(x.size):
        t = (x[i] - middle) * unit
        p = np.float64(y[i])
        m0 += p
        p *= t
        m1 += p
        p *= t
        m2 += p
        p *= t
        m3 += p
        p *= t
        m4 += p
        p *= t
        m5 += p
        p *= t
        m6 += p
        p *= t
        m7 += p
        p *= t
        m8 += p
        p *= t
        m9 += p
        p *= t
        m10 += p
        p *= t
        m11 += p
    # An array or a tuple as a whole would take longer to compile than all of this.
    out[0], out[1], out[2], out[3], out[4], out[5] = m0, m1, m2, m3, m4, m5
    out[6], out[7], out[8], out[9], out[10], out[11] = m6, m7, m8, m9, m10, m11


@njit()
def moment_weights(windows: Windows, frames: Frames, counts: Floats, spread: float) -> Floats:
    """Return the coefficient of every moment in the line at every knot, (knots, cells * DEGREES).

    `counts` (cells, DEGREES) are the moments of ones, and `spread` the least standard deviation of
    scores that a slope is fitted to.
    """
    (knots, radii, edges), (start, middle, half) = windows, frames
    cells = start.size - 1
    out = np.zeros((knots.size, cells, DEGREES))
    for a in range(knots.size):
        first = np.searchsorted(start, edges[a, 0])
        last = np.searchsorted(start, edges[a, 3])
        total = shifted = 0.0
        for c in range(first, last):
            _tricube(knots[a], radii[a], edges[a], start[c], middle[c], half[c], out[a, c])
            total += out[a, c] @ counts[c]
        for c in range(first, last):
            shifted += _times_line(out[a, c], middle[c] - knots[a], half[c]) @ counts[c]
        mean = shifted / total
        variance = 0.0
        for c in range(first, last):
            offset = middle[c] - knots[a] - mean
            once = _times_line(out[a, c], offset, half[c])
            variance += _times_line(once, offset, half[c]) @ counts[c]
        variance /= total
        slope = 0.0
        if np.sqrt(max(variance, 0.0)) > spread:
            slope = -mean / variance
        for c in range(first, last):
            level = 1.0 + slope * (middle[c] - knots[a] - mean)
            out[a, c] = _times_line(out[a, c], level, slope * half[c]) / total
    return out.reshape(knots.size, cells * DEGREES)


@njit()
def _tricube(
    knot: float, radius: float, edges: Ints, row: int, middle: float, half: float, out: Floats
) -> None:
    """Write the weight of the cell that starts at `row` as a polynomial of t in [-1, 1]."""
    out[:] = 0.0
    out[0] = 1.0
    if edges[1] <= row < edges[2]:
        return
    side = -1.0 if row < edges[1] else 1.0
    u, s = side * (middle - knot) / radius, side * half / radius
    cube = (1.0 - u * u * u, -3.0 * u * u * s, -3.0 * u * s * s, -s * s * s)
    for power in range(3):
        for d in range(3 * power + 3, -1, -1):
            value = 0.0
            for e in range(min(d, 3) + 1):
                value += cube[e] * out[d - e]
            out[d] = value


@njit()
def _times_line(polynomial: Floats, level: float, slope: float) -> Floats:
    """Return the polynomial times level + slope t; its highest coefficient must be 0."""
    out = level * polynomial
    out[1:] += slope * polynomial[:-1]
    return out


# ---- errors -------------------------------------------------------------------------------------


@njit(fastmath=REDUCE)
def row_errors(x: Floats, knots: Floats, start: Ints, deviations: Floats, out: Floats) -> None:
    """Write the absolute deviation of every row, interpolated between those of knots.

    `start` holds the first row at or above each knot, `deviations` (B, knots) and `out` (B, n).
    """
    for b in range(deviations.shape[0]):
        for a in range(knots.size - 1):
            low = deviations[b, a]
            slope = (deviations[b, a + 1] - low) / (knots[a + 1] - knots[a])
            for i in range(start[a], start[a + 1]):
                out[b, i] = abs(low + slope * (x[i] - knots[a]))
        out[b, start[-1] :] = abs(deviations[b, -1])


@njit(fastmath=REDUCE)
def mean_errors(x: Floats, size: Floats, knots: Floats, start: Ints, deviations: Floats) -> Floats:
    """Return the mean of what `row_errors` writes over scores that stand for `size` rows, (B,)."""
    out, rows = np.empty(deviations.shape[0]), size.sum()
    for b in range(deviations.shape[0]):
        total = abs(deviations[b, -1]) * size[start[-1] :].sum()
        for a in range(knots.size - 1):
            low = deviations[b, a]
            slope = (deviations[b, a + 1] - low) / (knots[a + 1] - knots[a])
            part = 0.0
            for i in range(start[a], start[a + 1]):
                part += size[i] * abs(low + slope * (x[i] - knots[a]))
            total += part
        out[b] = total / rows
    return out
