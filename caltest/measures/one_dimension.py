"""Measures of one-dimensional predictions: two classes under the lens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.numerics.sorted_scores import sort_scores
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Rows = tuple[Floats, NDArray[np.uint8], Floats]


def check_one_dimension(predictions: Predictions, measure: str) -> None:
    """Raise NotApplicable, with lenses that help, unless the lens leaves two classes."""
    if predictions.m != 2:
        raise NotApplicable(
            f"{measure} takes one-dimensional predictions, and under this lens there are "
            f"{predictions.m} classes; use lens='confidence', 'classwise' or 'top-2'"
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
    event, labels = predictions.probs[:, 1], predictions.labels
    weight = predictions.sample_weight
    if weight is None:
        return *sort_scores(event, labels), np.broadcast_to(1.0, event.size)
    order = np.lexsort((labels, event))
    order = order[weight[order] > 0]
    return event[order], labels[order].astype(np.uint8), weight[order]
