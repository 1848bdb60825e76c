"""Checks of what is drawn of predictions and calibration maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caltest.errors import NotApplicable, invalid

if TYPE_CHECKING:
    from caltest.validation.arrays import AnyArray


def check_same_labels(before: AnyArray, after: AnyArray, name: str = "after") -> None:
    """Check that two predictions are of the same rows, by the names of their labels."""
    rule = f"{name} must hold predictions of the same rows, with the same labels"
    remedy = "predict the rows of the first again"
    if len(before) != len(after):
        raise invalid(rule, f"{len(before)} and {len(after)} rows", remedy)
    differs = np.array([a != b for a, b in zip(before.tolist(), after.tolist(), strict=True)])
    if differs.any():
        raise invalid(rule, f"another label at row {int(np.argmax(differs))}", remedy)


def check_width(values: AnyArray, m: int, name: str) -> None:
    """Check that predictions have as many classes as the map they are drawn with."""
    if values.ndim != 2 or values.shape[1] != m:
        rule = f"{name} must have {m} columns, as the map has classes"
        raise invalid(rule, f"shape {values.shape}", "pass what the map was fitted to")


def check_classes_of_map(m: int, wanted: int, what: str, remedy: str) -> None:
    """Check the number of classes that a picture of a calibration map needs."""
    if m != wanted:
        raise NotApplicable(f"{what} needs {wanted} classes, and the map has {m}; {remedy}")
