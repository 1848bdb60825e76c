"""Consistency resampling of the ECE, compiled: the paper's full run takes 120 million resamples.

The plain way is `caltest.test_calibration(..., null="consistency")`, which binds the measure anew
to each resample. Here the same is done in one loop, on the same bins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from caltest.measures import ece
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def consistency_pvalue(
    predictions: Predictions, options: Mapping[str, Any], resamples: int, seed: int
) -> float:
    """P-value of the ECE by consistency resampling.

    Parameters
    ----------
    predictions : Predictions
        n observations.
    options : Mapping
        Options of `caltest.measures.ece`: uniform or median-variance bins.
    resamples : int
        Number B of resamples.
    seed : int
        The seed.

    Returns
    -------
    float
        (1 + number of resampled values that reach the observed one) / (1 + B).
    """
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, predictions.n, (resamples, predictions.n))
    uniforms = rng.random((resamples, predictions.n))
    observed = float(ece(predictions, **options))
    values = resampled_eces(predictions, options, rows, uniforms)[0]
    return float((1 + np.sum(values >= observed * (1 - 1e-12) - 1e-15)) / (1 + resamples))


def resampled_eces(
    predictions: Predictions, options: Mapping[str, Any], rows: Ints, uniforms: Floats
) -> tuple[Floats, Ints]:
    """ECE of the resamples with these rows (B, n), and the labels that were drawn (B, n)."""
    probs = predictions.probs
    cumulative = np.cumsum(probs, axis=1)
    if options["binning"] == "uniform":
        cells = uniform_cells(probs, options["bins"])
        return _with_cells(probs, cumulative, rows, uniforms, cells, int(cells.max()) + 1)
    points = np.ascontiguousarray(probs[:, 1:] if predictions.m == 2 else probs)
    return _with_splits(probs, cumulative, rows, uniforms, points, float(options["min_size"]))


def uniform_cells(probs: Floats, bins: int) -> Ints:
    """Number the cells of a grid of right-closed bins of equal width for each class, (n,)."""
    codes = np.ceil(bins * probs).clip(1)
    return np.unique(codes, axis=0, return_inverse=True)[1].ravel()


def median_variance_cells(points: Floats, min_size: float) -> Ints:
    """Number the bins that halve each other at medians, along the largest variance, (n,).

    A bin whose halves would be smaller than `min_size` stays as it is.
    """
    cells, count, waiting = np.empty(len(points), np.int64), 0, [np.arange(len(points))]
    while waiting:
        rows = waiting.pop()
        variances = points[rows].var(axis=0)
        along = points[rows, np.argmax(variances >= (1 - 1e-12) * variances.max())]
        below = along < np.median(along)
        if min(below.sum(), (~below).sum()) >= min_size:
            waiting += [rows[below], rows[~below]]
        else:
            cells[rows], count = count, count + 1
    return cells


@njit(nogil=True, cache=True)
def _draw(cumulative: Floats, rows: Ints, uniforms: Floats, labels: Ints) -> None:
    m = cumulative.shape[1]
    for i in range(rows.size):
        total = cumulative[rows[i], m - 1]
        k = np.searchsorted(cumulative[rows[i]], uniforms[i] * total, side="right")
        labels[i] = min(k, m - 1)


@njit(nogil=True, cache=True)
def _error(probs: Floats, rows: Ints, labels: Ints, cells: Ints, count: int) -> float:
    """Mean over the observations of the total variation distance in their bins."""
    m = probs.shape[1]
    sums = np.zeros((count, m))
    for i in range(rows.size):
        for k in range(m):
            sums[cells[i], k] -= probs[rows[i], k]
        sums[cells[i], labels[i]] += 1.0
    return 0.5 * np.abs(sums).sum() / rows.size


@njit(nogil=True, cache=True)
def _with_cells(
    probs: Floats, cumulative: Floats, rows: Ints, uniforms: Floats, cells: Ints, count: int
) -> tuple[Floats, Ints]:
    """Bins of single rows: a resampled row keeps its bin."""
    values = np.empty(rows.shape[0])
    labels = np.empty(rows.shape, np.int64)
    for b in range(rows.shape[0]):
        _draw(cumulative, rows[b], uniforms[b], labels[b])
        values[b] = _error(probs, rows[b], labels[b], cells[rows[b]], count)
    return values, labels


def _with_splits(
    probs: Floats,
    cumulative: Floats,
    rows: Ints,
    uniforms: Floats,
    points: Floats,
    min_size: float,
) -> tuple[Floats, Ints]:
    """Bins of the whole data set: they are found anew in each resample."""
    values = np.empty(rows.shape[0])
    labels = np.empty(rows.shape, np.int64)
    for b in range(rows.shape[0]):
        _draw(cumulative, rows[b], uniforms[b], labels[b])
        cells = median_variance_cells(points[rows[b]], min_size)
        values[b] = _error(probs, rows[b], labels[b], cells, cells.max() + 1)
    return values, labels
