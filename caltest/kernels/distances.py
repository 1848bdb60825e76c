"""Distances between the rows of two arrays, as tiles and as pairs."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


Indices = NDArray[np.int64]


PACK = 64  # columns packed at a time: two accumulators and four packed rows stay in the L1 cache


@numba.njit(nogil=True, cache=True)
def _packed(rows: Floats, start: int, width: int) -> Floats:
    """Transpose `rows[start : start + width]`, so that the inner loops run over columns."""
    m = rows.shape[1]
    packed = np.empty((m, width))
    for j in range(width):
        for k in range(m):
            packed[k, j] = rows[start + j, k]
    return packed


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz"})
def l1_tile(left: Floats, right: Floats, out: Floats) -> None:
    """Write the city-block distance of every row of `left` to every row of `right`.

    Two rows and four coordinates at a time, so that a packed number is loaded once for both rows;
    where the number of rows is odd the last one is its own partner.
    """
    for start in range(0, right.shape[0], PACK):
        width = min(PACK, right.shape[0] - start)
        columns = _packed(right, start, width)
        for i in range(0, left.shape[0], 2):
            j = min(i + 1, left.shape[0] - 1)
            first, second = np.zeros(width), np.zeros(width)
            _add_l1(left[i], left[j], columns, first, second)
            out[i, start : start + width] = first
            out[j, start : start + width] = second


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz"})
def _add_l1(s: Floats, t: Floats, columns: Floats, first: Floats, second: Floats) -> None:
    m, width = columns.shape
    quads = m // 4 * 4
    for k in range(0, quads, 4):
        a, b, c, d = s[k], s[k + 1], s[k + 2], s[k + 3]
        e, f, g, h = t[k], t[k + 1], t[k + 2], t[k + 3]
        for j in range(width):
            u, v, x, y = columns[k, j], columns[k + 1, j], columns[k + 2, j], columns[k + 3, j]
            first[j] += (abs(a - u) + abs(b - v)) + (abs(c - x) + abs(d - y))
            second[j] += (abs(e - u) + abs(f - v)) + (abs(g - x) + abs(h - y))
    for k in range(quads, m):
        for j in range(width):
            first[j] += abs(s[k] - columns[k, j])
            second[j] += abs(t[k] - columns[k, j])


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz"})
def l2_tile(left: Floats, right: Floats, out: Floats) -> None:
    """Write the Euclidean distance of every row of `left` to every row of `right`.

    By differences, not by |s|^2 + |t|^2 - 2 s't: that cancels for rows that are close.
    """
    for start in range(0, right.shape[0], PACK):
        width = min(PACK, right.shape[0] - start)
        columns = _packed(right, start, width)
        for i in range(left.shape[0]):
            total = np.zeros(width)
            for k in range(left.shape[1]):
                a = left[i, k]
                for j in range(width):
                    total[j] += (a - columns[k, j]) ** 2
            out[i, start : start + width] = np.sqrt(total)


@numba.njit(nogil=True, cache=True)
def l1_pairs(rows: Floats, left: Indices, right: Indices, out: Floats) -> None:
    """Write the city-block distance of row `left[p]` to row `right[p]`."""
    for p in range(left.size):
        total = 0.0
        for k in range(rows.shape[1]):
            total += abs(rows[left[p], k] - rows[right[p], k])
        out[p] = total


@numba.njit(nogil=True, cache=True)
def l2_pairs(rows: Floats, left: Indices, right: Indices, out: Floats) -> None:
    """Write the Euclidean distance of row `left[p]` to row `right[p]`."""
    for p in range(left.size):
        total = 0.0
        for k in range(rows.shape[1]):
            total += (rows[left[p], k] - rows[right[p], k]) ** 2
        out[p] = np.sqrt(total)
