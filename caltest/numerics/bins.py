"""Bins of predictions: equal width on the simplex, equal mass on a line."""

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.compiled import njit

Floats = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger]
Ints = NDArray[np.int64]

EMPTY = -1
EDGE = 1e-15  # relative rounding of a product, with room to spare


@njit(inline="always")
def bin_of(p: float, bins: float) -> int:
    """Return the bin of p among `bins` of equal width, right-closed, 0 in the first.

    The edges are the doubles k / bins, so that 0.7 lies in (0.6, 0.7] for ten bins. The rounded
    product tells the bin unless it is next to an integer; then the edges are compared.
    """
    t = p * bins
    k = int(t)
    if t - k < EDGE * bins or t - k > 1.0 - EDGE * bins:
        if p <= k / bins:
            k -= 1
        elif p > (k + 1) / bins:
            k += 1
        k = max(k, 0)
    return k


@njit()
def uniform_bins(probs: Floats, bins: int, out: Codes) -> None:
    """Write the bin of every probability of `probs` (n, m) to `out` (n, m)."""
    for i in range(probs.shape[0]):
        for j in range(probs.shape[1]):
            out[i, j] = bin_of(probs[i, j], float(bins))


@njit()
def cell_numbers(codes: Codes) -> tuple[Ints, int]:
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
def _hash(row: Codes) -> int:
    """Mix the codes of a row by multiplication and shift (Fowler-Noll-Vo with a final stir)."""
    h = np.uint64(14695981039346656037)
    for code in row:
        h = (h ^ np.uint64(code)) * np.uint64(1099511628211)
    h ^= h >> np.uint64(32)
    return int((h * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20))


@njit(inline="always")
def _equal(left: Codes, right: Codes) -> bool:
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
    cuts: Floats = np.unique(values[last])
    return np.asarray(cuts[cuts < values[-1]])


def sort_by_cell(cells: Ints, count: int) -> tuple[Ints, Ints]:
    """Order the rows by cell, rows of a cell as they came; also where each cell starts."""
    start = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=count))])
    # NumPy sorts integers of 16 bits by counting.
    keys = cells.astype(np.uint16) if count <= 1 << 16 else cells
    return np.argsort(keys, kind="stable"), start
