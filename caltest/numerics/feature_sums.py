"""Sums over rows of features times labels, in whole numbers: the same in any order."""

import numpy as np

from caltest.numerics.loops import njit
from caltest.types import Floats, Ints, Labels, SmallInts

UNIT = 1 << 20  # of a feature
FINE = 1 << 32  # of a product of a feature and a probability
SHARE = 1 << 30  # of the squared length of a feature
BLOCK = 512  # rows whose features are added in 32 bits


@njit()
def add_labels(features: SmallInts, labels: Labels, out: Ints) -> None:
    """Add the features (c, D) of each row to those of its label, `out` (B, m, D).

    `labels` are (B, c). Features are at most 2^20, so that 512 of them fit into 32 bits.
    """
    size, m, width = out.shape
    total = np.empty((m, width), np.int32)
    for start in range(0, features.shape[0], BLOCK):
        end = min(start + BLOCK, features.shape[0])
        for b in range(size):
            total[:] = 0
            label = labels[b]
            for i in range(start, end):
                row, own = total[label[i]], features[i]
                for j in range(width):
                    row[j] += own[j]
            for k in range(m):
                for j in range(width):
                    out[b, k, j] += total[k, j]


@njit()
def add_own(own: Ints, labels: Labels, out: Ints) -> None:
    """Add to `out` (B,) what the label of each row contributes, own[i, y_i]."""
    for b in range(labels.shape[0]):
        total = 0
        for i in range(labels.shape[1]):
            total += own[i, labels[b, i]]
        out[b] += total


@njit()
def add_expected(features: SmallInts, probs: Floats, out: Ints) -> None:
    """Add the features of each row times its probabilities, in units of 2^-32, to `out` (m, D)."""
    m, width = out.shape
    for i in range(features.shape[0]):
        for k in range(m):
            p = probs[i, k] * (FINE // UNIT)
            for j in range(width):
                out[k, j] += np.int64(np.rint(features[i, j] * p))


@njit()
def squared_lengths(features: SmallInts, root: Floats) -> Floats:
    """Return the squared length of each row of features (c, D) times a matrix (D, r), over 2^40.

    Row by row and in a fixed order, so that a row has the same among whatever others.
    """
    out = np.empty(features.shape[0])
    image = np.empty(root.shape[1])
    for i in range(features.shape[0]):
        image[:] = 0.0
        for j in range(root.shape[0]):
            value = features[i, j] / UNIT
            for r in range(root.shape[1]):
                image[r] += value * root[j, r]
        total = 0.0
        for r in range(root.shape[1]):
            total += image[r] * image[r]
        out[i] = total
    return out
