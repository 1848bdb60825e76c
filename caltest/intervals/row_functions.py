"""Measures as functions of the rows that are drawn or left out."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from caltest.intervals.resampling import total_of
from caltest.measures import Measure
from caltest.measures.label_scores import TabledScore, row_weights
from caltest.measures.recalibration.mean_calibration import MeanCalibration
from caltest.measures.scores.brier import BrierScore
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]

GROUPS = 200  # as many values show the skewness of a sum as well as all rows do


class RowFunction(ABC):
    """A measure of some rows."""

    @abstractmethod
    def __call__(self, rows: Rows) -> float:
        """Return the measure of the rows, which may repeat."""

    @abstractmethod
    def without_groups(self, seed: int) -> Floats:
        """Return the values without each row, or where rows are many, without groups of them."""


class AnyMeasure(RowFunction):
    """A measure bound anew to every choice of rows."""

    def __init__(self, measure: Measure, predictions: Predictions) -> None:
        self.measure, self.predictions = measure, predictions

    def __call__(self, rows: Rows) -> float:
        bound = self.measure.bind(self.predictions.subset(rows), 1)
        return bound.estimate(bound.value(1))

    def without_groups(self, seed: int) -> Floats:
        n = self.predictions.n
        order = np.random.default_rng(seed).permutation(n) if n > GROUPS else np.arange(n)
        groups = np.array_split(order, min(n, GROUPS))
        rows = np.arange(n, dtype=np.int32)
        return np.array([self(np.delete(rows, group)) for group in groups])


class RowMean(RowFunction):
    """The weighted mean of a score of each row."""

    def __init__(self, scores: Floats, weight: Floats) -> None:
        self.scores, self.weight = scores, np.array(weight)

    def __call__(self, rows: Rows) -> float:
        return total_of(rows, self.scores) / total_of(rows, self.weight)

    def without_groups(self, seed: int) -> Floats:
        return np.asarray((self.scores.sum() - self.scores) / (self.weight.sum() - self.weight))


def row_function(measure: Measure, predictions: Predictions) -> RowFunction:
    """Return the measure as a function of rows, by their scores where it is a mean of these."""
    bound = measure.bind(predictions)
    weight = row_weights(predictions)
    if predictions.m == 2 and isinstance(measure, BrierScore | MeanCalibration):
        gap = predictions.labels - predictions.probs[:, 1]
        squared = isinstance(measure, BrierScore)
        return RowMean(weight * (np.square(gap) if squared else gap), weight)
    if isinstance(bound, TabledScore):
        return RowMean(bound.row_scores(), weight)
    return AnyMeasure(measure, predictions)


def row_mean(measure: Measure, predictions: Predictions) -> RowMean:
    """Return a measure that is a mean of row scores as such."""
    function = row_function(measure, predictions)
    if not isinstance(function, RowMean):
        raise TypeError(measure)
    return function
