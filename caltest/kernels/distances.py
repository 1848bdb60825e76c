"""Distances between the rows of two arrays, as tiles and as pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.compiled import njit

Floats = NDArray[np.float64]


Indices = NDArray[np.int64]


FEW = 3  # columns that NumPy goes through as fast


PACK = 64  # columns packed at a time: two accumulators and four packed rows stay in the L1 cache


def l1_distances(left: Floats, right: Floats) -> Floats:
    """Return the city-block distance of every row of `left` to every row of `right`."""
    if left.shape[1] > FEW:
        out = np.empty((len(left), len(right)))
        l1_tile(left, right, out)
        return out
    out = np.abs(left[:, :1] - right[:, 0])
    for k in range(1, left.shape[1]):
        out += np.abs(left[:, k : k + 1] - right[:, k])
    return np.asarray(out)


def l2_distances(left: Floats, right: Floats) -> Floats:
    """Return the Euclidean distance of every row of `left` to every row of `right`."""
    out = np.empty((len(left), len(right)))
    l2_tile(left, right, out)
    return out


@njit()
def _pack(rows: Floats, start: int, width: int, columns: Floats) -> None:
    """Transpose `rows[start : start + width]`, so that the inner loops run over columns."""
    for j in range(width):
        for k in range(rows.shape[1]):
            columns[k, j] = rows[start + j, k]


@njit(fastmath={"contract", "nsz"})
def l1_tile(left: Floats, right: Floats, out: Floats) -> None:
    """Write the city-block distance of every row of `left` to every row of `right`.

    Two rows and four coordinates at a time, so that a packed number is loaded once for both rows;
    where the number of rows is odd the last one is its own partner.
    """
    n, m = left.shape
    quads = m // 4 * 4
    columns, first, second = np.empty((m, PACK)), np.empty(PACK), np.empty(PACK)
    for start in range(0, right.shape[0], PACK):
        width = min(PACK, right.shape[0] - start)
        _pack(right, start, width, columns)
        for i in range(0, n, 2):
            s, t = left[i], left[min(i + 1, n - 1)]
            for j in range(width):
                first[j] = second[j] = 0.0
            for k in range(0, quads, 4):
                a, b, c, d = s[k], s[k + 1], s[k + 2], s[k + 3]
                e, f, g, h = t[k], t[k + 1], t[k + 2], t[k + 3]
                for j in range(width):
                    u, v = columns[k, j], columns[k + 1, j]
                    x, y = columns[k + 2, j], columns[k + 3, j]
                    first[j] += (abs(a - u) + abs(b - v)) + (abs(c - x) + abs(d - y))
                    second[j] += (abs(e - u) + abs(f - v)) + (abs(g - x) + abs(h - y))
            for k in range(quads, m):
                for j in range(width):
                    first[j] += abs(s[k] - columns[k, j])
                    second[j] += abs(t[k] - columns[k, j])
            for j in range(width):
                out[i, start + j] = first[j]
                out[min(i + 1, n - 1), start + j] = second[j]


@njit(fastmath={"contract", "nsz"})
def l2_tile(left: Floats, right: Floats, out: Floats) -> None:
    """Write the Euclidean distance of every row of `left` to every row of `right`.

    By differences, not by |s|^2 + |t|^2 - 2 s't: that cancels for rows that are close.
    """
    n, m = left.shape
    columns, total = np.empty((m, PACK)), np.empty(PACK)
    for start in range(0, right.shape[0], PACK):
        width = min(PACK, right.shape[0] - start)
        _pack(right, start, width, columns)
        for i in range(n):
            for j in range(width):
                total[j] = 0.0
            for k in range(m):
                a = left[i, k]
                for j in range(width):
                    total[j] += (a - columns[k, j]) ** 2
            for j in range(width):
                out[i, start + j] = np.sqrt(total[j])


@njit()
def l1_pairs(rows: Floats, left: Indices, right: Indices, out: Floats) -> None:
    """Write the city-block distance of row `left[p]` to row `right[p]`."""
    for p in range(left.size):
        total = 0.0
        for k in range(rows.shape[1]):
            total += abs(rows[left[p], k] - rows[right[p], k])
        out[p] = total


@njit()
def l2_pairs(rows: Floats, left: Indices, right: Indices, out: Floats) -> None:
    """Write the Euclidean distance of row `left[p]` to row `right[p]`."""
    for p in range(left.size):
        total = 0.0
        for k in range(rows.shape[1]):
            total += (rows[left[p], k] - rows[right[p], k]) ** 2
        out[p] = np.sqrt(total)
