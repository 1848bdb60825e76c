"""Polynomials in log odds, and nodes that take the place of many rows."""

from __future__ import annotations

import math

import numpy as np
import scipy

from caltest.numerics.loops import njit
from caltest.types import Floats

WIDTH = 0.32  # of a bin of log odds; interpolation there is exact to rounding
NODES = 12  # a cell
ROWS_OF_BASIS = 4096  # rows enough for a basis
NO_SPREAD = 1e-10  # of a polynomial, relative to the log odds: it is zero up to rounding


def polynomial_basis(z: Floats, w: Floats, degree: int) -> tuple[Floats, Floats]:
    """Return the recurrence of the polynomials that are orthonormal under weights w p (1 - p).

    Those of a part of many rows do, since a fit does not depend on its basis; unless they are too
    few, as other rows may have more distinct values.
    """
    for stride in (max(1, z.size // ROWS_OF_BASIS), 1):
        some = z[::stride]
        h = w[::stride] * scipy.special.expit(some) * scipy.special.expit(-some)
        if not h.any():  # they underflow
            h = w[::stride]
        shift, norm = orthonormal_basis(some.copy(), h / h.max(), degree)
        if shift.size == degree + 1:
            break
    return shift, norm


@njit()
def orthonormal_basis(z: Floats, h: Floats, degree: int) -> tuple[Floats, Floats]:
    """Return the recurrence of the polynomials that are orthonormal under weights h.

    Returns
    -------
    shift : (rank,) array
        The a_j of b_{j+1} f_{j+1}(z) = (z - a_j) f_j(z) - b_j f_{j-1}(z), f_0 = 1; there are as
        many polynomials as z has distinct values, and at most degree + 1.
    norm : (rank,) array
        The b_j.
    """
    shift, norm = np.zeros(degree + 1), np.ones(degree + 1)
    this, last = np.ones(z.size), np.zeros(z.size)
    total, largest = h.sum(), np.abs(z).max()
    for j in range(degree + 1):
        a = 0.0
        for i in range(z.size):
            a += h[i] * z[i] * this[i] * this[i]
        shift[j] = a / total
        if j == degree:
            break
        square = 0.0
        for i in range(z.size):
            new = (z[i] - shift[j]) * this[i] - (norm[j] * last[i] if j > 0 else 0.0)
            last[i], this[i] = this[i], new
            square += h[i] * new * new
        norm[j + 1] = math.sqrt(square / total)
        if not norm[j + 1] > NO_SPREAD * largest:
            return shift[: j + 1].copy(), norm[: j + 1].copy()
        for i in range(z.size):
            this[i] /= norm[j + 1]
    return shift, norm


@njit()
def basis_values(z: Floats, shift: Floats, norm: Floats) -> Floats:
    """Evaluate the polynomials, (K, rank), one after the other in memory."""
    out = np.ones((shift.size, z.size))
    for j in range(1, shift.size):
        new, this, last = out[j], out[j - 1], out[max(j - 2, 0)]
        scale, before = 1.0 / norm[j], norm[j - 1] if j > 1 else 0.0
        for i in range(z.size):
            new[i] = scale * ((z[i] - shift[j - 1]) * this[i] - before * last[i])
    return out.T


def monomials(shift: Floats, norm: Floats) -> Floats:
    """Return the coefficients of the polynomials in powers of z, (rank, rank)."""
    rank = shift.size
    out = np.zeros((rank, rank))
    out[0, 0] = 1.0
    for j in range(rank - 1):
        out[j + 1, 1:] = out[j, :-1]
        out[j + 1] -= shift[j] * out[j]
        if j > 0:
            out[j + 1] -= norm[j] * out[j - 1]
        out[j + 1] /= norm[j + 1]
    return out


def interpolation_nodes(z: Floats, w: Floats) -> tuple[Floats, Floats] | None:
    """Replace rows by nodes with weights that give the same sums of smooth functions.

    Returns
    -------
    tuple of two (12 bins,) arrays, or None
        Nodes and weights, twelve for each bin that holds a row; None where that is no saving.
    """
    bins = int((float(z.max()) - float(z.min())) / WIDTH) + 1
    return None if 2 * NODES * bins > z.size else chebyshev_nodes(z, w, WIDTH)


def chebyshev_nodes(z: Floats, w: Floats, width: float) -> tuple[Floats, Floats]:
    """Return the Chebyshev nodes of the cells of log odds that hold rows, and their weights.

    Over a cell of log odds of radius r a function f(a + b z) is that of its interpolation in K
    Chebyshev nodes, but for r_1^-K: r_1 = s + sqrt(s^2 + 1) and s = pi / (b r), where f, as the
    functions of logistic regression, has no singularity nearer to the real line than pi (Trefethen
    2013, Approximation theory and approximation practice, theorem 8.2). The weight of a node is
    the sum over the rows of its Lagrange polynomial.

    Parameters
    ----------
    z, w : (n,) array
        Log odds with weights above 0.
    width : float
        Of a cell, 2 r.
    """
    low = float(z.min())
    cells = int((float(z.max()) - low) / width) + 1
    moments = chebyshev_moments(z, w, low, width, cells)
    used = np.flatnonzero(moments[:, 0])
    angle = (np.arange(NODES) + 0.5) * (math.pi / NODES)
    lagrange = np.cos(np.outer(np.arange(NODES), angle)) * (2.0 / NODES)
    lagrange[0] /= 2.0
    nodes = low + width / 2.0 * (2 * used[:, None] + 1 + np.cos(angle))
    return nodes.ravel(), (moments[used] @ lagrange).ravel()


@njit()
def chebyshev_moments(z: Floats, w: Floats, low: float, width: float, cells: int) -> Floats:
    """Return the sums of w_i T_j(x_i) over the rows of each cell, (cells, NODES), x in [-1, 1]."""
    moments = np.zeros((cells, NODES))
    radius = width / 2.0
    for i in range(z.size):
        place = (z[i] - low) / radius
        c = min(int(0.5 * place), cells - 1)
        x = place - (2.0 * c + 1.0)
        before, now = w[i], w[i] * x
        moments[c, 0] += before
        for j in range(1, NODES):
            moments[c, j] += now
            before, now = now, 2.0 * x * now - before
    return moments
