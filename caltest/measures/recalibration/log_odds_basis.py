"""Polynomials in log odds, and nodes that take the place of many rows."""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]


WIDTH = 0.16  # of a bin of log odds; interpolation there is exact to rounding


NODES = 8  # a bin


FEW = 4096  # rows enough for a basis


NO_SPREAD = 1e-10  # of a polynomial, relative to the log odds: it is zero up to rounding


def polynomial_basis(z: Floats, w: Floats, degree: int) -> tuple[Floats, Floats]:
    """Return the recurrence of the polynomials that are orthonormal under weights w p (1 - p).

    Those of a part of many rows do, since a fit does not depend on its basis; unless they are too
    few, as other rows may have more distinct values.
    """
    for stride in (max(1, z.size // FEW), 1):
        some = z[::stride]
        h = w[::stride] * expit(some) * expit(-some)
        if not h.any():  # they underflow
            h = w[::stride]
        shift, norm = orthonormal_basis(some.copy(), h / h.max(), degree)
        if shift.size == degree + 1:
            break
    return shift, norm


@numba.njit(nogil=True, cache=True)
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


@numba.njit(nogil=True, cache=True)
def basis_values(z: Floats, shift: Floats, norm: Floats) -> Floats:
    """Evaluate the polynomials, (K, rank)."""
    out = np.empty((z.size, shift.size))
    for i in range(z.size):
        this, last = 1.0, 0.0
        for j in range(shift.size):
            if j > 0:
                new = ((z[i] - shift[j - 1]) * this - norm[j - 1] * last) / norm[j]
                this, last = new, this
            out[i, j] = this
            if j == 0:
                last = 0.0
    return out


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
    """Replace rows by Chebyshev nodes with weights that give the same sums of smooth functions.

    Returns
    -------
    tuple of two (8 bins,) arrays, or None
        Nodes and weights, eight for each bin that holds a row; None where that is no saving.
    """
    low, high = float(z.min()), float(z.max())
    bins = int((high - low) / WIDTH) + 1
    if 2 * NODES * bins > z.size:
        return None
    sums, held = _chebyshev_sums(z, w, low, bins)
    angle = (np.arange(NODES) + 0.5) * math.pi / NODES
    cosines = np.cos(np.outer(np.arange(NODES), angle))
    cosines[0] /= 2.0
    centre = low + WIDTH * (np.flatnonzero(held) + 0.5)
    nodes = centre[:, None] + WIDTH / 2.0 * np.cos(angle)
    return nodes.ravel(), (sums[held] @ cosines * (2.0 / NODES)).ravel()


@numba.njit(nogil=True, cache=True)
def _chebyshev_sums(
    z: Floats, w: Floats, low: float, bins: int
) -> tuple[Floats, NDArray[np.bool_]]:
    """Sum the weighted Chebyshev polynomials of the place in its bin of each row."""
    sums, held = np.zeros((bins, NODES)), np.zeros(bins, np.bool_)
    for i in range(z.size):
        place = (z[i] - low) / WIDTH
        k = min(int(place), bins - 1)
        x = 2.0 * (place - k) - 1.0
        held[k] = True
        this, last = x, 1.0
        sums[k, 0] += w[i]
        for q in range(1, NODES):
            sums[k, q] += w[i] * this
            this, last = 2.0 * x * this - last, this
    return sums, held
