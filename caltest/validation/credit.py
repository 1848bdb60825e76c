"""Checks of what credit-risk tests take: bounds of traffic lights, correlations, master scales."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from caltest.errors import invalid, shown
from caltest.validation.arrays import AnyArray, Codes, Floats, as_array, as_numbers, read_only
from caltest.validation.labels import listing


def check_light_bounds(bounds: object, name: str = "lights") -> tuple[float, float, float]:
    """Check the three p-values that part four colours: in (0, 1) and descending."""
    items = list(bounds) if isinstance(bounds, (tuple, list, np.ndarray)) else []
    if len(items) == 3:
        first, second, third = as_numbers(items, name).astype(np.float64).tolist()
        if 1 > first > second > third > 0:
            return first, second, third
    rule = f"{name} must be three descending p-values between 0 and 1"
    raise invalid(rule, shown(bounds), "pass (0.5, 0.2, 0.05), the bounds of yellow, orange, red")


def check_correlation(
    value: object, classes: Collection[str], name: str = "correlation"
) -> float | str:
    """Check a default correlation: a number in [0, 1), or an asset class that has a formula."""
    if isinstance(value, str) and value in classes:
        return value
    number = isinstance(value, (int, float, np.integer, np.floating))
    if number and not isinstance(value, bool) and 0 <= float(value) < 1:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    rule = f"{name} must lie in [0, 1) or be an asset class ({listing(sorted(classes))})"
    raise invalid(rule, shown(value), "pass 0.12 for 12 %")


def check_default_rates(pd: object, name: str = "pd") -> Floats:
    """Check the probabilities of default of grades, (G,), each in [0, 1]."""
    values = _column(pd, name).astype(np.float64)
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        row = int(bad.argmax())
        remedy = "pass probabilities; divide per cent by 100"
        got = f"{values[row]:.8g} at grade {row}"
        raise invalid(f"{name} must lie in [0, 1]", got, remedy)
    return read_only(values)


def check_no_column_names(columns: Mapping[str, object]) -> None:
    """Check that values are given where there is no data frame that column names could be of."""
    for name, values in columns.items():
        if isinstance(values, str):
            rule = f"{name} must be values where there is no data frame"
            raise invalid(rule, shown(values), "pass data=, the data frame with that column")


def check_counts(counts: object, size: int, name: str, *, minimum: int) -> Codes:
    """Check whole numbers of obligors or of defaults, one for each grade."""
    values = _column(counts, name)
    if values.size != size:
        rule = f"{name} must have one entry per grade"
        got = f"{values.size} for {size} grades"
        raise invalid(rule, got, "take all columns from the same table")
    bad = ~((values >= minimum) & (values < 2**53)) | (values != np.floor(values))
    if bad.any():
        row = int(bad.argmax())
        rule = f"{name} must be whole numbers of at least {minimum}"
        got = f"{values[row]:.8g} at grade {row}"
        raise invalid(rule, got, "leave out a grade without obligors" if minimum else "pass counts")
    return read_only(values.astype(np.int64))


def check_not_more_defaults(defaults: Codes, n: Codes) -> None:
    """Check that no grade has more defaults than obligors."""
    bad = defaults > n
    if bad.any():
        row = int(bad.argmax())
        got = f"{defaults[row]} of {n[row]} at grade {row}"
        remedy = "swap the two if defaults and n were exchanged"
        raise invalid("defaults must not exceed n", got, remedy)


def check_grades(grades: object, size: int, name: str = "grades") -> list[object]:
    """Check the names of grades: one each, all different; numbered from 1 by default."""
    if grades is None:
        return list(range(1, size + 1))
    values: list[object] = as_array(grades, name).ravel().tolist()
    distinct = len(set(values))
    if not len(values) == distinct == size:
        got = f"{distinct} distinct of {len(values)} for {size} grades"
        raise invalid(f"{name} must name each grade once", got, "pass one name per row")
    return values


def _column(values: object, name: str) -> AnyArray:
    array = as_numbers(values, name)
    if array.ndim != 1 or array.size == 0:
        rule = f"{name} must be a column with one entry per grade"
        raise invalid(rule, f"shape {array.shape}", "pass one dimension, at least one grade")
    return array
