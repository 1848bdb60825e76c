"""Kernel sums over pairs with equal labels, for many redrawn labels at a time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit
from caltest.types import Floats, Ints, Labels, SmallInts

RESAMPLES = 256  # resamples whose index lists stay in the L2 cache
ROWS = 256  # of a table, which stay there for all resamples


@njit()
def class_lists(labels: Labels, m: int) -> tuple[NDArray[np.uint16], SmallInts]:
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
    start: SmallInts,
    matrix: Floats,
    partners: Ints,
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
    size, n = labels.shape
    out = np.zeros(size)
    for start in range(0, n, ROWS):
        some = table[start : start + ROWS]
        for b in range(size):
            own, total = labels[b, start : start + ROWS], out[b]
            for i in range(own.size):
                total += some[i, own[i]]
            out[b] = total
    return out


@njit()
def add_pair_sums(
    kappa: Floats, left: Ints, right: Ints, labels: Labels, matrix: Floats, out: Floats
) -> None:
    """Add sum_p kappa_p A[y_left(p), y_right(p)] to `out` (B,) for each resample."""
    for b in range(labels.shape[0]):
        row = labels[b]
        total = 0.0
        for p in range(left.size):
            total += kappa[p] * matrix[row[left[p]], row[right[p]]]
        out[b] += total


REDUCE = {"contract", "nsz", "reassoc"}  # lets sums run in several chains


@njit(fastmath=REDUCE)
def binary_brier_sums(labels: Labels, event: Floats, weight: Floats) -> Floats:
    """Return sum_i w_i (y_i - p_i)^2 for each row of `labels` (B, n)."""
    out = np.zeros(labels.shape[0])
    for b in range(labels.shape[0]):
        total = 0.0
        for i in range(labels.shape[1]):
            r = labels[b, i] - event[i]
            total += weight[i] * (r * r)
        out[b] = total
    return out


@njit(fastmath=REDUCE)
def binary_deviation_sums(labels: Labels, event: Floats, weight: Floats) -> Floats:
    """Return sum_i w_i (y_i - p_i) (1 - 2 p_i), the Brier score less its mean, for each row."""
    out = np.zeros(labels.shape[0])
    for b in range(labels.shape[0]):
        total = 0.0
        for i in range(labels.shape[1]):
            p = event[i]
            total += weight[i] * ((labels[b, i] - p) * (1.0 - 2.0 * p))
        out[b] = total
    return out


@njit(fastmath=REDUCE)
def binary_residual_sums(labels: Labels, event: Floats, weight: Floats) -> Floats:
    """Return sum_i w_i (y_i - p_i) for each row of `labels` (B, n)."""
    out = np.zeros(labels.shape[0])
    for b in range(labels.shape[0]):
        total = 0.0
        for i in range(labels.shape[1]):
            total += weight[i] * (labels[b, i] - event[i])
        out[b] = total
    return out


@njit(fastmath=REDUCE)
def binary_deviation_variance(event: Floats, weight: Floats) -> float:
    """Return the variance of the above under calibration, sum_i w_i^2 p (1 - p) (1 - 2 p)^2."""
    total = 0.0
    for i in range(event.size):
        p = event[i]
        total += (weight[i] * (1.0 - 2.0 * p)) ** 2 * (p * (1.0 - p))
    return total


@njit()
def brier_table(probs: Floats, out: Floats) -> None:
    """Write the squared distance of p_i to each unit vector, without cancellation."""
    n, m = probs.shape
    after = np.zeros(m + 1)
    for i in range(n):
        for k in range(m - 1, -1, -1):
            after[k] = after[k + 1] + probs[i, k] ** 2
        before = 0.0
        for k in range(m):
            out[i, k] = (1.0 - probs[i, k]) ** 2 + (before + after[k + 1])
            before += probs[i, k] ** 2


@njit()
def deviation_table(probs: Floats, out: Floats) -> None:
    r"""Write :math:`d_{ik} = \sum_j p_j^2 - p_k`, half the Brier score less its mean.

    Written as :math:`\sum_j p_j (p_j - c) - (p_k - c)` with c the largest probability: exactly 0
    where all positive probabilities are equal, so that no rounding noise is scaled up.
    """
    n, m = probs.shape
    for i in range(n):
        c = probs[i].max()
        mean = 0.0
        for k in range(m):
            mean += probs[i, k] * (probs[i, k] - c)
        for k in range(m):
            out[i, k] = mean - (probs[i, k] - c)


@njit(fastmath=REDUCE)
def wrong_and_right_sums(right: Labels, confidence: Floats, weight: Floats) -> Floats:
    """Return sums over each row of `right` (B, n), 1 where the predicted class is right.

    The columns of the result (B, 4) are the sums of w over the wrong ones and over the right ones,
    of w c over the wrong ones, and of w (1 - c) over the right ones.
    """
    size, n = right.shape
    out = np.empty((size, 4))
    for b in range(size):
        wrong = hits = sure = unsure = 0.0
        for i in range(n):
            hit = weight[i] * right[b, i]
            miss = weight[i] * (1.0 - right[b, i])
            wrong += miss
            hits += hit
            sure += miss * confidence[i]
            unsure += hit * (1.0 - confidence[i])
        out[b, 0], out[b, 1], out[b, 2], out[b, 3] = wrong, hits, sure, unsure
    return out


def binary_entropy(p: float) -> float:
    """Return -p log p - (1 - p) log(1 - p), 0 at 0 and 1."""
    return -sum(x * math.log(x) for x in (p, 1.0 - p) if x > 0)
