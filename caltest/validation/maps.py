"""Checks of what is drawn of predictions and calibration maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caltest.errors import NotApplicable, invalid

if TYPE_CHECKING:
    from caltest.validation.arrays import AnyArray

def check_same_labels(before: AnyArray, after: AnyArray, name: str = "after") -> None:
    """Check that two predictions are of the same rows."""
    if len(before) != len(after) or (before != after).any():
        rule = f"{name} must hold predictions of the same rows, with the same labels"
        differ = f"{len(before)} and {len(after)} rows"
        if len(before) == len(after):
            differ = f"another label at row {int(np.argmax(before != after))}"
        raise invalid(rule, differ, "predict the rows of the first again")


def check_classes_of_map(m: int, wanted: int, what: str, remedy: str) -> None:
    """Check the number of classes that a picture of a calibration map needs."""
    if m != wanted:
        raise NotApplicable(f"{what} needs {wanted} classes, and the map has {m}; {remedy}")
