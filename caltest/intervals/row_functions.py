"""Measures as functions of the rows that are drawn or left out."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures import Measure
from caltest.measures.outcome import RowScores
from caltest.numerics.resampled_sums import total_of
from caltest.predictions import Predictions
from caltest.types import Floats, SmallInts

GROUPS = 200  # as many values show the skewness of a sum as well as all rows do


class RowFunction(ABC):
    """A measure of some rows."""

    @abstractmethod
    def __call__(self, rows: SmallInts) -> float:
        """Return the measure of the rows, which may repeat."""

    @abstractmethod
    def without_groups(self, seed: int) -> Floats:
        """Return the values without each row, or where rows are many, without groups of them."""


class AnyMeasure(RowFunction):
    """A measure bound anew to every choice of rows."""

    def __init__(self, measure: Measure, predictions: Predictions) -> None:
        self.measure, self.predictions = measure, predictions

    def __call__(self, rows: SmallInts) -> float:
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

    def __init__(self, scores: RowScores) -> None:
        self.scores, self.weight = scores.weighted, np.array(scores.weight)

    def __call__(self, rows: SmallInts) -> float:
        return total_of(rows, self.scores) / total_of(rows, self.weight)

    def without_groups(self, seed: int) -> Floats:
        return np.asarray((self.scores.sum() - self.scores) / (self.weight.sum() - self.weight))


def row_function(measure: Measure, predictions: Predictions) -> RowFunction:
    """Return the measure as a function of rows, by their scores where it is a mean of these."""
    scores = measure.row_scores(predictions)
    return AnyMeasure(measure, predictions) if scores is None else RowMean(scores)


def jackknife_error(measure: Measure, estimate: float, without: Floats, unit: str) -> float:
    r"""Return the standard error of a measure from its values without each of G units or groups.

    .. math:: se^2 = \frac{G - 1}{G} \sum_g (T_g - \bar T)^2
    """
    if not (np.isfinite(estimate) and np.isfinite(without).all()):
        reason = f"the {measure.symbol} is infinite for these rows or without a {unit}"
        raise NotApplicable(reason, "report the p-value alone")
    spread = float(np.square(without - without.mean()).sum())
    if spread == 0:
        reason = f"the {measure.symbol} is the same without any {unit}"
        raise NotApplicable(reason, "report the p-value alone")
    return float(np.sqrt((without.size - 1) / without.size * spread))
