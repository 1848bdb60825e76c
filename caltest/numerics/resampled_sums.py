"""Sums over rows drawn with replacement, from the numbers of the drawn rows.

How often each row was drawn is counted first, in an array that the cache holds; then the rows are
read in order.
"""

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit
from caltest.types import Floats, Ints, SmallInts


@njit()
def times_drawn(rows: SmallInts, n: int) -> NDArray[np.uint16]:
    """Return how often each of n rows is among `rows`."""
    counts = np.zeros(n, np.uint16)
    for i in rows:
        counts[i] += np.uint16(1)
    return counts


@njit()
def cell_sums(
    rows: SmallInts,
    codes: NDArray[np.integer],
    first: Ints,
    gap: Floats,
    weight: Floats,
    cells: int,
) -> tuple[Floats, Floats]:
    """Return the sums of weights (cells,) and gaps (cells, c) of the drawn rows by cell.

    There are T tables of cells: `codes` (n, T) tells the cell of each row in each of them, from
    `first` (T,) on, and `gap` (n, T, c), times the weight of the row, what is added there. `weight`
    has length n, or 1 for all alike.
    """
    n, tables, classes = gap.shape
    mass, sums = np.zeros(cells), np.zeros((cells, classes))
    each = weight.size == n
    counts = times_drawn(rows, n)
    for i in range(n):
        if counts[i] == 0:
            continue
        times = float(counts[i])
        w = times * weight[i if each else 0]
        for t in range(tables):
            b = first[t] + np.int64(codes[i, t])
            mass[b] += w
            if classes == 1:  # a loop over one number would take as long as all else
                sums[b, 0] += times * gap[i, t, 0]
            else:
                for k in range(classes):
                    sums[b, k] += times * gap[i, t, k]
    return mass, sums


@njit()
def total_of(rows: SmallInts, values: Floats) -> float:
    """Return the sum of the values of the drawn rows."""
    counts = times_drawn(rows, values.size)
    total = 0.0
    for i in range(values.size):
        total += counts[i] * values[i]
    return total
