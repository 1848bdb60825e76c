"""Measures of one-dimensional predictions: two classes under the lens."""

from __future__ import annotations

from functools import cached_property

from caltest.measures.bound import BoundMeasure
from caltest.predictions import Predictions
from caltest.types import Events, Floats, Labels, Order
from caltest.units.units import check_one_dimension, score_order, sorted_columns

Rows = tuple[Floats, Events, Floats]


def sorted_rows(predictions: Predictions, measure: str) -> Rows:
    """Return P(class 1) in ascending order, with labels and weights; without weights, ones.

    Equal scores are in the order of their labels, so that weights of 1 change no bit of a result.

    Raises
    ------
    NotApplicable
        If the lens leaves more than two classes; the message names the measure.
    """
    check_one_dimension(predictions, measure)
    return sorted_columns(predictions)


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
        return sorted_columns(self.predictions)

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
