"""Kernel sums over pairs with equal labels, for many redrawn labels at a time."""

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Labels = NDArray[np.unsignedinteger]

RESAMPLES = 256  # resamples whose index lists stay in the L2 cache


@njit()
def class_lists(labels: Labels, m: int) -> tuple[NDArray[np.uint16], Ints]:
    """Sort the columns of each row of `labels` (B, n <= 2^16) by label.

    Returns the column indices (B, n), and where each class starts (B, m + 1).
    """
    size, n = labels.shape
    columns = np.empty((size, n), np.uint16)
    start = np.zeros((size, m + 1), np.int32)
    place = np.empty(m, np.int32)
    for b in range(size):
        for j in range(n):
            start[b, labels[b, j] + 1] += 1
        for k in range(m):
            start[b, k + 1] += start[b, k]
        for k in range(m):
            place[k] = start[b, k]
        for j in range(n):
            k = labels[b, j]
            columns[b, place[k]] = j
            place[k] += 1
    return columns, start


@njit()
def add_class_sums(
    tile: Floats,
    labels: Labels,
    columns: NDArray[np.uint16],
    start: Ints,
    matrix: Floats,
    partners: NDArray[np.int64],
    out: Floats,
) -> None:
    """Add sum_ij tile_ij A[y_i, y_j] to `out` (B,) for each resample.

    `labels` (B, rows of the tile) are those of the rows, `columns` and `start` the `class_lists` of
    the columns, `matrix` is A, and `partners[k]` lists the classes l with A[k, l] != 0, then -1.
    """
    for first in range(0, out.size, RESAMPLES):
        last = min(first + RESAMPLES, out.size)
        for i in range(tile.shape[0]):
            row = tile[i]
            for b in range(first, last):
                k = labels[b, i]
                for p in range(partners.shape[1]):
                    l = partners[k, p]
                    if l < 0:
                        break
                    total = _gathered(row, columns[b], start[b, l], start[b, l + 1])
                    out[b] += matrix[k, l] * total


@njit(inline="always")
def _gathered(row: Floats, columns: NDArray[np.uint16], first: int, last: int) -> float:
    """Sum row[columns[first:last]], in four chains so that additions do not wait for each other."""
    a = b = c = d = 0.0
    t = first
    while t + 3 < last:
        a += row[columns[t]]
        b += row[columns[t + 1]]
        c += row[columns[t + 2]]
        d += row[columns[t + 3]]
        t += 4
    while t < last:
        a += row[columns[t]]
        t += 1
    return (a + b) + (c + d)


@njit()
def label_sums(table: Floats, labels: Labels) -> Floats:
    """Return sum_i table[i, y_i] for each row of `labels` (B, n)."""
    out = np.zeros(labels.shape[0])
    for b in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            out[b] += table[i, labels[b, i]]
    return out


@njit()
def add_pair_sums(
    kappa: Floats,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    labels: Labels,
    matrix: Floats,
    out: Floats,
) -> None:
    """Add sum_p kappa_p A[y_left(p), y_right(p)] to `out` (B,) for each resample."""
    for b in range(labels.shape[0]):
        row = labels[b]
        total = 0.0
        for p in range(left.size):
            total += kappa[p] * matrix[row[left[p]], row[right[p]]]
        out[b] += total
