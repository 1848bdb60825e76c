"""Bandwidths from predictions: the median or mean distance, or a median weighted by variance.

Every rule is a function of the predictions alone (and of the sample weights), never of the labels,
so that the exact null stays exact.
"""

from __future__ import annotations

import math

import numpy as np

from caltest.numerics.loops import njit
from caltest.types import Floats, Ints

# Up to this n a rule takes all pairs, beyond it PAIRS pairs drawn with a fixed seed. On a line the
# weighted median takes all pairs of up to ROWS_ON_LINE rows, drawn with a fixed seed where n is
# larger.
ALL_PAIRS_UP_TO = 2000
PAIRS = 1_000_000
ROWS_ON_LINE = 250_000
SEED = 0
# A smaller distance counts as 0: in units of it the square of another one would overflow.
NEGLIGIBLE = 1e-100
BRACKET = 1.0 + 1e-6  # bisection ends there, and the next distance is taken
ROUNDING = 1.0 + 1e-12  # a half of the weight may lie this much below it
WEIGHTED = "weighted-median"
WORDS = {WEIGHTED: "weighted median"}
OF_POSITIVE = "mean of the positive distances, since their {} is 0"
NO_DISTANCE = "set, since all distances are 0"


def rule_for(bandwidth: str, m: int) -> str:
    """Return the rule that stands for "auto", other rules as they are."""
    if bandwidth != "auto":
        return bandwidth
    return WEIGHTED if m == 2 else "median"


def residual_variances(probs: Floats, weight: Floats | None = None) -> Floats:
    """Return v_i = w_i sum_k p_ik (1 - p_ik) in units of the largest, 0 where none is positive.

    For two classes it is taken from both columns: neither end of the scale is rounded.
    """
    out = probs[:, 0] * probs[:, 1] if probs.shape[1] == 2 else (probs * (1 - probs)).sum(axis=1)
    if weight is not None:
        out = out * weight
    top = float(out.max(initial=0.0))
    return np.asarray(out / top if top > 0 else out)


def line_bandwidth(
    points: Floats, variance: Floats, unit: float, within: float = 0.0
) -> tuple[float, str] | None:
    """Return the variance-weighted median distance of points on a line, and the rule in words.

    It is the smallest distance d such that the pairs within d have half of the weight v_i v_j of
    all pairs i < j, in O(n log n). Where it is 0 it gives way to the weighted mean of the positive
    distances, and None is returned where no pair at a positive distance has weight. Where a point
    stands for many rows, `within` is the weight of their pairs, at distance 0.
    """
    kept = variance > 0
    order = np.argsort(points[kept])
    x, v = points[kept][order] * unit, variance[kept][order]
    below = np.append(0.0, np.cumsum(v)[:-1])  # no difference: a large v hides no small one
    positive = weight_beyond(x, v, below, NEGLIGIBLE) if x.size > 1 else 0.0
    if positive <= 0:
        return None
    half = ROUNDING * (float(v @ below) + within) / 2
    if positive <= half:
        above = np.cumsum(v[::-1])[::-1]  # no difference, which would round a small weight to 0
        total = float(np.diff(x) @ (below[1:] * above[1:]))
        return total / positive, OF_POSITIVE.format(WORDS[WEIGHTED])
    # Bisect for the smallest distance beyond which the weight is at most a half.
    low, high = NEGLIGIBLE, float(x[-1] - x[0])
    while high > low * BRACKET:
        middle = low * math.sqrt(high / low)
        beyond = weight_beyond(x, v, below, middle)
        low, high = (middle, high) if beyond > half else (low, middle)
    return float(next_distance(x, low)), WORDS[WEIGHTED]


def cell_bandwidth(
    rule: str, points: Floats, variance: Floats, size: Floats, unit: float
) -> tuple[float | None, str]:
    """Apply a rule to the pairs of rows of cells (C,), and return the bandwidth and the rule.

    Parameters
    ----------
    rule : str
        Not "auto".
    points : (C,) array
        Where the rows of a cell are on a line.
    variance : (C,) array
        The sum over the rows of a cell of their weights v.
    size : (C,) array
        Its number of rows.
    unit : float
        Of the distance.
    """
    if rule == WEIGHTED:
        within = 0.5 * float(np.square(variance) @ (1.0 - 1.0 / size))
        found = line_bandwidth(points, variance, unit, within)
        if found:
            return found
        rule = "median"
    pairs = 0.5 * float(size @ (size - 1.0))
    found = line_bandwidth(points, size, unit, pairs)
    if found is None:
        return None, NO_DISTANCE
    if rule == "mean":
        order = np.argsort(points)
        upto = np.cumsum(size[order])
        total = float(np.diff(points[order]) @ (upto[:-1] * (upto[-1] - upto[:-1]))) * unit
        return total / (0.5 * float(upto[-1] * (upto[-1] - 1.0))), rule
    return found[0], found[1].replace(WORDS[WEIGHTED], rule)


@njit()
def weight_beyond(x: Floats, v: Floats, below: Floats, d: float) -> float:
    """Sum v_i v_j over the pairs j < i of sorted points that are farther apart than d."""
    total, j = 0.0, 0
    for i in range(x.size):
        while x[i] - x[j] > d:
            j += 1
        total += v[i] * below[j]
    return total


@njit()
def next_distance(x: Floats, d: float) -> float:
    """Return the smallest distance of two sorted points that is larger than d."""
    smallest, j = np.inf, 0
    for i in range(x.size):
        while x[i] - x[j] > d:
            j += 1
        if j > 0:
            smallest = min(smallest, x[i] - x[j - 1])
    return smallest


def sampled_pairs(n: int) -> tuple[Ints, Ints]:
    """Draw `PAIRS` pairs i != j uniformly, the same for every call with this n."""
    rng = np.random.default_rng(SEED)
    left = rng.integers(0, n, PAIRS)
    right = (left + rng.integers(1, n, PAIRS)) % n
    return left, right


def pairs_by_variance(variance: Floats) -> tuple[Ints, Ints]:
    """Draw about `PAIRS` pairs i != j with chances proportional to v_i v_j, with a fixed seed."""
    cumulative = np.cumsum(variance)
    draws = np.random.default_rng(SEED).random((2, PAIRS)) * cumulative[-1]
    last = variance.size - 1
    left, right = np.minimum(np.searchsorted(cumulative, draws, side="right"), last)
    differ = left != right
    return left[differ], right[differ]


def bandwidth_by_rule(
    rule: str, distances: Floats, weights: Floats | None = None
) -> tuple[float | None, str]:
    """Return the median or mean of the distances over pairs, and the rule in words.

    Where the median is 0 (few distinct predictions) it is the mean of the positive distances, and
    None where there is none. `distances` may be reordered where no `weights` go with them.
    """
    words, value = WORDS.get(rule, rule), 0.0
    if distances.size and weights is not None:
        # The smallest distance within which the pairs have half of the weight.
        order = np.argsort(distances, kind="stable")
        total = np.cumsum(weights[order])
        value = distances[order[np.searchsorted(total * ROUNDING, total[-1] / 2)]]
    elif distances.size:  # pairs that were drawn by variance have equal weights
        value = distances.mean() if rule == "mean" else np.median(distances, overwrite_input=True)
    if value > NEGLIGIBLE:
        return float(value), words
    positive = distances > NEGLIGIBLE
    if positive.any() and (weights is None or weights[positive].any()):
        weights = None if weights is None else weights[positive]
        mean = float(np.average(distances[positive], weights=weights))
        return mean, OF_POSITIVE.format(words)
    return None, NO_DISTANCE
