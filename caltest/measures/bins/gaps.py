"""Errors in bins as norms of gaps: the bins are held fixed, and rows are drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import Rows
from caltest.measures.binning import Cells
from caltest.measures.outcome import Gaps
from caltest.numerics.resampled_sums import cell_sums, class_cell_sums
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger]

NORMS = {"tv": 0.5, "cityblock": 1.0}  # the distances that are norms: of city-block distance
BINS = "the interval is for the error in these bins, held fixed; finer bins may have a larger error"


def bin_gaps(predictions: Predictions, cells: Cells, distance: str, power: float) -> Gaps:
    """Return the gaps of bins, whose power mean of a distance of `NORMS` is the error."""
    cell, count = cells
    cell = np.asarray(cell, dtype=np.int64)
    gap, unit = _residuals(predictions), NORMS[distance]
    if predictions.m == 2:  # opposite gaps, so that either is half the sum
        gap, unit = np.ascontiguousarray(gap[:, 1:]), 2.0 * unit
    weight = _weights(predictions)

    def vector(rows: Rows) -> Floats:
        return _scaled(*cell_sums(rows, cell, gap, weight, count), power)

    def norm(gaps: Floats) -> float:
        return unit * _length(np.abs(gaps).sum(axis=1), power)

    return Gaps(predictions.n, vector, norm)


def class_gaps(predictions: Predictions, codes: Codes, bins: int, power: float) -> Gaps:
    """Return the gaps of the bins of each class; the error is the mean over classes of norms."""
    gap, weight = _residuals(predictions), _weights(predictions)

    def vector(rows: Rows) -> Floats:
        return _scaled(*class_cell_sums(rows, codes, gap, weight, bins), power)

    def norm(gaps: Floats) -> float:
        return float(np.mean([_length(np.abs(row), power) for row in gaps]))

    return Gaps(predictions.n, vector, norm)


def _scaled(mass: Floats, sums: Floats, power: float) -> Floats:
    """Return the gaps such that the error is their p-norm: share^(1/p) times the mean gap.

    For p = 1 the sums over the whole; for p = infinity the means, 0 where a bin is empty.
    """
    total = float(np.atleast_2d(mass)[0].sum())
    scale = mass ** (1.0 - 1.0 / power) * total ** (1.0 / power)
    scale = np.broadcast_to(scale.reshape(mass.shape + (1,) * (sums.ndim - mass.ndim)), sums.shape)
    return np.asarray(np.divide(sums, scale, np.zeros_like(sums), where=scale > 0))


def scaled_gaps(mass: Floats, sums: Floats, power: float) -> Floats:
    """Return the gaps (B, bins) of sums of residuals in bins of some mass; see `_scaled`."""
    scale = mass ** (1.0 - 1.0 / power) * mass.sum(axis=1, keepdims=True) ** (1.0 / power)
    return np.asarray(np.divide(sums, scale, np.zeros_like(sums), where=scale > 0))


def _length(values: Floats, power: float) -> float:
    """Return the p-norm of values that are not negative."""
    return float(np.linalg.norm(values, power))


def _residuals(predictions: Predictions) -> Floats:
    out = -predictions.probs
    out[np.arange(predictions.n, dtype=np.int32), predictions.labels] += 1.0
    return out


def _weights(predictions: Predictions) -> Floats:
    return np.ones(1) if predictions.sample_weight is None else predictions.sample_weight
