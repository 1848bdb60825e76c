"""Predictions of several labels a row, as those of one event each, below each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest import checks
from caltest.errors import invalid, shown
from caltest.predictions.tables import as_frame, is_table
from caltest.types import AnyArray, Flags


def stacked(
    probs: object, labels: object, names: Sequence[object] | None, **rows: object
) -> tuple[dict[str, Any], int]:
    """Return the arguments of `Predictions`, with the rows as clusters, and the number of labels.

    Parameters
    ----------
    probs, labels : array_like, shape (n, L)
        The probability of each label, and whether the row has it.
    names : sequence of length L or None
        The names of the labels.
    **rows
        `sample_weight` and `clusters` of the rows, (n,), or None.
    """
    matrix, given = checks.as_array(probs, "probs"), checks.as_array(labels, "labels")
    if matrix.ndim != 2:
        remedy = "pass a column for each label; of one label, use Predictions"
        raise invalid("probs must have shape (n, L)", f"shape {matrix.shape}", remedy)
    if given.shape != matrix.shape:
        got = f"shape {given.shape} for probs of shape {matrix.shape}"
        remedy = "pass the indicator matrix, as of scikit-learn's MultiLabelBinarizer"
        raise invalid("labels must have a column of 0 and 1 for each column of probs", got, remedy)
    n, size = matrix.shape
    if names is None:
        names = list(map(str, as_frame(probs).columns)) if is_table(probs) else None
    width = len(str(size - 1))
    called = [f"label {k:0{width}d}" for k in range(size)] if names is None else list(names)
    if len(called) != size or len(set(called)) < size:
        rule = "names must name each column of probs once"
        raise invalid(rule, f"{shown(called)} for {size} columns", "pass one name per label")
    values = matrix.astype(object)
    is_number = np.array([isinstance(x, int | float | np.number) for x in values.flat])
    numbers = np.where(is_number, values.ravel(), np.nan).astype(np.float64).reshape(n, size)
    _check(matrix, (numbers >= 0) & (numbers <= 1), called, "probs must lie in [0, 1]")
    _check(given, (given == 0) | (given == 1), called, "labels must be 0 or 1")
    columns = {
        name: None if value is None else checks.check_column(value, n, name).repeat(size)
        for name, value in rows.items()
    }
    if columns["clusters"] is None:
        columns["clusters"] = np.arange(n).repeat(size)
    groups = np.tile(np.array(called), n)
    found = {"probs": numbers.ravel(), "labels": given.astype(np.int64).ravel(), "groups": groups}
    return {**found, **columns}, size


def _check(values: AnyArray, good: Flags, names: Sequence[object], rule: str) -> None:
    if not good.all():
        row, k = np.argwhere(~good)[0]
        got = f"{shown(values[row, k : k + 1].tolist()[0])} in row {row}, label {names[k]!r}"
        raise invalid(rule, got, "pass one column per label, with a value in each row")
