"""Bins of predictions, equal in width or in mass, and the errors in bins for any labels."""

from __future__ import annotations

import numpy as np

from caltest.numerics.loops import frozen, njit
from caltest.types import Floats, Ints, Labels

EMPTY = -1
EDGE_ROUNDING = 1e-15  # relative rounding of a product, with room to spare
COPIES = 4  # sums kept side by side, as equal bins in a row would wait for each other


@njit(inline="always")
def bin_of(p: float, bins: float) -> int:
    """Return the bin of p among `bins` of equal width, right-closed, 0 in the first.

    The edges are the doubles k / bins, so that 0.7 lies in (0.6, 0.7] for ten bins. The rounded
    product tells the bin unless it is next to an integer; then the edges are compared.
    """
    t = p * bins
    k = int(t)
    if t - k < EDGE_ROUNDING * bins or t - k > 1.0 - EDGE_ROUNDING * bins:
        if p <= k / bins:
            k -= 1
        elif p > (k + 1) / bins:
            k += 1
        k = max(k, 0)
    return k


@njit()
def uniform_bins(probs: Floats, bins: int, out: Labels) -> None:
    """Write the bin of every probability of `probs` (n, m) to `out` (n, m)."""
    for i in range(probs.shape[0]):
        for j in range(probs.shape[1]):
            out[i, j] = bin_of(probs[i, j], float(bins))


@njit()
def cell_numbers(codes: Labels) -> tuple[Ints, int]:
    """Number the distinct rows of `codes` (n, m) in order of appearance.

    Returns the number of each row, and how many there are. Only the occupied ones of bins^m cells
    are ever stored: rows are looked up by hash, and compared where the hashes agree.
    """
    n = codes.shape[0]
    size = 2
    while size < 2 * n:
        size *= 2
    slots = np.full(size, EMPTY, np.int64)  # the first row with the cell
    cells = np.empty(n, np.int64)
    count = 0
    for i in range(n):
        at = _hash(codes[i]) & (size - 1)
        while slots[at] != EMPTY and not _equal(codes[slots[at]], codes[i]):
            at = (at + 1) & (size - 1)
        if slots[at] == EMPTY:
            slots[at] = i
            cells[i] = count
            count += 1
        else:
            cells[i] = cells[slots[at]]
    return cells, count


@njit(inline="always")
def _hash(row: Labels) -> int:
    """Mix the codes of a row by multiplication and shift (Fowler-Noll-Vo with a final stir)."""
    h = np.uint64(14695981039346656037)
    for code in row:
        h = (h ^ np.uint64(code)) * np.uint64(1099511628211)
    h ^= h >> np.uint64(32)
    return int((h * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20))


@njit(inline="always")
def _equal(left: Labels, right: Labels) -> bool:
    for j in range(left.size):  # noqa: SIM110 - numba compiles no generator
        if left[j] != right[j]:
            return False
    return True


def quantile_cuts(values: Floats, weight: Floats | None, bins: int) -> Floats:
    """Return the cuts between at most `bins` bins of equal mass, from the sorted `values`.

    Bin k is (q_(k-1), q_k] with q_k the smallest value whose share of the mass reaches k / bins, so
    that ties are never split; of quantiles that coincide one stays.
    """
    if weight is None:
        last = -(np.arange(1, bins) * values.size // -bins) - 1
    else:
        mass = np.cumsum(weight)
        shares = np.arange(1, bins) / bins * mass[-1]
        last = np.searchsorted(mass, shares * (1 - 1e-12))  # rounded sums must not miss it
    return np.unique(values[last[values[last] < values[-1]]])


def sort_by_cell(cells: Ints, count: int) -> tuple[Ints, Ints]:
    """Order the rows by cell, rows of a cell as they came; also where each cell starts."""
    start = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=count))])
    # NumPy sorts integers of 16 bits by counting.
    keys = cells.astype(np.uint16) if count <= 1 << 16 else cells
    return np.argsort(keys, kind="stable"), start


def order_of_probs(p: Floats) -> Ints:
    """Return the order of probabilities (n,), equal ones as they came; by their first bits before.

    A sort of what is nearly in order takes less than half of the time.
    """
    near = np.argsort((p * float((1 << 16) - 1)).astype(np.uint16), kind="stable")
    return near[np.argsort(p[near], kind="stable")]


def uniform_sums(event: Floats, labels: Ints, weight: Floats | None, bins: int) -> Floats:
    """Return the sums of weight, event probability, label and squared weight, (bins, 4).

    Event probabilities and labels are weighted; the bins have equal width.
    """
    weight = np.ones(event.size) if weight is None else weight
    # Sums along an axis would take longer to compile than all of the loop.
    return np.asarray(_copies(frozen(event), frozen(labels), frozen(weight), bins).sum(axis=0))


@njit()
def _copies(event: Floats, labels: Ints, weight: Floats, bins: int) -> Floats:
    """Return the sums of `uniform_sums`, of `COPIES` parts."""
    sums = np.zeros((COPIES, bins, 4))
    for i in range(event.size):
        p, w = event[i], weight[i]
        k, copy = np.uint64(bin_of(p, float(bins))), np.uint64(i % COPIES)
        sums[copy, k, 0] += w
        sums[copy, k, 1] += w * p
        sums[copy, k, 2] += w * labels[i]
        sums[copy, k, 3] += w * w
    return sums


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
def class_lengths(
    labels: Labels,
    weight: Floats | None,
    start: Ints,
    mass: Floats,
    mean: Floats,
    correction: Floats,
    none: Floats,
    unit: float,
    *,
    is_square: bool,
) -> Floats:
    """Return the distance of labels to predictions of m classes in each cell, (B, cells).

    `mean` is (cells, m). A distance is a sum over classes. It begins with its value for no labels
    at all, `none` (cells,), and is corrected for the classes that occur, so that a resample costs
    O(n) for any number of classes.
    """
    out, count = np.empty((labels.shape[0], mass.size)), np.zeros(mean.shape[1])
    for b in range(labels.shape[0]):
        for c in range(mass.size):
            for i in range(start[c], start[c + 1]):
                if weight is None:
                    count[labels[b, i]] += 1.0
                else:
                    count[labels[b, i]] += weight[i]
            d = none[c]
            for i in range(start[c], start[c + 1]):
                k = labels[b, i]
                if count[k] > 0.0:
                    y, p = count[k] / mass[c], mean[c, k]
                    if is_square:
                        d += unit * y * (y - 2.0 * p) + correction[c] * y * y
                    else:
                        d += unit * (abs(y - p) - p)
                    count[k] = 0.0
            out[b, c] = d
    return out


def power_means(values: Floats, share: Floats, power: float, first: Ints) -> Floats:
    """Return (sum share d^power)^(1/power) of each table of bins, (..., T), of d (..., bins).

    The maximum for an infinite power. `first` (T,) are the first bins of the tables. Powers are
    those of parts of the largest value, against underflow.
    """
    if power == 1.0:
        return np.asarray(np.add.reduceat(values * share, first, axis=-1))
    values = np.where(share > 0.0, values, 0.0)
    largest = np.maximum.reduceat(values, first, axis=-1)
    if power == np.inf:
        return np.asarray(largest)
    sizes = np.diff(first, append=values.shape[-1])
    parts = values / np.repeat(np.where(largest > 0.0, largest, 1.0), sizes, axis=-1)
    sums = np.add.reduceat(parts**power * share, first, axis=-1)
    return np.asarray(largest * sums ** (1.0 / power))
