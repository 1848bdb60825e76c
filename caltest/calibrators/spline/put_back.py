"""A recalibrated score put back into its row of probabilities.

The new row x is the one nearest to the old row p, in the Kullback-Leibler divergence
sum x log(x / p), among those that have the new score and the old order of the classes. Classes that
the order does not touch keep their proportions; the others become equal, up to a few units in the
last place.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit

Floats = NDArray[np.float64]

HALVINGS = 60
RANK_ROUNDING = np.finfo(np.float64).eps  # a rank has more than those after it
TILT = 4 * RANK_ROUNDING  # between equal classes, so that they still have their order


@njit()
def put_back_rank(probs: Floats, order: NDArray[np.int64], r: int, g: Floats) -> Floats:
    """Return rows whose r-th largest probability is g, as near to it as the order allows.

    `order` (n, r + 1) holds the classes of the largest probabilities, or all m of them. No
    probability is zero.
    """
    n, m = probs.shape
    rows = np.empty((n, m))
    for i in range(n):
        own = order[i, r - 1]
        new = min(max(g[i], RANK_ROUNDING), 1 / r) if r > 1 else max(g[i], 1 / m)
        others = 0.0  # not 1 - p: they may be much smaller than its rounding error
        for j in range(m):
            others += probs[i, j] if j != own else 0.0
        for j in range(m):
            rows[i, j] = probs[i, j] / others * (1 - new)
        rows[i, own] = new
        above = r == 1 or rows[i, order[i, r - 2]] >= new
        below = r == m or rows[i, order[i, r]] <= new
        if not (above and below):
            _fill_around(rows[i], probs[i], r, new)
        _keep_first(rows[i], order[i, 0])
    return rows


@njit()
def put_back_sum(probs: Floats, order: NDArray[np.int64], r: int, g: Floats) -> Floats:
    """Return rows whose r largest probabilities sum to g, but at least to r / m."""
    n, m = probs.shape
    rows = np.empty((n, m))
    for i in range(n):
        new = max(g[i], r / m)
        inside = outside = 0.0
        rows[i] = probs[i]
        for k in range(r):
            inside += probs[i, order[i, k]]
            rows[i, order[i, k]] = 0.0
        for j in range(m):
            outside += rows[i, j]
        for j in range(m):
            rows[i, j] = rows[i, j] / outside * (1 - new)
        for k in range(r):
            rows[i, order[i, k]] = probs[i, order[i, k]] / inside * new
        if rows[i, order[i, r - 1]] < rows[i, order[i, r]]:
            _fill_both(rows[i], probs[i], r, new)
        _keep_first(rows[i], order[i, 0])
    return rows


@njit()
def _keep_first(row: Floats, first: int) -> None:
    """Keep the predicted class where others are equal to it, up to rounding."""
    largest = row.argmax()
    if largest != first:
        row[first] = np.nextafter(row[largest], 2.0)


@njit()
def _fill_around(row: Floats, p: Floats, r: int, g: float) -> None:
    """Set the r-th class to g, those before it to max(c p, g), those after it to min(c p, g)."""
    m = p.size
    order = np.argsort(-p, kind="mergesort")
    q = p[order]
    before, after = _sums_before(q), _sums_from(q)
    first, last = r - 1, r  # the classes first to last - 1 are equal to g
    c = _factor(1 - g, before[first] + after[last])
    while first > 0 and c * q[first - 1] < g:
        first -= 1
        c = _factor(1 - (last - first) * g, before[first] + after[last])
    while first == r - 1 and last < m and c * q[last] > g:
        last += 1
        c = _factor(1 - (last - first) * g, before[first] + after[last])
    for k in range(m):
        row[order[k]] = g * (1 - TILT * (k - r + 1)) if first <= k < last else c * q[k]


@njit()
def _fill_both(row: Floats, p: Floats, r: int, g: float) -> None:
    """Set the first r classes to max(a p, L) and the others to min(c p, L), with the best L.

    The divergence is least where the sum of log(L / (a p)) over the raised classes equals that of
    log(c p / L) over the lowered ones.
    """
    m = p.size
    order = np.argsort(-p, kind="mergesort")
    q = p[order]
    before, after = _sums_before(q), _sums_from(q)
    low, high = (1 - g) / (m - r), g / r
    for _ in range(HALVINGS):
        level = math.sqrt(low * high)
        a, f = _raise(q, before, r, g, level)
        c, e = _lower(q, after, r, 1 - g, level)
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
    a, f = _raise(q, before, r, g, level)
    c, e = _lower(q, after, r, 1 - g, level)
    for k in range(m):
        tied = level * (1 - TILT * (k - r))
        row[order[k]] = tied if f <= k < e else (a if k < f else c) * q[k]


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


@njit()
def _sums_before(q: Floats) -> Floats:
    return np.append(0.0, np.cumsum(q))


@njit()
def _sums_from(q: Floats) -> Floats:
    """Return the sums from each place on, the smallest added first."""
    return np.append(0.0, np.cumsum(q[::-1]))[::-1]
