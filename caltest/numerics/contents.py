"""Hashes of what rows hold: a row is known by its probabilities, wherever it lies.

A row that is read in another order, another part or by another process has the same hash, so that
what is drawn for it is the same. Equal rows are told apart by their number among these.
"""

import numpy as np

from caltest.numerics.labels import FIRST, GAMMA, SECOND
from caltest.numerics.loops import njit
from caltest.types import Floats, Hashes, Ints

BLOCK = 4096  # rows, whose hashes stay in the cache of the processor


def content_hashes(probs: Floats) -> Hashes:
    """Return a number of 64 bits for each row of `probs` (n, m), which are no negative zeros."""
    bits = np.ascontiguousarray(probs).view(np.uint64)
    hashes = np.zeros(len(bits), np.uint64)
    for start in range(0, len(bits), BLOCK):
        z = hashes[start : start + BLOCK]
        for column in bits[start : start + BLOCK].T:
            z += np.uint64(GAMMA)
            z ^= column
            for shift, factor in ((30, FIRST), (27, SECOND), (31, 1)):
                z ^= z >> np.uint64(shift)
                z *= np.uint64(factor)
    return hashes


def occurrences(hashes: Hashes) -> Ints:
    """Return for each hash how many equal ones come before it."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    starts = np.flatnonzero(is_first)
    out = np.empty(hashes.size, np.int64)
    out[order] = np.arange(hashes.size) - np.repeat(starts, np.diff(np.append(starts, hashes.size)))
    return out


def numbered(hashes: Hashes, number: Ints) -> Hashes:
    """Return what rows contribute to their uniform numbers: the first of equal rows its hash."""
    return hashes + number.astype(np.uint64) * np.uint64(GAMMA)


def repeated(ordered: Hashes) -> Hashes:
    """Return the values that are more than once in sorted hashes, each once."""
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


@njit()
def rescale_rows(probs: Floats, slack: float) -> None:
    """Divide each row by its sum where that is further from 1 than `slack`, and lose signs of 0.

    Row by row, so that a row is the same among whatever others.
    """
    for i in range(probs.shape[0]):
        total = 0.0
        for k in range(probs.shape[1]):
            probs[i, k] += 0.0
            total += probs[i, k]
        if abs(total - 1.0) > slack:
            for k in range(probs.shape[1]):
                probs[i, k] /= total
