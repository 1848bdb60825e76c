"""Distances between mean labels and mean predictions in bins, for many redrawn labels at a time.

The rows are sorted by bin. The labels of the rows are counted one by one: the number of events in a
bin is a sum of Bernoulli variables with unequal probabilities, whose variance sum p (1 - p) is
smaller than that of a binomial variable with their mean, so that drawing counts from the binomial
law would give a null distribution that is too wide. (The exact law of the sum can be had by
convolution, but only for one bin and class at a time: it does not know sample weights, the
dependence between classes, or bins that depend on the labels.)
"""

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.bins import bin_of
from caltest.numerics.compiled import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.unsignedinteger]

TV, CITYBLOCK, SQEUCLIDEAN, DEBIASED = range(4)
COPIES = 4  # sums kept side by side, as equal bins in a row would wait for each other


def uniform_sums(event: Floats, labels: Ints, weight: Floats | None, bins: int) -> Floats:
    """Return the sums of weight, event probability, label and squared weight, (bins, 4).

    Event probabilities and labels are weighted; the bins have equal width.
    """
    sums = np.zeros((COPIES, bins, 4))
    _add_to_bins(event, labels, weight, sums)
    if weight is None:
        sums[:, :, 3] = sums[:, :, 0]
    return np.asarray(sums.sum(axis=0))


@njit()
def _add_to_bins(event: Floats, labels: Ints, weight: Floats | None, sums: Floats) -> None:
    bins = sums.shape[1]
    for i in range(event.size):
        p = event[i]
        k = np.uint64(bin_of(p, float(bins)))
        copy = np.uint64(i % COPIES)
        w = 1.0
        if weight is not None:
            w = weight[i]
        sums[copy, k, 0] += w
        sums[copy, k, 1] += w * p
        sums[copy, k, 2] += w * labels[i]
        if weight is not None:
            sums[copy, k, 3] += w * w


@njit()
def event_sums(
    event: Floats, labels: Ints, weight: Floats | None, cells: Ints, count: int
) -> Floats:
    """Return the same sums for `count` bins of which the rows have the numbers `cells`."""
    sums = np.zeros((count, 4))
    for i in range(event.size):
        w = 1.0
        if weight is not None:
            w = weight[i]
        c = cells[i]
        sums[c, 0] += w
        sums[c, 1] += w * event[i]
        sums[c, 2] += w * labels[i]
        sums[c, 3] += w * w
    return sums


@njit()
def cell_sums(rows: Floats, weight: Floats | None, start: Ints) -> Floats:
    """Return the weighted sums of the rows of `rows` (n, m) in each cell, (cells, m)."""
    out = np.zeros((start.size - 1, rows.shape[1]))
    for c in range(start.size - 1):
        for i in range(start[c], start[c + 1]):
            w = 1.0
            if weight is not None:
                w = weight[i]
            for k in range(rows.shape[1]):
                out[c, k] += w * rows[i, k]
    return out


@njit()
def event_counts(labels: Labels, weight: Floats | None, start: Ints) -> Floats:
    """Return the weighted number of events in each cell for each row of `labels`, (B, cells)."""
    out = np.empty((labels.shape[0], start.size - 1))
    for b in range(labels.shape[0]):
        row = labels[b]
        for c in range(start.size - 1):
            if weight is None:
                count = np.int64(0)
                for i in range(start[c], start[c + 1]):
                    count += np.int64(row[i])
                out[b, c] = count
            else:
                total = 0.0
                for i in range(start[c], start[c + 1]):
                    total += weight[i] * row[i]
                out[b, c] = total
    return out


@njit()
def event_errors(
    counts: Floats,
    mass: Floats,
    mean: Floats,
    share: Floats,
    correction: Floats,
    kind: int,
    power: float,
) -> Floats:
    """Return (sum_c share_c d_c^power)^(1/power) for each row of `counts` (B, cells).

    `mass` (cells,) and `mean` (cells,) are those of the event probabilities; `share` is the part of
    each cell in the sum. The maximum where the power is infinite.
    """
    out = np.empty(counts.shape[0])
    for b in range(counts.shape[0]):
        total = largest = 0.0
        for c in range(mass.size):
            d = event_distance(counts[b, c] / mass[c], mean[c], correction[c], kind)
            total, largest = add_power(total, largest, share[c], d, power)
        out[b] = power_root(total, largest, power)
    return out


@njit(inline="always")
def event_distance(y: float, p: float, correction: float, kind: int) -> float:
    """Return the distance of (1 - y, y) to (1 - p, p)."""
    gap = abs(y - p)
    if kind == TV:
        return gap
    if kind == CITYBLOCK:
        return 2.0 * gap
    if kind == SQEUCLIDEAN:
        return 2.0 * gap * gap
    return gap * gap - correction * y * (1.0 - y)  # debiased: of the events, not of both classes


@njit()
def simplex_errors(
    labels: Labels,
    weight: Floats | None,
    start: Ints,
    mass: Floats,
    mean: Floats,
    share: Floats,
    correction: Floats,
    kind: int,
    power: float,
) -> Floats:
    """Return what `event_errors` returns for more than two classes; `mean` is (cells, m).

    A distance is a sum over classes. It begins with its value for no labels at all, and is
    corrected for the classes that occur, so that a resample costs O(n) for any number of classes.
    """
    cells, m = mean.shape
    none = np.empty(cells)
    for c in range(cells):
        none[c] = _without_labels(mean[c], correction[c], kind)
    out, count = np.empty(labels.shape[0]), np.zeros(m)
    for b in range(labels.shape[0]):
        total = largest = 0.0
        for c in range(cells):
            for i in range(start[c], start[c + 1]):
                if weight is None:
                    count[labels[b, i]] += 1.0
                else:
                    count[labels[b, i]] += weight[i]
            d = none[c]
            for i in range(start[c], start[c + 1]):
                k = labels[b, i]
                if count[k] > 0.0:
                    d += _with_label(count[k] / mass[c], mean[c, k], correction[c], kind)
                    count[k] = 0.0
            if kind != DEBIASED:
                d = max(d, 0.0)  # rounding
            total, largest = add_power(total, largest, share[c], d, power)
        out[b] = power_root(total, largest, power)
    return out


@njit()
def _without_labels(mean: Floats, correction: float, kind: int) -> float:
    if kind == TV:
        return 0.5 * float(mean.sum())
    if kind == CITYBLOCK:
        return float(mean.sum())
    squares = float(np.square(mean).sum())
    return squares - correction if kind == DEBIASED else squares


@njit(inline="always")
def _with_label(y: float, p: float, correction: float, kind: int) -> float:
    """Return the change of the distance where the mean label of a class is y instead of 0."""
    if kind == TV:
        return 0.5 * (abs(y - p) - p)
    if kind == CITYBLOCK:
        return abs(y - p) - p
    change = (y - p) ** 2 - p * p
    return change + correction * y * y if kind == DEBIASED else change


@njit(inline="always")
def add_power(
    total: float, largest: float, share: float, d: float, power: float
) -> tuple[float, float]:
    """Add share d^power to a total that is kept in units of largest^power, against underflow.

    Returns the total and the largest distance so far.
    """
    if power == 1.0:
        return total + share * d, largest
    if share == 0.0 or d == 0.0:
        return total, largest
    if power == np.inf:
        return total, max(d, largest)
    if d > largest:
        return total * (largest / d) ** power + share, d
    return total + share * (d / largest) ** power, largest


@njit(inline="always")
def power_root(total: float, largest: float, power: float) -> float:
    """Return the mean of a power, in units of the distance."""
    if power == 1.0:
        return total
    return largest if power == np.inf else float(largest * total ** (1.0 / power))
