"""Checks of what tests of fit take: the span of a smoother, the design of a fitted model."""

from __future__ import annotations

import numpy as np

from caltest.errors import invalid, shown
from caltest.validation.arrays import Floats, as_numbers, read_only
from caltest.validation.options import check_positive


def check_fraction(value: object, name: str) -> float:
    """Check a share of the rows, in (0, 1]."""
    share = check_positive(value, name)
    if share > 1:
        raise invalid(f"{name} must be at most 1", shown(value), "pass a share, such as 2/3")
    return share


def check_design(design: object, name: str = "design") -> Floats:
    """Check the features (rows, k) that a model was fitted to, finite; (rows,) for one feature."""
    array = as_numbers(design, name)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.size == 0:
        rule = f"{name} must have a row for each observation and a column for each feature"
        raise invalid(rule, f"shape {array.shape}", "pass the features of the model, (n, k)")
    values = array.astype(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = (int(at) for at in np.argwhere(bad)[0])
        got = f"{values[row, column]} at row {row}, column {column}"
        raise invalid(f"{name} must be finite", got, "pass the features as the model saw them")
    return read_only(values)


def check_rows_of_design(design: Floats, n: int, name: str = "design") -> None:
    """Check that the design has the rows of the predictions that are tested."""
    if len(design) != n:
        rule = f"{name} must have one row per row of probs"
        raise invalid(rule, f"{len(design)} for {n} rows", "take both from the same rows")
