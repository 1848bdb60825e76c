"""How predictions are put into bins."""

from __future__ import annotations

import heapq

import numpy as np

from caltest.errors import NotApplicable
from caltest.numerics.bins import cell_numbers, quantile_cuts, uniform_bins
from caltest.numerics.labels import label_dtype
from caltest.numerics.loops import frozen
from caltest.predictions import Predictions
from caltest.types import Floats, Ints
from caltest.units import check_one_dimension

Cells = tuple[Ints, int]
UNLIMITED = np.iinfo(np.int64).max
TIED_SHARE = 1 - 1e-10  # variances that differ by rounding alone are ties


def uniform_cells(predictions: Predictions, bins: int) -> Cells:
    """Number the cells of a grid of `bins` for each class; for two classes, of P(class 1) alone."""
    probs = predictions.probs[:, 1:] if predictions.m == 2 else predictions.probs
    codes = np.empty(probs.shape, label_dtype(bins))
    uniform_bins(frozen(probs), bins, codes)
    if predictions.m == 2:
        occupied = np.bincount(codes[:, 0]) > 0
        return (np.cumsum(occupied) - 1)[codes[:, 0]], int(occupied.sum())
    cells: Cells = cell_numbers(codes)
    return cells


def split_cells(predictions: Predictions, min_size: int, max_bins: int | None) -> Cells:
    """Return bins that are split at medians, where they vary most; see `median_variance_bins`."""
    probs, weight = predictions.probs, predictions.sample_weight
    points = np.ascontiguousarray(probs[:, 1:] if predictions.m == 2 else probs)
    counts = np.ones(predictions.n) if weight is None else weight
    if counts.sum() < min_size:
        raise NotApplicable(
            f"median-variance bins of at least {min_size} observations need as many, and "
            f"there are {counts.sum():g}",
            "use a smaller min_size",
        )
    limit = UNLIMITED if max_bins is None else max_bins
    return median_variance_bins(points, counts, float(min_size), limit)


def quantile_cells(predictions: Predictions, bins: int) -> Cells:
    """Number the bins of equal mass along P(class 1)."""
    check_one_dimension(predictions, "binning='quantile'")
    event, weight = predictions.probs[:, 1], predictions.sample_weight
    cuts = event_cuts(event, weight, bins)
    return np.searchsorted(cuts, event), int(cuts.size) + 1


def event_cuts(event: Floats, weight: Floats | None, bins: int) -> Floats:
    """Return the cuts between bins of equal mass."""
    if weight is None:
        return quantile_cuts(np.sort(event), None, bins)
    order = np.argsort(event)
    return quantile_cuts(event[order], weight[order], bins)


def median_variance_bins(
    points: Floats, weight: Floats, min_size: float, max_bins: int
) -> tuple[Ints, int]:
    """Return the number of the bin of each of the `points` (n, d), and how many bins there are.

    The size of a bin is the sum of its weights. A bin whose halves would be smaller than `min_size`
    stays as it is; a half smaller than 2 `min_size` is not split again.
    """
    n = points.shape[0]
    rows = np.arange(n)
    start, stop = [0], [n]
    queue: list[tuple[float, int, int]] = []
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
    cells = np.empty(n, np.int64)
    for c, (low, high) in enumerate(zip(start, stop, strict=True)):
        cells[rows[low:high]] = c
    return cells, len(start)


def _largest_variance(points: Floats, weight: Floats, rows: Ints) -> tuple[float, int]:
    """Return the largest sample variance (ddof = 1) of a component, and the first that has it."""
    inside, mass = points[rows] - points[rows[0]], weight[rows]  # equal rows are 0 exactly
    total = mass.sum()
    square = mass @ (inside - mass @ inside / total) ** 2
    d = int(np.argmax(square >= TIED_SHARE * square.max()))
    return float(square[d]) / max(total - 1.0, 1e-300), d


def _median_cut(values: Floats, weight: Floats) -> int:
    """Return how many of the sorted values lie below the median.

    Where the two middle values differ the median is between them.
    """
    through = np.cumsum(weight)
    half = 0.5 * through[-1]
    middle = int(np.searchsorted(through, half * (1 - 1e-12)))
    # Where half of the weight ends with this value, the median is between it and the next one.
    ends_here = through[middle] <= half * (1 + 1e-12)
    if ends_here and (middle + 1 == values.size or values[middle] < values[middle + 1]):
        return middle + 1
    return int(np.searchsorted(values, values[middle]))
