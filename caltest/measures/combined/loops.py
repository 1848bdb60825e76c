"""Sums over labels for the components of the combined test: arrays in, arrays out."""

import numpy as np

from caltest.numerics.loops import njit
from caltest.types import Events, Floats, Ints, Labels

ROWS = 256  # at a time
CACHED = 1 << 15  # numbers that stay in the cache of the processor
RESOLUTION = 1e-13  # of a distance, relative


@njit(fastmath={"contract", "reassoc", "nsz"})
def bin_sums(observed: Labels, shift: Floats, scale: Floats, limits: Ints) -> Floats:
    """Return the sums of scale (observed - shift), (B, bins), from each limit to the next."""
    size = observed.shape[0]
    out = np.zeros((size, limits.size - 1))
    for b in range(size):
        for j in range(limits.size - 1):
            inside = slice(limits[j], limits[j + 1])
            seen, less, factor = observed[b, inside], shift[inside], scale[inside]
            total = 0.0
            for i in range(seen.size):
                total += factor[i] * (seen[i] - less[i])
            out[b, j] = total
    return out


@njit()
def chances_below(probs: Floats, limits: Floats) -> Floats:
    """Return the sums of the probabilities of a row that are below each limit, (n, limits)."""
    n, m = probs.shape
    out = np.zeros((n, limits.size))
    for i in range(n):
        for k in range(m):
            for j in range(limits.size):
                if probs[i, k] >= limits[j]:
                    break
                out[i, j] += probs[i, k]
    return out


@njit()
def cell_extremes(
    labels: Labels, weight: Floats, cells: Events, expected: Floats, scale: Floats, largest: Floats
) -> None:
    """Write for each class the largest partial sum of w (1[y = k] - p_k) over its cells, scaled.

    `cells` (n, m) are numbered in ascending order of p_k; `expected` (m, cells) has their
    sums of w p_k, and `largest` (B, m) receives the result.
    """
    size, n = labels.shape
    m, bins = expected.shape
    total = np.empty((m, bins))
    for b in range(size):
        for k in range(m):
            for j in range(bins):
                total[k, j] = -expected[k, j]
        for i in range(n):
            k = labels[b, i]
            total[k, cells[i, k]] += weight[i]
        for k in range(m):
            carried = most = 0.0
            for j in range(bins):
                carried += total[k, j]
                most = max(most, abs(carried))
            largest[b, k] = most / scale[k]


@njit()
def confusion_sums(
    labels: Labels, top: Ints, weight: Floats, expected: Floats, precision: Floats
) -> Floats:
    """Return sum over pairs of classes of (O - E)^2 x precision, (B,).

    O is the weight of the rows that are predicted to be the first class, numbered by `top` (n,)
    among those that are predicted, and are the second. Only cells that a row falls into are
    touched: O^2 grows by (2 O + w) w with each row.
    """
    size, n = labels.shape
    constant = 0.0
    for a in range(expected.shape[0]):
        for k in range(expected.shape[1]):
            constant += expected[a, k] * expected[a, k] * precision[a, k]
    out = np.full(size, constant)
    seen = np.zeros(expected.shape)
    for b in range(size):
        total = 0.0
        for i in range(n):
            a, k, w = top[i], labels[b, i], weight[i]
            total += precision[a, k] * w * (2.0 * (seen[a, k] - expected[a, k]) + w)
            seen[a, k] += w
        for i in range(n):
            seen[top[i], labels[b, i]] = 0.0
        out[b] += total
    return out


@njit(fastmath={"contract", "reassoc", "nsz"})
def feature_norms(labels: Labels, features: Floats, expected: Floats) -> Floats:
    """Return sum_k |sum_i features_i (1[y_i = k] - p_ik)|^2, (B,).

    `features` are (n, J), and `expected` (m, J) is the sum of p_ik times them. Rows are taken some
    at a time, so that theirs stay in the cache.
    """
    size, n = labels.shape
    m, width = expected.shape
    total = np.zeros((size, m, width))
    few = max(1, CACHED // (m * width))  # resamples
    for first in range(0, size, few):
        for start in range(0, n, ROWS):
            some = features[start : start + ROWS]
            for b in range(first, min(first + few, size)):
                own, sums = labels[b, start : start + ROWS], total[b]
                for i in range(own.size):
                    row, added = sums[own[i]], some[i]
                    for j in range(width):
                        row[j] += added[j]
    out = np.zeros(size)
    for b in range(size):
        for k in range(m):
            for j in range(width):
                out[b] += (total[b, k, j] - expected[k, j]) ** 2
    return out


@njit()
def add_label_tables(
    labels: Labels,
    tables: Ints,
    top: Ints,
    line: Ints,
    cells: Events,
    ranks: Labels,
    temperatures: Ints,
    root_sums: Ints,
    log_sums: Ints,
    confusions: Ints,
    hits: Ints,
    curves: Ints,
    places: Ints,
) -> None:
    """Add what the label of each row adds to sums (B, ...), for the labels (B, c).

    Of `tables` (c, m, 3) the first goes to the predicted class `top` (c,), in `temperatures`
    (B, m), the second to `root_sums` (B,), the third to the class, in `log_sums` (B, m). Counted
    are the label with the predicted class, hits by the cell of the confidence, `line` (c,), labels
    by the cell of their probability, `cells` (c, m), and by their rank (c, m). Rows are taken some
    at a time, so that theirs stay in the cache.
    """
    for start in range(0, labels.shape[1], ROWS):
        end = min(start + ROWS, labels.shape[1])
        for b in range(labels.shape[0]):
            row, logs, pairs, place = labels[b], log_sums[b], confusions[b], places[b]
            warm, hit, curve = temperatures[b], hits[b], curves[b]
            total = 0
            for i in range(start, end):
                k, a = row[i], top[i]
                own = tables[i, k]
                warm[a] += own[0]
                total += own[1]
                logs[k] += own[2]
                pairs[a, k] += 1
                if k == a:
                    hit[line[i]] += 1
                curve[k, cells[i, k]] += 1
                place[ranks[i, k]] += 1
            root_sums[b] += total


@njit()
def median_distance(ordered: Floats) -> float:
    """Return the median distance between sorted points."""
    pairs = ordered.size * (ordered.size - 1) // 2
    if pairs == 0:
        return 0.0
    low = _distance_of_rank(ordered, (pairs - 1) // 2)
    return low if pairs % 2 else 0.5 * (low + _distance_of_rank(ordered, pairs // 2))


@njit()
def _distance_of_rank(x: Floats, rank: int) -> float:
    """Return the distance of two sorted points that `rank` others are below, by bisection."""
    low, high = 0.0, float(x[-1] - x[0])
    if _pairs_within(x, low) > rank:
        return low
    while high - low > RESOLUTION * high:
        centre = 0.5 * (low + high)
        if _pairs_within(x, centre) > rank:
            high = centre
        else:
            low = centre
    return high


@njit()
def _pairs_within(x: Floats, distance: float) -> int:
    """Count the pairs of sorted points that are no farther apart."""
    pairs = end = 0
    for i in range(x.size):
        while end < x.size and x[end] <= x[i] + distance:
            end += 1
        pairs += end - i - 1
    return pairs
