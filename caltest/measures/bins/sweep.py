"""Bins of equal mass, as many as keep the mean labels monotone: the loops of the sweep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.bins import add_power, event_distance, power_root
from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.unsignedinteger]


def tie_runs(values: Floats) -> tuple[Ints, Ints]:
    """Return, for each of the sorted `values`, where the run of equal values starts and ends."""
    first = np.append(True, values[1:] != values[:-1])
    bounds = np.append(np.flatnonzero(first), values.size)
    run = np.cumsum(first) - 1
    return bounds[run], bounds[run + 1]


@njit(inline="always")
def cut(k: int, bins: int, ends: Ints) -> int:
    """Return where the first k of `bins` bins of equal mass end; ties stay in the lower bin."""
    if k == 0:
        return 0
    return int(ends[-(-k * ends.size // bins) - 1])


@njit()
def sweep_counts(labels: Labels, starts: Ints, ends: Ints) -> Ints:
    """Return the number of bins for each row of `labels` (B, n), sorted by prediction.

    It grows from 1 until the mean labels of the bins are not monotone. Bins before the first event
    and after the last non-event are monotone whatever their number, and are passed over.
    """
    n = ends.size
    out = np.ones(labels.shape[0], np.int64)
    sums = np.zeros(n + 1, np.int64)
    for b in range(labels.shape[0]):
        first, last = n, -1
        for i in range(n):
            sums[i + 1] = sums[i] + labels[b, i]
            if labels[b, i] == 0:
                last = starts[i]
            elif first == n:
                first = starts[i]
        while out[b] < n and _is_monotone(out[b] + 1, first, last, sums, ends):
            out[b] += 1
    return out


@njit()
def _is_monotone(bins: int, first: int, last: int, sums: Ints, ends: Ints) -> bool:
    """Tell whether mean labels grow from the bin that holds row `first` to that of row `last`."""
    n = ends.size
    k = first * bins // n
    start = cut(k, bins, ends)
    events, size = 0, 1
    while k < bins and start <= last:
        k += 1
        end = cut(k, bins, ends)
        if end > start:
            now = sums[end] - sums[start]
            if events * (end - start) > now * size:
                return False
            events, size, start = now, end - start, end
    return True


@njit()
def sweep_errors(
    labels: Labels, bins: Ints, ends: Ints, event: Floats, kind: int, power: float
) -> Floats:
    """Return the power mean of the distances for each row of `labels` and its number of bins."""
    n = ends.size
    out = np.empty(labels.shape[0])
    for b in range(labels.shape[0]):
        start, total, largest = 0, 0.0, 0.0
        for k in range(1, bins[b] + 1):
            end = cut(k, bins[b], ends)
            if end == start:
                continue
            events, expected = np.int64(0), 0.0
            for i in range(start, end):
                events += np.int64(labels[b, i])
                expected += event[i]
            d = event_distance(events / (end - start), expected / (end - start), 0.0, kind)
            total, largest = add_power(total, largest, (end - start) / n, d, power)
            start = end
        out[b] = power_root(total, largest, power)
    return out
