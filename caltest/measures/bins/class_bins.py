"""Bins for every class by itself: one counter for each class and bin."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from caltest.numerics.bin_errors import add_power, power_root
from caltest.numerics.bins import bin_of

Floats = NDArray[np.float64]


Codes = NDArray[np.unsignedinteger]


Labels = NDArray[np.unsignedinteger]


@numba.njit(nogil=True, cache=True)
def uniform_class_sums(probs: Floats, weight: Floats | None, bins: int) -> tuple[Floats, Floats]:
    """Return weight and weighted probability in each class and bin of equal width, (m, bins)."""
    n, m = probs.shape
    sums = np.zeros((m, bins, 2))  # side by side, so that a probability touches one cache line
    for i in range(n):
        w = 1.0
        if weight is not None:
            w = weight[i]
        for j in range(m):
            k = np.uint64(bin_of(probs[i, j], float(bins)))
            sums[j, k, 0] += w
            sums[j, k, 1] += w * probs[i, j]
    return sums[:, :, 0].copy(), sums[:, :, 1].copy()


@numba.njit(nogil=True, cache=True)
def coded_class_sums(
    probs: Floats, weight: Floats | None, codes: Codes, bins: int
) -> tuple[Floats, Floats]:
    """Return the same for bins that `codes` (n, m) tells."""
    n, m = probs.shape
    mass, event = np.zeros((m, bins)), np.zeros((m, bins))
    for i in range(n):
        w = 1.0
        if weight is not None:
            w = weight[i]
        for j in range(m):
            mass[j, codes[i, j]] += w
            event[j, codes[i, j]] += w * probs[i, j]
    return mass, event


@numba.njit(nogil=True, cache=True)
def class_errors(
    labels: Labels, weight: Floats | None, codes: Codes, mass: Floats, event: Floats, power: float
) -> Floats:
    """Return the mean over classes of the power means over bins, for each row of `labels` (B, n).

    The labels of a row are redrawn together and counted one by one: the classes share them.
    """
    out = np.empty(labels.shape[0])
    for b in range(labels.shape[0]):
        counts = np.zeros(mass.shape)
        for i in range(labels.shape[1]):
            j = labels[b, i]
            if weight is None:
                counts[j, codes[i, j]] += 1.0
            else:
                counts[j, codes[i, j]] += weight[i]
        out[b] = mean_class_error(counts, mass, event, power)
    return out


@numba.njit(nogil=True, cache=True)
def mean_class_error(counts: Floats, mass: Floats, event: Floats, power: float) -> float:
    """Return the mean over classes of (sum_k share_k |label - prediction|^power)^(1/power).

    `counts` (m, bins) are the weighted labels in each class and bin.
    """
    m, bins = mass.shape
    n = float(mass[0].sum())
    total = 0.0
    for j in range(m):
        error = largest = 0.0
        for k in range(bins):
            if mass[j, k] > 0.0:
                gap = abs(counts[j, k] - event[j, k]) / mass[j, k]
                error, largest = add_power(error, largest, mass[j, k] / n, gap, power)
        total += power_root(error, largest, power)
    return float(total / m)


@numba.njit(nogil=True, cache=True)
def uniform_label_counts(probs: Floats, labels: Labels, weight: Floats | None, bins: int) -> Floats:
    """Return the weighted labels in each class and bin of equal width, (m, bins)."""
    counts = np.zeros((probs.shape[1], bins))
    for i in range(labels.size):
        j = labels[i]
        w = 1.0
        if weight is not None:
            w = weight[i]
        counts[j, bin_of(probs[i, j], float(bins))] += w
    return counts
