"""Sums over labels for the components of the combined test: arrays in, arrays out."""

from typing import NamedTuple

import numpy as np

from caltest.numerics.class_sums import moved_rows
from caltest.numerics.loops import njit
from caltest.types import Events, Floats, Hashes, Ints, Labels, SmallInts

ROWS = 512  # at a time
CACHED = 1 << 15  # numbers that stay in the cache of the processor
PACKED = 16  # bits of a number of rows
LEAST_LOG = -12.0  # of the scores of a class: a probability of 6e-6
UNIT = 1 << 20  # of what a label adds
WHOLE = 1 << 22  # of what a row adds, whatever its label
ROOT = 1 << 10  # of p^(-1/2), which is at most 10^6
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
def feature_sums(labels: Labels, features: Floats, m: int) -> Floats:
    """Return the sums of `features` (n, J) over the rows of each label, (B, m, J).

    Rows are taken some at a time, so that theirs stay in the cache.
    """
    (size, n), width = labels.shape, features.shape[1]
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
    return total


class LabelRows(NamedTuple):
    """What some rows, 2^16 at most, add by their label beyond what the predicted class adds.

    Attributes
    ----------
    tables : (c, m, 3) array
        What goes to `temperatures` of the cell of the confidence; to `roots`; and to `logs` of the
        class.
    top : (c,) array
        The predicted class. Rows with the same are best next to each other.
    own : (c,) array
        What `logs` of that class lose.
    line : (c,) array
        The cell of the confidence.
    cells, ranks : (c, m) array
        The cell of the probability of each class, and its rank.
    """

    tables: SmallInts
    top: Labels
    own: Ints
    line: Hashes
    cells: Events
    ranks: Labels


class LabelSums(NamedTuple):
    """The sums for B vectors of labels, or what these add beyond the predicted classes.

    Attributes
    ----------
    temperatures : (B, L) array
        By the cell of the confidence.
    roots : (B,) array
    logs : (B, m) array
        By class.
    confusions : (B, m, m) array
        Labels by predicted class and class.
    hits : (B, L) array
        Labels that are predicted, by the cell of the confidence.
    curves : (B, m, cells) array
        Labels of each class by the cell of its probability.
    places : (B, R) array
        Labels by their rank.
    """

    temperatures: Ints
    roots: Ints
    logs: Ints
    confusions: Ints
    hits: Ints
    curves: Ints
    places: Ints


class RowSums(NamedTuple):
    """Sums over rows that do not depend on labels, in units of 2^-22, and numbers of rows.

    The variance v of a label is p (1 - p); its log is no less than -12.

    Attributes
    ----------
    rows, confidence, variance, spread : (L,) array
        By the cell of the confidence: how many, the confidence, v of it, and the variance of the
        log of what happens.
    probs, variances : (m, m) array
        p and v, by predicted class and class.
    logs, log_variances, log_squares : (m,) array
        p log p, v log p, and v log^2 p.
    root : (1,) array
        The mean of 1 / sqrt(p) of what happens.
    chance, pairs : (R,) and (R, R) array
        The probability of each rank, and products of two of them.
    counts, curves : (m, cells) array
        By the cell of the probability of each class: how many, and p.
    """

    rows: Ints
    confidence: Ints
    variance: Ints
    spread: Ints
    probs: Ints
    variances: Ints
    logs: Ints
    log_variances: Ints
    log_squares: Ints
    root: Ints
    chance: Ints
    pairs: Ints
    counts: Ints
    curves: Ints


@njit()
def _whole(value: float, unit: int = WHOLE) -> np.int64:
    """Return a value in whole numbers of its unit."""
    return np.int64(np.rint(value * unit))


@njit()
def ranks_of(probs: Floats, count: int) -> tuple[Events, Floats]:
    """Return the rank (n, m) of each class of a row, the last for all beyond, and their chances.

    Of classes that are equally probable, the first comes first.
    """
    n, m = probs.shape
    last = count - 1
    ranks, chance = np.full((n, m), last, np.uint8), np.empty((n, count))
    for i in range(n):
        rest = 1.0
        for r in range(last):
            best = -1
            for k in range(m):
                if ranks[i, k] == last and (best < 0 or probs[i, k] > probs[i, best]):
                    best = k
            ranks[i, best], chance[i, r] = r, probs[i, best]
            rest -= probs[i, best]
        chance[i, last] = max(rest, 0.0)
    return ranks, chance


@njit()
def label_rows(
    probs: Floats,
    top: Labels,
    logs: Floats,
    roots: Floats,
    line: Floats,
    curves: Floats,
    sums: RowSums,
    predicted: LabelSums,
) -> LabelRows:
    """Add rows to sums, and return what their labels will add.

    Parameters
    ----------
    probs : (c, m) array
        The probabilities.
    top : (c,) array
        The predicted class.
    logs, roots : (c, m) array
        The logs of the probabilities, and p^(-1/2).
    line, curves : (L - 1,) and (m, cells - 1) array
        The ends of the cells of the confidence and of each class.
    sums : RowSums
        To which the rows are added.
    predicted : LabelSums
        Likewise, as if the predicted class were each one's label: of one vector of labels.
    """
    n, m = probs.shape
    tables, own = np.empty((n, m, 3), np.int32), np.empty(n, np.int64)
    place, cells = np.empty(n, np.uint64), np.empty((n, m), np.uint8)
    ranks, chances = ranks_of(probs, sums.chance.size)
    for i in range(n):
        a, chance = top[i], chances[i]
        c = chance[0]
        j = np.searchsorted(line, c)
        mean = root = spread = 0.0
        for k in range(m):
            mean += probs[i, k] * logs[i, k]
        level, rise = _whole(logs[i, a] - mean, UNIT), _whole(roots[i, a], ROOT)
        for k in range(m):
            p, centred, slope = probs[i, k], logs[i, k] - mean, max(logs[i, k], LEAST_LOG)
            v, cell, table = p * (1.0 - p), np.searchsorted(curves[k], p), tables[i, k]
            root += p * roots[i, k]
            spread += p * centred * centred
            table[0] = np.int32(_whole(centred, UNIT) - level)
            table[1] = np.int32(_whole(roots[i, k], ROOT) - rise)
            table[2] = np.int32(_whole(slope, UNIT))
            cells[i, k] = cell
            sums.counts[k, cell] += 1
            sums.curves[k, cell] += _whole(p)
            sums.probs[a, k] += _whole(p)
            sums.variances[a, k] += _whole(v)
            sums.logs[k] += _whole(p * slope)
            sums.log_variances[k] += _whole(v * slope)
            sums.log_squares[k] += _whole(v * slope * slope)
        sums.rows[j] += 1
        sums.confidence[j] += _whole(c)
        sums.variance[j] += _whole(c * (1.0 - c))
        sums.spread[j] += _whole(spread)
        sums.root[0] += _whole(root)
        for r in range(chance.size):
            sums.chance[r] += _whole(chance[r])
            for s in range(chance.size):
                sums.pairs[r, s] += _whole(chance[r] * chance[s])
        place[i], own[i] = j, tables[i, a, 2]
        predicted.temperatures[0, j] += level
        predicted.roots[0] += rise
        predicted.logs[0, a] += own[i]
        predicted.confusions[0, a, a] += 1
        predicted.hits[0, j] += 1
        predicted.curves[0, a, cells[i, a]] += 1
        predicted.places[0, 0] += 1
    return LabelRows(tables, top, own, place, cells, ranks)


@njit()
def add_label_tables(labels: Labels, rows: LabelRows, sums: LabelSums) -> None:
    """Add what the label of each row adds beyond the predicted class to sums, for labels (B, c).

    Rows are taken some at a time, so that theirs stay in the cache. What goes to a cell of the
    confidence or a class is added together with the number of rows, one in the high bits and one
    in the low.
    """
    size, n = labels.shape
    moved, packed = np.empty(ROWS, np.uint16), np.zeros(sums.hits.shape, np.int64)
    by_class = np.zeros(sums.logs.shape[1], np.int64)
    start = 0
    while start < n:
        a, end = rows.top[start], start + 1
        while end < min(start + ROWS, n) and rows.top[end] == a:
            end += 1
        top, tables, lost = rows.top[start:end], rows.tables[start:end], rows.own[start:end]
        line, cells, ranks = rows.line[start:end], rows.cells[start:end], rows.ranks[start:end]
        for b in range(size):
            row, logs, pairs = labels[b, start:end], sums.logs[b], sums.confusions[b, a]
            warm, curve, place = packed[b], sums.curves[b], sums.places[b]
            total = less = 0
            before, count = curve[a], moved_rows(row, top, moved)
            for i in moved[:count]:
                k = row[i]
                own = tables[i, k]
                warm[line[i]] += (np.int64(own[0]) << PACKED) + 1
                total += own[1]
                by_class[k] += (np.int64(own[2]) << PACKED) + 1
                less += lost[i]
                curve[k, cells[i, k]] += 1
                before[cells[i, a]] -= 1
                place[ranks[i, k]] += 1
            sums.roots[b] += total
            for k in range(by_class.size):
                logs[k] += by_class[k] >> PACKED
                pairs[k] += by_class[k] & ((1 << PACKED) - 1)
                by_class[k] = 0
            logs[a] -= less
            pairs[a] -= count
            place[0] -= count
        start = end
    for b in range(size):
        warm, hits, some = sums.temperatures[b], sums.hits[b], packed[b]
        for j in range(some.size):
            warm[j] += some[j] >> PACKED
            hits[j] -= some[j] & ((1 << PACKED) - 1)


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
