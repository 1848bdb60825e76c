"""Sums over rows drawn with replacement, from the numbers of the drawn rows.

How often each row was drawn is counted first, in an array that the cache holds; then the rows are
read in order.
"""

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.int32]


@njit()
def times_drawn(rows: Rows, n: int) -> NDArray[np.uint16]:
    """Return how often each of n rows is among `rows`."""
    counts = np.zeros(n, np.uint16)
    for i in rows:
        counts[i] += np.uint16(1)
    return counts


@njit()
def cell_sums(
    rows: Rows, cell: Ints, gap: Floats, weight: Floats, cells: int
) -> tuple[Floats, Floats]:
    """Return sum w and sum w gap over the drawn rows of each cell, (cells,) and (cells, c).

    `cell` (n,) is the cell of each row and `gap` (n, c); `weight` has length n, or 1 for all alike.
    """
    mass, sums = np.zeros(cells), np.zeros((cells, gap.shape[1]))
    each = weight.size == cell.size
    counts = times_drawn(rows, cell.size)
    for i in range(cell.size):
        if counts[i] == 0:
            continue
        w, b = counts[i] * weight[i if each else 0], cell[i]
        mass[b] += w
        for k in range(gap.shape[1]):
            sums[b, k] += w * gap[i, k]
    return mass, sums


@njit()
def class_cell_sums(
    rows: Rows,
    codes: NDArray[np.unsignedinteger],
    gap: Floats,
    weight: Floats,
    bins: int,
) -> tuple[Floats, Floats]:
    """Return the same for each class and bin, (m, bins) both; `codes` and `gap` are (n, m)."""
    m = gap.shape[1]
    mass, sums = np.zeros((m, bins)), np.zeros((m, bins))
    each = weight.size == gap.shape[0]
    counts = times_drawn(rows, gap.shape[0])
    for i in range(gap.shape[0]):
        if counts[i] == 0:
            continue
        w = counts[i] * weight[i if each else 0]
        for k in range(m):
            b = codes[i, k]
            mass[k, b] += w
            sums[k, b] += w * gap[i, k]
    return mass, sums


@njit()
def partial_sums(rows: Rows, gap: Floats, ends: NDArray[np.bool_]) -> Floats:
    """Return the sums of the gaps of the drawn rows up to each step end, the rows being sorted."""
    counts = times_drawn(rows, gap.size)
    out = np.empty(np.count_nonzero(ends))
    total, step = 0.0, 0
    for i in range(gap.size):
        total += counts[i] * gap[i]
        if ends[i]:
            out[step] = total
            step += 1
    return out


@njit()
def total_of(rows: Rows, values: Floats) -> float:
    """Return the sum of the values of the drawn rows."""
    counts = times_drawn(rows, values.size)
    total = 0.0
    for i in range(values.size):
        total += counts[i] * values[i]
    return total
