"""A recalibrated score put back into its row of probabilities.

The new row x is the one nearest to the old row p, in the Kullback-Leibler divergence
sum x log(x / p), among those that have the new score and the old order of the classes. Classes that
the order does not touch keep their proportions; the others become equal, up to a few units in the
last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from caltest.numerics.loops import njit
from caltest.types import Floats, Ints

HALVINGS = 60
RANK_ROUNDING = np.finfo(np.float64).eps  # a rank has more than those after it
TILT = 4 * RANK_ROUNDING  # between equal classes, so that they still have their order


def put_back_rank(probs: Floats, order: Ints, r: int, g: Floats) -> Floats:
    """Return rows whose r-th largest probability is g, as near to it as the order allows.

    `order` (n, r + 1) holds the classes of the largest probabilities, or all m of them. No
    probability is zero.
    """
    n, m = probs.shape
    every, own = np.arange(n), order[:, r - 1]
    new = np.clip(g, RANK_ROUNDING, 1 / r) if r > 1 else np.maximum(g, 1 / m)
    others = probs.copy()  # not 1 - p: they may be much smaller than its rounding error
    others[every, own] = 0.0
    rows: Floats = others / others.sum(axis=1, keepdims=True) * (1 - new)[:, np.newaxis]
    rows[every, own] = new
    broken = np.zeros(n, dtype=bool)
    if r > 1:
        broken |= rows[every, order[:, r - 2]] < new
    if r < m:
        broken |= rows[every, order[:, r]] > new
    if broken.any():
        rows[broken] = _refilled(_fill_around, probs[broken], r, new[broken])
    _keep_first(rows, order[:, 0])
    return rows


def put_back_sum(probs: Floats, order: Ints, r: int, g: Floats) -> Floats:
    """Return rows whose r largest probabilities sum to g, but at least to r / m."""
    n, m = probs.shape
    every, first = np.arange(n), order[:, :r]
    new = np.maximum(g, r / m)
    inside = np.take_along_axis(probs, first, axis=1)
    rows = probs.copy()
    np.put_along_axis(rows, first, 0.0, axis=1)
    rows *= ((1 - new) / rows.sum(axis=1))[:, np.newaxis]
    inside *= (new / inside.sum(axis=1))[:, np.newaxis]
    np.put_along_axis(rows, first, inside, axis=1)
    broken = rows[every, order[:, r - 1]] < rows[every, order[:, r]]
    if broken.any():
        rows[broken] = _refilled(_fill_both, probs[broken], r, new[broken])
    _keep_first(rows, order[:, 0])
    return rows


def _keep_first(rows: Floats, first: Ints) -> None:
    """Keep the predicted class where others are equal to it, up to rounding."""
    largest = rows.argmax(axis=1)
    moved = np.flatnonzero(largest != first)
    rows[moved, first[moved]] = np.nextafter(rows[moved, largest[moved]], 2.0)


def _refilled(fill: Callable[..., None], p: Floats, r: int, g: Floats) -> Floats:
    """Fill rows of their probabilities p in falling order, and return them in that of p."""
    order = np.argsort(-p, axis=1, kind="stable")
    q = np.take_along_axis(p, order, axis=1)
    sums = np.zeros((2, len(p), p.shape[1] + 1))
    sums[0, :, 1:] = q.cumsum(axis=1)  # those before each place, and from it on
    sums[1, :, :-1] = q[:, ::-1].cumsum(axis=1)[:, ::-1]  # the smallest added first
    filled = np.empty_like(q)
    fill(filled, q, *sums, r, g)
    rows = np.empty_like(q)
    np.put_along_axis(rows, order, filled, axis=1)
    return rows


@njit()
def _fill_around(
    rows: Floats, probs: Floats, before: Floats, after: Floats, r: int, score: Floats
) -> None:
    """Set the r-th class to g, those before it to max(c p, g), those after it to min(c p, g)."""
    n, m = probs.shape
    for i in range(n):
        g = score[i]
        first, last = r - 1, r  # the classes first to last - 1 are equal to g
        c = _factor(1 - g, before[i, first] + after[i, last])
        while first > 0 and c * probs[i, first - 1] < g:
            first -= 1
            c = _factor(1 - (last - first) * g, before[i, first] + after[i, last])
        while first == r - 1 and last < m and c * probs[i, last] > g:
            last += 1
            c = _factor(1 - (last - first) * g, before[i, first] + after[i, last])
        for k in range(m):
            tied = g * (1 - TILT * (k - r + 1))
            rows[i, k] = tied if first <= k < last else c * probs[i, k]


@njit()
def _fill_both(
    rows: Floats, probs: Floats, before: Floats, after: Floats, r: int, total: Floats
) -> None:
    """Set the first r classes to max(a p, L) and the others to min(c p, L), with the best L.

    The divergence is least where the sum of log(L / (a p)) over the raised classes equals that of
    log(c p / L) over the lowered ones.
    """
    n, m = probs.shape
    for i in range(n):
        q, g = probs[i], total[i]
        low, high = (1 - g) / (m - r), g / r
        for _ in range(HALVINGS):
            level = math.sqrt(low * high)
            a, f = _raise(q, before[i], r, g, level)
            c, e = _lower(q, after[i], r, 1 - g, level)
            balance = 0.0
            for k in range(f, r):
                balance += math.log(level / (a * q[k])) if f > 0 else math.inf
            for k in range(r, e):
                balance -= math.log(c * q[k] / level) if e < m else math.inf
            if balance > 0:
                high = level
            else:
                low = level
        level = math.sqrt(low * high)
        a, f = _raise(q, before[i], r, g, level)
        c, e = _lower(q, after[i], r, 1 - g, level)
        for k in range(m):
            tied = level * (1 - TILT * (k - r))
            rows[i, k] = tied if f <= k < e else (a if k < f else c) * q[k]


@njit()
def _raise(q: Floats, before: Floats, r: int, mass: float, level: float) -> tuple[float, int]:
    """Return a and f such that a q_k for k < f and the level for f <= k < r have the mass."""
    f = r
    a = _factor(mass, before[r])
    while f > 0 and a * q[f - 1] < level:
        f -= 1
        a = _factor(mass - (r - f) * level, before[f])
    return a, f


@njit()
def _lower(q: Floats, after: Floats, r: int, mass: float, level: float) -> tuple[float, int]:
    """Return c and e such that the level for r <= k < e and c q_k for k >= e have the mass."""
    e = r
    c = _factor(mass, after[r])
    while e < q.size and c * q[e] > level:
        e += 1
        c = _factor(mass - (e - r) * level, after[e])
    return c, e


@njit()
def _factor(mass: float, total: float) -> float:
    return max(mass / total, 0.0) if total > 0 else 0.0
