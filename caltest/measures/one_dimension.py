"""Measures of one-dimensional predictions: two classes under the lens."""

from __future__ import annotations

from caltest.predictions import Predictions
from caltest.types import Events, Floats
from caltest.units.units import check_one_dimension, sorted_columns

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
