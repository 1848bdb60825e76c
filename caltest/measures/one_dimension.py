"""Measures of one-dimensional predictions: two classes under the lens."""

from __future__ import annotations

from caltest.errors import NotApplicable
from caltest.predictions import Predictions


def check_one_dimension(predictions: Predictions, measure: str) -> None:
    """Raise NotApplicable, with lenses that help, unless the lens leaves two classes."""
    if predictions.m != 2:
        raise NotApplicable(
            f"{measure} takes one-dimensional predictions, and under this lens there are "
            f"{predictions.m} classes; use lens='confidence', 'classwise' or 'top-2'"
        )
