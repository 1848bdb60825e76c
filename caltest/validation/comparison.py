"""Checks of what comparisons take: tables of scores, average ranks, simulated p-values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from caltest.errors import InvalidInput, invalid, shown
from caltest.validation.arrays import AnyArray, Floats, as_array, as_numbers, read_only
from caltest.validation.labels import listing


def check_score_table(scores: object, name: str = "scores") -> Floats:
    """Check scores, (N, k): finite, at least two data sets and two methods."""
    values = as_numbers(scores, name).astype(np.float64)
    if values.ndim != 2 or min(values.shape) < 2:
        rule = f"{name} must have a row per data set and a column per method, two of each"
        raise invalid(rule, f"shape {values.shape}", "pass (N, k), or (k,) average ranks")
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        got = f"{values[row, column]} at row {row}, column {column}"
        raise invalid(f"{name} must be finite", got, "leave out that data set or that method")
    return read_only(values)


def check_average_ranks(ranks: object, name: str = "scores") -> Floats:
    """Check average ranks, (k,): in [1, k] with the mean (k + 1) / 2."""
    values = as_numbers(ranks, name).astype(np.float64)
    k = values.size
    if k < 2 or not np.all((values >= 1) & (values <= k)):
        rule = f"{name} of one dimension must be average ranks, two or more from 1 to their number"
        raise invalid(rule, shown(values.tolist()), "pass a table (data sets, methods) of scores")
    if abs(float(values.mean()) - (k + 1) / 2) > 0.5 / k:
        rule = f"{name} of one dimension must be average ranks, whose mean is {(k + 1) / 2:g}"
        remedy = "pass the ranks of all methods, ties shared"
        raise invalid(rule, f"a mean of {values.mean():.4g}", remedy)
    return read_only(values)


def check_names(names: object, size: int, name: str = "names") -> tuple[str, ...]:
    """Check names: one each, all different."""
    values = [str(value) for value in as_array(names, name).ravel().tolist()]
    distinct = len(set(values))
    if not len(values) == distinct == size:
        got = f"{distinct} distinct of {len(values)} for {size}"
        raise invalid(f"{name} must name each method once", got, "pass one name per column")
    return tuple(values)


def check_control(control: object, names: Sequence[str], name: str = "control") -> int:
    """Check a control method and return its place among the names."""
    if str(control) in names:
        return list(names).index(str(control))
    rule = f"{name} must be one of the methods {listing(names)}"
    raise invalid(rule, shown(control), "pass its name")


def check_simulated_pvalues(values: object, name: str) -> Floats:
    """Check the p-values of a test over simulated data sets: in [0, 1], at least one."""
    array = as_numbers(values, name).astype(np.float64)
    if array.ndim != 1 or array.size == 0:
        rule = f"{name} must be a column of p-values, one for each data set"
        raise invalid(rule, f"shape {array.shape}", "pass one dimension, at least one value")
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        row = int(bad.argmax())
        got = f"{array[row]:.8g} at row {row}"
        raise invalid(f"{name} must lie in [0, 1]", got, "leave out data sets without a p-value")
    return read_only(array)


def check_not_mixed(values: Mapping[object, object], name: str) -> bool:
    """Tell a mapping of mappings from one of columns; a mixture or nothing is refused."""
    nested = [isinstance(value, Mapping) for value in values.values()]
    if not nested or any(nested) != all(nested):
        rule = f"{name} must map each test, or each model and each test, to its p-values"
        got = "a mixture of both" if nested else "nothing"
        raise invalid(rule, got, "pass {test: p-values} or {model: {test: p-values}}")
    return all(nested)


def check_columns_of_pvalues(names: Sequence[str], name: str = "pvalues") -> None:
    """Check that a data frame has the p-values and the tests."""
    if not {"pvalue", "test"} <= set(names):
        rule = f"{name} as a data frame must have the columns 'pvalue' and 'test'"
        raise invalid(rule, listing(names), "rename its columns")


def check_known(values: Iterable[object], known: Sequence[str], name: str) -> set[str]:
    """Check that each value is one of the names that are there."""
    given = [values] if isinstance(values, str) else list(values)
    unknown = [value for value in given if str(value) not in known]
    if unknown:
        raise invalid(f"{name} must be among {listing(known)}", shown(unknown[0]), "pass its name")
    return {str(value) for value in given}


def check_range(limits: object, name: str) -> tuple[float, float]:
    """Check two probabilities, the smaller first."""
    values: AnyArray = as_array(limits, name)
    if values.shape == (2,) and values.dtype.kind in "iuf":
        low, high = (float(value) for value in values)
        if 0 <= low < high <= 1:
            return low, high
    rule = f"{name} must be two numbers with 0 <= low < high <= 1"
    raise invalid(rule, shown(limits), "pass (0, 0.2)")


def needs_calibrated(name: str = "errors") -> InvalidInput:
    """Word the error for test errors of models of which nobody said whether they are calibrated."""
    return invalid(
        f"{name} needs calibrated=, since a rejection is an error for calibrated models only",
        "no calibrated",
        "name the calibrated models, or pass [] for none",
    )


def no_grades(name: str = "table") -> InvalidInput:
    """Word the error for a table that is not of a master scale."""
    return invalid(
        f"{name} must be the result of test_master_scale",
        "rows without PD and defaults",
        "use the plot 'pvalues' for other tables",
    )
