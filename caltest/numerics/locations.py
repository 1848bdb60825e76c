"""Sums over observations of what they deviate by at test locations, for redrawn labels."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]

ROWS = 256  # observations at a time, so that their kernel values stay in the L1 cache
LANES = 8  # resamples side by side
FULL_RANK = 1e-11  # eigenvalues of a correlation matrix below this are rounding
FULL_SHARE = 1e-10  # 1 - share below this counts as this


@numba.njit(nogil=True, cache=True)
def add_location_sums(kappa: Floats, gain: Floats, labels: Labels, out: Floats) -> None:
    """Add sum_i sum_t kappa[t, i, j] gain[t, y_i, j] to `out` (B, J) for each row of labels."""
    size, n = labels.shape
    for first in range(0, n, ROWS):
        last = min(first + ROWS, n)
        for b in range(size):
            for i in range(first, last):
                y = labels[b, i]
                for t in range(kappa.shape[0]):
                    for j in range(kappa.shape[2]):
                        out[b, j] += kappa[t, i, j] * gain[t, y, j]


@numba.njit(nogil=True, cache=True)
def add_location_moments(
    kappa: Floats, gain: Floats, shift: Floats, labels: Labels, sums: Floats, products: Floats
) -> None:
    """Add z_i and z_i z_i' to `sums` (B, J) and `products` (B, J, J) for each row of labels.

    Here z_ij = sum_t kappa[t, i, j] gain[t, y_i, j] - shift[i, j].
    """
    count = shift.shape[1]
    first, second = np.empty((count, LANES)), np.empty((count, count, LANES))
    for start in range(0, labels.shape[0], LANES):
        some = labels[start : start + LANES]
        _lane_moments(kappa, gain, shift, some, first, second)
        for j in range(count):
            for lane in range(some.shape[0]):
                sums[start + lane, j] += first[j, lane]
                for k in range(count):
                    products[start + lane, j, k] += second[max(j, k), min(j, k), lane]


@numba.njit(nogil=True, cache=True)
def _lane_moments(
    kappa: Floats, gain: Floats, shift: Floats, labels: Labels, first: Floats, second: Floats
) -> None:
    """Write the moments of up to LANES resamples, of the second ones those with k <= j."""
    lanes, n = labels.shape
    count = shift.shape[1]
    first[:], second[:] = 0.0, 0.0
    z = np.zeros((count, LANES))
    for i in range(n):
        for j in range(count):
            z[j] = -shift[i, j]
            for t in range(kappa.shape[0]):
                for lane in range(lanes):
                    z[j, lane] += kappa[t, i, j] * gain[t, labels[lane, i], j]
            for lane in range(LANES):
                first[j, lane] += z[j, lane]
            for k in range(j + 1):
                for lane in range(LANES):
                    second[j, k, lane] += z[j, lane] * z[k, lane]


def hotelling(sums: Floats, products: Floats, n: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return T^2 = n z' S^-1 z (B,) and the rank of S (B,), z the means and S the covariance.

    With q = n z' M^+ z, M the sum of z_i z_i', T^2 = (n - 1) q / (1 - q): q is the share of the
    constant 1 that the deviations explain, and z lies in the range of M whatever the rank. Where S
    is singular in the direction of z, so that q = 1, T^2 is its limit cut off at 1 - q = 1e-10.
    """
    size = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    size = np.where(size > 0, size, 1.0)  # T^2 does not depend on the units of the z_j
    values, vectors = np.linalg.eigh(products / (size[:, :, None] * size[:, None, :]))
    kept = values > FULL_RANK * np.maximum(values[:, -1:], FULL_RANK)
    along = np.einsum("bjk,bj->bk", vectors, sums / size)
    q = (np.where(kept, along, 0.0) ** 2 / np.where(kept, values, 1.0)).sum(axis=1) / n
    left = np.maximum(1.0 - q, FULL_SHARE)
    return (n - 1) * q / left, kept.sum(axis=1) - (left == FULL_SHARE)
