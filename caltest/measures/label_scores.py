"""Measures that are a mean over rows of a score of the prediction and the label."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from caltest.measures.base import Measure
from caltest.measures.outcome import RowScores, RowTerms
from caltest.measures.residual_sums import Flippable, of_row_terms
from caltest.predictions import Predictions
from caltest.types import Floats
from caltest.units.units import check_one_dimension, row_weights


def sum_unit(sd: float, weight: Floats) -> float:
    """Return what a term of the size of its weight rounds to, in standard deviations of the sum.

    The sum of a few rare events is in units that are small beside each of them.
    """
    return 10.0 * max(1.0, float(weight.max()) / sd) if sd > 0 else 1.0


def event_table(probs: Floats) -> Floats:
    """Return the number of events of each label of two classes, (n, 2)."""
    return np.tile(np.arange(2.0), (len(probs), 1))


def event_terms(predictions: Predictions, measure: str, **options: bool) -> RowTerms:
    """Return the terms of the number of events; with sample weights of their sum."""
    check_one_dimension(predictions, measure)
    table = np.column_stack([np.zeros(predictions.n), row_weights(predictions)])
    return RowTerms.of(table, predictions, **options)


class LabelScore(Measure):
    """A measure that is a function of the sum over rows of a score; its test is two-sided."""

    alternative: ClassVar[str] = "two-sided"

    @abstractmethod
    def score_table(self, predictions: Predictions) -> Floats:
        """Return the score (n, m) of each label, times the weights."""

    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the scores of each label, times the weights."""
        return RowTerms.of(self.score_table(predictions), predictions)

    def residual_statistics(self, predictions: Predictions) -> Flippable:
        """Return the sum of the terms of the rows, each less its mean."""
        return of_row_terms(self.row_terms(predictions), predictions)


class MeanScore(LabelScore):
    """A measure that is the mean over rows of a score."""

    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", "saddlepoint")

    intervals: ClassVar[tuple[str, ...]] = ("unseen-events", "studentized", "bca")

    def row_scores(self, predictions: Predictions) -> RowScores:
        """Return the scores of the observed labels."""
        table = self.score_table(predictions)
        own = np.take_along_axis(table, predictions.labels[:, None], axis=1)[:, 0]
        return RowScores(own, row_weights(predictions))

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return the mean score of labels drawn from the predictions."""
        weight, probs = row_weights(predictions), predictions.probs
        own = np.where(probs > 0, self.score_table(predictions), 0.0) * probs
        return float(own.sum() / weight.sum())
