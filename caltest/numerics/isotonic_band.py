"""Isotonic fits of many rows of labels, read at a few scores."""

import numba
import numpy as np
from numpy.typing import NDArray

from caltest.numerics.isotonic import pool_steps

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@numba.njit(nogil=True, cache=True)
def fits_at(
    labels: NDArray[np.unsignedinteger], weight: Floats, ends: NDArray[np.bool_], rows: Ints
) -> Floats:
    """Return the isotonic fit of each row of `labels` (B, n) at the ascending `rows`, (B, rows).

    `labels`, `weight` and `ends` are those of `pool_steps`.
    """
    out = np.empty((labels.shape[0], rows.size))
    for b in range(labels.shape[0]):
        mass, events, last = pool_steps(labels[b], weight, ends)
        k = 0
        for j in range(rows.size):
            while last[k] < rows[j]:
                k += 1
            out[b, j] = events[k] / mass[k]
    return out
