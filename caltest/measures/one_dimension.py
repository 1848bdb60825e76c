"""Measures of one-dimensional predictions: two classes under the lens."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.base import BoundMeasure, Labels, Order
from caltest.numerics.sorted_scores import sort_scores
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Rows = tuple[Floats, NDArray[np.uint8], Floats]


def check_one_dimension(predictions: Predictions, measure: str) -> None:
    """Raise NotApplicable, with lenses that help, unless the lens leaves two classes."""
    if predictions.m != 2:
        raise NotApplicable(
            f"{measure} takes one-dimensional predictions, and under this lens there are "
            f"{predictions.m} classes",
            "use lens='confidence', 'classwise' or 'top-2'",
        )


def sorted_rows(predictions: Predictions, measure: str) -> Rows:
    """Return P(class 1) in ascending order, with labels and weights; without weights, ones.

    Equal scores are in the order of their labels, so that weights of 1 change no bit of a result.

    Raises
    ------
    NotApplicable
        If the lens leaves more than two classes; the message names the measure.
    """
    check_one_dimension(predictions, measure)
    return _sorted(predictions)


def _sorted(predictions: Predictions) -> Rows:
    event, labels = predictions.probs[:, 1], predictions.labels
    weight = predictions.sample_weight
    if weight is None:
        return *sort_scores(event, labels), np.broadcast_to(1.0, event.size)
    order = score_order(predictions)
    return event[order], labels[order].astype(np.uint8), weight[order]


class SortedRows(BoundMeasure):
    """A function of the labels of two classes in ascending order of P(class 1).

    Attributes
    ----------
    event, weight : (n,) array
        P(class 1) and the weights, in that order; rows without weight are left out.
    """

    def __init__(self, predictions: Predictions, measure: str) -> None:
        super().__init__(predictions)
        check_one_dimension(predictions, measure)

    @cached_property
    def _rows(self) -> Rows:
        return _sorted(self.predictions)

    @cached_property
    def event(self) -> Floats:
        return self._rows[0]

    @cached_property
    def weight(self) -> Floats:
        return self._rows[2]

    @cached_property
    def order(self) -> Order:
        """The rows in ascending order; sorting them again waits until labels are redrawn."""
        return score_order(self.predictions)

    @property
    def observed(self) -> Labels:
        return self._rows[1]


def score_order(predictions: Predictions) -> Order:
    """Return the rows that count in ascending order of P(class 1)."""
    event, weight = predictions.probs[:, 1], predictions.sample_weight
    if weight is None:
        return np.argsort(event)
    order = np.lexsort((predictions.labels, event))
    return order[weight[order] > 0]
