"""Calibration errors as lengths: the norm of a vector of mean gaps between labels and predictions.

The ECE is the sum of the lengths of the gaps of its bins, the MCE the largest of them, KS the
largest partial sum. Such an error is a norm of a vector that resampling the rows perturbs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest.intervals.resampling import cell_sums, class_cell_sums, partial_sums, total_of
from caltest.measures import Measure
from caltest.measures.bins.classwise_ece import ClasswiseECE, ClasswiseError
from caltest.measures.bins.ece import ECE
from caltest.measures.bins.mce import MCE
from caltest.measures.cumulative.ks import KSError
from caltest.measures.cumulative.kuiper import KuiperError
from caltest.measures.kernel.ucme import UCME
from caltest.measures.one_dimension import sorted_rows
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Vector = Callable[[Rows], Floats]


@dataclass(frozen=True)
class Gaps:
    """A vector of gaps for any resample of rows, and the norm that makes it an error.

    Attributes
    ----------
    n : int
        The number of rows to draw.
    vector : callable
        `vector(rows)`: the gaps of the drawn rows.
    norm : callable
        `norm(gaps)`: the error, or its root.
    power : int
        2 where the error is the square of the norm.
    """

    n: int
    vector: Vector
    norm: Callable[[Floats], float]
    power: int = 1


def has_gaps(measure: Measure) -> bool:
    """Tell whether the measure is a norm of gaps in bins or partial sums that stay fixed."""
    if isinstance(measure, ECE | MCE):
        return measure.binning != "sweep" and measure.distance in {"tv", "cityblock"}
    if isinstance(measure, KSError | KuiperError):
        return not measure.scaled
    return isinstance(measure, ClasswiseECE | UCME)


def gaps_of(measure: Measure, predictions: Predictions) -> Gaps:
    """Return the gaps of a measure that has them."""
    weight = predictions.sample_weight
    if weight is not None and not weight.all():
        predictions = predictions.subset(weight > 0)
    if isinstance(measure, ECE | MCE):
        return _binned(measure, predictions)
    if isinstance(measure, KSError | KuiperError):
        return _partial_sums(measure, predictions)
    if isinstance(measure, ClasswiseECE):
        return _classwise(measure, predictions)
    if isinstance(measure, UCME):
        return _at_locations(measure, predictions)
    raise TypeError(measure)


def _binned(measure: ECE | MCE, predictions: Predictions) -> Gaps:
    cell, cells = measure.cells(predictions)
    cell = np.asarray(cell, dtype=np.int64)
    gap = _deltas(predictions)
    unit = 1.0 if measure.distance == "cityblock" else 0.5
    if predictions.m == 2:  # opposite gaps, so that either is half the sum
        gap, unit = np.ascontiguousarray(gap[:, 1:]), 2.0 * unit
    weight, power = _weights(predictions), float(getattr(measure, "p", np.inf))

    def vector(rows: Rows) -> Floats:
        return _scaled(*cell_sums(rows, cell, gap, weight, cells), power)

    def norm(gaps: Floats) -> float:
        return unit * _length(np.abs(gaps).sum(axis=1), power)

    return Gaps(predictions.n, vector, norm)


def _classwise(measure: ClasswiseECE, predictions: Predictions) -> Gaps:
    codes = ClasswiseError(measure, predictions).codes
    gap, weight, power = _deltas(predictions), _weights(predictions), float(measure.p)

    def vector(rows: Rows) -> Floats:
        return _scaled(*class_cell_sums(rows, codes, gap, weight, measure.bins), power)

    def norm(gaps: Floats) -> float:
        return float(np.mean([_length(np.abs(row), power) for row in gaps]))

    return Gaps(predictions.n, vector, norm)


def _partial_sums(measure: KSError | KuiperError, predictions: Predictions) -> Gaps:
    event, labels, weight = sorted_rows(predictions, f"the {measure.title}")
    gap, mass, ends = weight * (labels - event), np.array(weight), step_ends(event)

    def vector(rows: Rows) -> Floats:
        return np.asarray(partial_sums(rows, gap, ends) / total_of(rows, mass))

    def norm(gaps: Floats) -> float:
        extremes = np.array([max(gaps.max(), 0.0)]), np.array([min(gaps.min(), 0.0)])
        return float(measure.functional(*extremes)[0])

    return Gaps(event.size, vector, norm)


def _at_locations(measure: UCME, predictions: Predictions) -> Gaps:
    gap, weight = measure.bind(predictions).deviations(), _weights(predictions)
    whole = np.zeros(predictions.n, dtype=np.int64)

    def vector(rows: Rows) -> Floats:
        mass, sums = cell_sums(rows, whole, gap, weight, 1)
        return np.asarray(sums[0] / mass[0])

    def norm(gaps: Floats) -> float:
        return float(np.sqrt(np.square(gaps).mean()))

    return Gaps(predictions.n, vector, norm, power=2)


def _scaled(mass: Floats, sums: Floats, power: float) -> Floats:
    """Return the gaps such that the error is their p-norm: share^(1/p) times the mean gap.

    For p = 1 the sums over the whole; for p = infinity the means, 0 where a bin is empty.
    """
    total = float(np.atleast_2d(mass)[0].sum())
    scale = mass ** (1.0 - 1.0 / power) * total ** (1.0 / power)
    scale = np.broadcast_to(scale.reshape(mass.shape + (1,) * (sums.ndim - mass.ndim)), sums.shape)
    return np.asarray(np.divide(sums, scale, np.zeros_like(sums), where=scale > 0))


def _length(values: Floats, power: float) -> float:
    """Return the p-norm of values that are not negative."""
    return float(np.linalg.norm(values, power))


def _deltas(predictions: Predictions) -> Floats:
    out = -predictions.probs
    out[np.arange(predictions.n, dtype=np.int32), predictions.labels] += 1.0
    return out


def _weights(predictions: Predictions) -> Floats:
    return np.ones(1) if predictions.sample_weight is None else predictions.sample_weight
