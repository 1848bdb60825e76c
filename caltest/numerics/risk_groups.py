"""Groups of about equal size along a sorted score, and what is observed and expected in them."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.unsignedinteger]

REDUCE = {"contract", "nsz", "reassoc"}  # lets sums run in several chains


def group_starts(ordered: Floats, groups: int) -> Ints:
    """Return where each group of sorted scores starts, and where the last one ends.

    The groups are those of cut(score, unique(quantile(score, type = 7)), include.lowest = TRUE) in
    R. A break lies on a score or between two that are next to each other in order; groups are
    right-closed, so that the lower of the two cuts alike, and nothing is interpolated. Breaks that
    coincide with each other, or with the smallest or largest score, are one.
    """
    last = ordered.size - 1
    low, rest = np.divmod(np.arange(1, groups) * last, groups)
    below, above = ordered[low], ordered[low + (rest > 0)]
    inner = ((below > ordered[0]) | (above > below)) & (below < ordered[last])
    cuts = np.unique(below[inner])
    ends = np.searchsorted(ordered, cuts, side="right")
    return np.concatenate(([0], ends, [ordered.size])).astype(np.int64)


@numba.njit(nogil=True, cache=True, fastmath=REDUCE)
def event_expectations(event: Floats, start: Ints) -> tuple[Floats, Floats]:
    """Return the expected others and events (groups, 2), and the variance, sum p (1 - p).

    Others are summed for themselves: n less the events would lose those with p next to 1.
    """
    expected, variance = np.zeros((start.size - 1, 2)), np.zeros(start.size - 1)
    for g in range(start.size - 1):
        others = events = spread = 0.0
        for i in range(start[g], start[g + 1]):
            others += 1.0 - event[i]
            events += event[i]
            spread += event[i] * (1.0 - event[i])
        expected[g, 0], expected[g, 1], variance[g] = others, events, spread
    return expected, variance


@numba.njit(nogil=True, cache=True)
def class_counts(labels: Labels, start: Ints, m: int) -> Floats:
    """Return how often each class occurs in each group of rows, (B, groups, m)."""
    out = np.zeros((labels.shape[0], start.size - 1, m))
    for b in range(labels.shape[0]):
        for g in range(start.size - 1):
            for i in range(start[g], start[g + 1]):
                out[b, g, labels[b, i]] += 1.0
    return out
