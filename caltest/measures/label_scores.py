"""Measures that are a mean over rows of a score of the prediction and the label."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import BoundMeasure, Labels, Measure
from caltest.measures.outcome import RowScores, RowTerms
from caltest.measures.residual_sums import ResidualStatistic, of_row_terms
from caltest.numerics.class_sums import label_sums
from caltest.predictions import Predictions
from caltest.units.units import rounding_scale, row_weights

Floats = NDArray[np.float64]
Sums = Callable[[Labels, Floats, Floats], Floats]


def sum_unit(sd: float, weight: Floats) -> float:
    """Return what a term of the size of its weight rounds to, in standard deviations of the sum.

    The sum of a few rare events is in units that are small beside each of them.
    """
    return 10.0 * max(1.0, float(weight.max()) / sd) if sd > 0 else 1.0


def binary_terms(
    predictions: Predictions, without: Floats, with_event: Floats, **options: bool
) -> RowTerms:
    """Return the terms of rows of two classes, (n,) without and with an event, times weights."""
    weight = row_weights(predictions)
    return RowTerms.of(
        np.column_stack([weight * without, weight * with_event]), predictions, **options
    )


def event_terms(predictions: Predictions, **options: bool) -> RowTerms:
    """Return the terms of the number of events; with sample weights of their sum."""
    none = np.zeros(predictions.n)
    return binary_terms(predictions, none, none + 1.0, **options)


class MeanScore(Measure):
    """A measure that is the mean over rows of a score; its test is two-sided."""

    alternative: ClassVar[str] = "two-sided"

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "saddlepoint")

    @property
    def intervals(self) -> tuple[str, ...]:
        return ("unseen-events", "studentized", "bca")

    @abstractmethod
    def row_scores(self, predictions: Predictions) -> RowScores:
        """Return the scores."""

    @abstractmethod
    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the scores of each label, times the weights."""

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the sum of the terms of the rows, each less its mean."""
        return of_row_terms(self.row_terms(predictions), predictions)

    def score_table(self, predictions: Predictions) -> Floats:
        """Return the score (n, m) of each label, times the weights."""
        return self.row_terms(predictions).table

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return the mean score of labels drawn from the predictions."""
        weight, probs = row_weights(predictions), predictions.probs
        own = np.where(probs > 0, self.score_table(predictions), 0.0) * probs
        return float(own.sum() / weight.sum())


class TabledScore(BoundMeasure):
    """The weighted mean of a table (n, m) of scores, one for each possible label."""

    def __init__(self, predictions: Predictions, table: Floats) -> None:
        super().__init__(predictions)
        weight = row_weights(predictions)
        self._total = float(weight.sum())
        if predictions.sample_weight is not None:
            # A row that does not count may have an infinite score.
            table = np.where(weight[:, None] > 0, table, 0.0) * weight[:, None]
        self._table = table
        self.scale = rounding_scale(predictions.n)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return np.asarray(label_sums(self._table, labels) / self._total)

    def row_scores(self) -> RowScores:
        """Return the scores of the observed labels."""
        own = np.take_along_axis(self._table, self.predictions.labels[:, None], axis=1)[:, 0]
        return RowScores(own, row_weights(self.predictions))

    def row_terms(self) -> RowTerms:
        """Return the weighted scores of each label."""
        return RowTerms.of(self._table, self.predictions)


class BinaryScore(BoundMeasure):
    """The weighted mean of a score of two classes, computed as it is summed."""

    def __init__(self, predictions: Predictions, sums: Sums) -> None:
        super().__init__(predictions)
        self._event = predictions.probs[:, 1]
        self._weight = row_weights(predictions)
        self._total = float(self._weight.sum())
        self._sums = sums
        self.scale = rounding_scale(predictions.n)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return np.asarray(self._sums(labels, self._event, self._weight) / self._total)
