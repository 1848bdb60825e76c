"""Measures of the confidence, the largest probability, on right and on wrong predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import BoundMeasure, Labels
from caltest.measures.label_scores import row_weights
from caltest.numerics.label_scores import wrong_and_right_sums
from caltest.numerics.labels import draw_events, event_table
from caltest.predictions import Predictions

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ConfidenceSums:
    """Weighted sums for each row of labels.

    Attributes
    ----------
    wrong, right : (B,) array
        Of the weights of the wrong and of the right predictions.
    confidence_on_wrong, doubt_on_right : (B,) array
        Of the confidence, and of 1 less the confidence.
    """

    wrong: Floats
    right: Floats
    confidence_on_wrong: Floats
    doubt_on_right: Floats


class BoundConfidence(BoundMeasure):
    """A function of the sums above; the labels are whether the predicted class is right."""

    def __init__(
        self, predictions: Predictions, function: Callable[[ConfidenceSums], Floats]
    ) -> None:
        super().__init__(predictions)
        top = predictions.probs.argmax(axis=1)
        self._confidence = np.take_along_axis(predictions.probs, top[:, None], axis=1)[:, 0]
        self._right: Labels = (predictions.labels == top).view(np.uint8)
        self._weight = row_weights(predictions)
        self._function = function

    @property
    def observed(self) -> Labels:
        return self._right

    @property
    def label_probs(self) -> Floats:
        return event_table(self._confidence)

    def redraw(self, rng: np.random.Generator, size: int) -> Labels:
        return draw_events(self._confidence, rng, size)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return self._function(self.sums(labels))

    def sums(self, labels: Labels) -> ConfidenceSums:
        """Return the sums for each row of `labels` (B, n)."""
        return ConfidenceSums(*wrong_and_right_sums(labels, self._confidence, self._weight).T)


def mean_or_zero(sums: Floats, mass: Floats) -> Floats:
    """Divide where there is something to divide by."""
    return np.divide(sums, mass, np.zeros_like(sums), where=mass > 0)
