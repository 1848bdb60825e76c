"""Median-variance bins: the bin with the largest component variance is split at its median."""

import heapq

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEARLY = 1 - 1e-10  # variances that differ by rounding alone are ties


@numba.njit(nogil=True, cache=True)
def median_variance_bins(
    points: Floats, weight: Floats, min_size: float, max_bins: int
) -> tuple[Ints, int]:
    """Return the number of the bin of each of the `points` (n, d), and how many bins there are.

    The size of a bin is the sum of its weights. A bin whose halves would be smaller than `min_size`
    stays as it is; a half smaller than 2 `min_size` is not split again.
    """
    n = points.shape[0]
    rows = np.arange(n)
    cells = np.zeros(n, np.int64)
    start, stop = [0], [n]
    queue = [(0.0, 0, 0)]
    queue.pop()  # the list has a type now
    if weight.sum() >= 2 * min_size:
        variance, d = _largest_variance(points, weight, rows)
        heapq.heappush(queue, (-variance, 0, d))
    while len(queue) > 0 and len(start) < max_bins:
        _, c, d = heapq.heappop(queue)
        part = rows[start[c] : stop[c]]
        part = part[np.argsort(points[part, d], kind="mergesort")]
        below = _median_cut(points[part, d], weight[part])
        size_below, size_above = weight[part[:below]].sum(), weight[part[below:]].sum()
        if min(size_below, size_above) < min_size:
            continue
        rows[start[c] : stop[c]] = part
        start.append(start[c] + below)
        stop.append(stop[c])
        stop[c] = start[c] + below
        for half, size in ((c, size_below), (len(start) - 1, size_above)):
            if size >= 2 * min_size:
                inside = rows[start[half] : stop[half]]
                variance, d = _largest_variance(points, weight, inside)
                heapq.heappush(queue, (-variance, half, d))
    for c in range(len(start)):
        cells[rows[start[c] : stop[c]]] = c
    return cells, len(start)


@numba.njit(nogil=True, cache=True)
def _largest_variance(points: Floats, weight: Floats, rows: Ints) -> tuple[float, int]:
    """Return the largest sample variance (ddof = 1) of a component, and the first that has it."""
    d = points.shape[1]
    mean, square, total = np.zeros(d), np.zeros(d), 0.0
    for i in rows:
        total += weight[i]
        for k in range(d):
            step = points[i, k] - mean[k]
            mean[k] += step * weight[i] / total
            square[k] += weight[i] * step * (points[i, k] - mean[k])
    largest = square.max()
    for k in range(d):
        if square[k] >= NEARLY * largest:
            return largest / max(total - 1.0, 1e-300), k
    return 0.0, 0


@numba.njit(nogil=True, cache=True)
def _median_cut(values: Floats, weight: Floats) -> int:
    """Return how many of the sorted values lie below the median.

    Where the two middle values differ the median is between them.
    """
    half = 0.5 * weight.sum()
    below, middle = 0.0, 0
    while below + weight[middle] < half * (1 - 1e-12):
        below += weight[middle]
        middle += 1
    # Where half of the weight ends with this value, the median is between it and the next one.
    ends_here = below + weight[middle] <= half * (1 + 1e-12)
    if ends_here and (middle + 1 == values.size or values[middle] < values[middle + 1]):
        return middle + 1
    return int(np.searchsorted(values, values[middle]))
