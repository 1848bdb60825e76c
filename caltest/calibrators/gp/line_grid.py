r"""Interpolation between many points on a line and an even grid, by polynomials of degree 9.

A function that is smooth on the length scale l is known to 1e-11 of its size from its values on a
grid of step l / 12. So a kernel matrix of any number of points is the kernel matrix of the grid
between two sparse matrices with ten entries per row: :math:`k(z, z') = w(z)^T K w(z')`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ORDER = 10  # nodes around each point
HALF = ORDER // 2
PER_SCALE = 12  # nodes per length scale


# 1 / prod_{j != i} (i - j), the constant part of Lagrange's polynomials
_FACTORIALS = np.cumprod(np.concatenate([[1.0], np.arange(1.0, ORDER)]))
SCALES = (-1.0) ** np.arange(ORDER - 1, -1, -1) / (_FACTORIALS * _FACTORIALS[::-1])


def grid(low: float, high: float, scale: float) -> Floats:
    """Return the nodes for points from `low` to `high`; they reach beyond both ends."""
    step = scale / PER_SCALE
    size = int((high - low) / step) + ORDER + 1
    return low + step * np.arange(1 - HALF, size + 1 - HALF).astype(np.float64)


@njit()
def stencils(points: Floats, nodes: Floats) -> tuple[Indices, Floats]:
    """Return the first node of each point, (P,), and the weights of its nodes, (P, ORDER)."""
    P = points.size
    first, weights = np.empty(P, np.int64), np.empty((P, ORDER))
    start, per_step = nodes[0], 1 / (nodes[1] - nodes[0])
    below = np.empty(ORDER)
    for i in range(P):
        place = (points[i] - start) * per_step
        base = min(max(int(place) - HALF + 1, 0), nodes.size - ORDER)
        t = place - base
        product = 1.0
        for j in range(ORDER):
            below[j] = product
            product *= t - j
        product = 1.0
        for j in range(ORDER - 1, -1, -1):
            weights[i, j] = below[j] * product * SCALES[j]
            product *= t - j
        first[i] = base
    return first, weights


@njit(fastmath={"contract", "nsz", "reassoc"})
def gather(first: Indices, weights: Floats, table: Floats) -> Floats:
    """Return the values at the points, (P,), of a function known on the grid, (G,)."""
    out = np.empty(first.size)
    for i in range(first.size):
        value = 0.0
        for j in range(ORDER):
            value += weights[i, j] * table[first[i] + j]
        out[i] = value
    return out


@njit(fastmath={"contract", "nsz", "reassoc"})
def gather_rows(first: Indices, weights: Floats, tables: Floats, K: int) -> Floats:
    """Return the values at K points per row, (n, K), of a function per row, (n, G)."""
    n = tables.shape[0]
    out = np.empty((n, K))
    for i in range(n):
        for k in range(K):
            p = i * K + k
            value = 0.0
            for j in range(ORDER):
                value += weights[p, j] * tables[i, first[p] + j]
            out[i, k] = value
    return out


@njit(fastmath={"contract", "nsz", "reassoc"})
def scatter(first: Indices, weights: Floats, values: Floats, out: Floats) -> None:
    """Add to the grid, (G,), what `gather` takes from it: the transposed map."""
    for i in range(first.size):
        for j in range(ORDER):
            out[first[i] + j] += weights[i, j] * values[i]


@njit(fastmath={"contract", "nsz", "reassoc"})
def scatter_rows(first: Indices, weights: Floats, values: Floats, size: int) -> Floats:
    """Return the transposed map of `gather_rows`: values (n, K) to one grid per row, (n, G)."""
    n, K = values.shape
    out = np.zeros((n, size))
    for i in range(n):
        for k in range(K):
            p = i * K + k
            for j in range(ORDER):
                out[i, first[p] + j] += weights[p, j] * values[i, k]
    return out


@njit(fastmath={"contract", "nsz", "reassoc"})
def gather_draws(first: Indices, weights: Floats, draws: Floats, out: Floats) -> None:
    """Add to `out`, (P, S), the values at the points of S functions known on the grid, (G, S)."""
    for i in range(first.size):
        for j in range(ORDER):
            w, row = weights[i, j], first[i] + j
            for s in range(draws.shape[1]):
                out[i, s] += w * draws[row, s]


@njit(fastmath={"contract", "nsz", "reassoc"})
def scatter_draws(first: Indices, weights: Floats, values: Floats, out: Floats) -> None:
    """Add to the grid, (G, S), the transposed map of `gather_draws`."""
    for i in range(first.size):
        for j in range(ORDER):
            w, row = weights[i, j], first[i] + j
            for s in range(values.shape[1]):
                out[row, s] += w * values[i, s]
