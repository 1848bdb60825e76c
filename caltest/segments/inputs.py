"""What segments are made of: named columns, a table, the features of the model, or a matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.errors import InvalidInput, invalid, shown
from caltest.predictions import ModelData, sources
from caltest.validation import check_choice, check_not_label, check_unused
from caltest.validation.arrays import AnyArray, as_array
from caltest.validation.suspicions import suspect_index

Named = dict[str, AnyArray]


@dataclass(frozen=True)
class Given:
    """What the user gave, read but not cut.

    Attributes
    ----------
    columns : dict
        Names and values of columns; none of a matrix.
    members : (n, S) array or None
        A boolean matrix.
    names : list of str
        What the columns of the matrix are called.
    scan : bool
        Whether nobody named segments, so that both sides of each cut are taken as well.
    """

    columns: Named
    members: NDArray[np.bool_] | None = None
    names: Sequence[str] = ()
    scan: bool = False

    @property
    def text(self) -> str:
        """Where segments come from, for print."""
        if self.members is not None:
            return "a boolean matrix"
        count = len(self.columns)
        return f"column {next(iter(self.columns))!r}" if count == 1 else f"{count} columns"


def read_segments(segments: object, features: object, given: ModelData, n: int) -> Given:
    """Read the segments that were named, or else, for None and True, the features as columns."""
    if segments is None or segments is True:
        return Given(_check_any(_features(features, given), "features"), scan=True)
    if names_of(features) is None:
        check_unused("where segments are given", features=features)
    names = names_of(segments)
    if names is not None:
        return Given(_named(names, given))
    columns = segments if isinstance(segments, Mapping) else {"segments": segments}
    own = {str(name): values for name, values in columns.items()}
    suspect_index(**{"data": given.data, "model": given.model, **own})
    if isinstance(segments, Mapping):
        return Given(_check_any({str(k): as_array(v, str(k)) for k, v in segments.items()}))
    if sources.is_table(segments):
        return _of_table(segments)
    return _of_array(segments, n)


def names_of(value: object) -> list[str] | None:
    """Return the columns that a text or a list of texts names; None where it holds values."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
        return list(value)
    return None


def _of_table(table: object) -> Given:
    columns = _columns_of(sources.table_of_frame(table))
    if columns and all(values.dtype.kind == "b" for values in columns.values()):
        return Given({}, np.column_stack(list(columns.values())), list(columns))
    return Given(_check_any(columns))


def _of_array(segments: object, n: int) -> Given:
    array = as_array(segments, "segments")
    if array.ndim == 1:
        return Given({"segment": array})
    if array.ndim != 2 or array.dtype.kind != "b":
        rule = "segments must be column names, a dict or table of columns, or a boolean matrix"
        got = f"dtype {array.dtype}, shape {array.shape}"
        remedy = "pass booleans, or features= for columns of values"
        raise invalid(rule, got, remedy)
    if len(array) != n:
        rule = "segments must have one row per row of probs"
        raise invalid(rule, f"{len(array)} for {n} rows", "transpose it if segments are rows")
    return Given({}, array, [f"segment {k}" for k in range(array.shape[1])])


def _columns_of(table: sources.Table, names: Sequence[str] | None = None) -> Named:
    wanted = table.names if names is None else names
    return {name: table.column(name) for name in wanted}


def _check_any(columns: Named, name: str = "segments") -> Named:
    if not columns:
        raise invalid(f"{name} must have at least one column", "none", "pass one, or a matrix")
    return columns


def _named(names: Sequence[str], given: ModelData) -> Named:
    frame = _frame(given)
    if frame is None:
        rule = "segments must be values where there is no data frame that columns could be of"
        raise invalid(rule, shown(list(names)), "pass a dict of columns, {'age': age}")
    table = sources.table_of_frame(frame)
    for name in names:
        check_choice(name, table.names, "segments")
        check_not_label(name, given.label, "segments")
    if len(set(names)) < len(names):
        raise invalid("segments must name each column once", shown(list(names)), "drop the copy")
    return _columns_of(table, names)


def _frame(given: ModelData) -> object:
    """Return the data frame among what was given, or None."""
    data = given.data
    pair = data if isinstance(data, (tuple, list)) and len(data) == 2 else (None,)
    for one in (data, given.model, pair[0]):
        if one is not None and sources.is_table(one):
            return one
    return None


def _features(features: object, given: ModelData) -> Named:
    names = names_of(features)
    if names is not None:
        return _named_features(names, given)
    if features is not None:
        return _of_values(features)
    data = given.data
    if isinstance(data, (tuple, list)) and len(data) == 2:
        return _of_values(data[0])
    frame = data if sources.is_table(data) else given.model
    if sources.is_table(frame) and given.label is not None:
        return _all_but_predictions(frame, given)
    raise _nothing_to_scan()


def _named_features(names: Sequence[str], given: ModelData) -> Named:
    try:
        return _named(names, given)
    except InvalidInput as error:
        raise InvalidInput(
            error.rule.replace("segments", "features"), error.got, error.remedy
        ) from None


def _of_values(features: object) -> Named:
    """Read a table, or an array of columns without names."""
    if isinstance(features, Mapping):
        return {str(name): as_array(values, str(name)) for name, values in features.items()}
    if sources.is_table(features):
        return _columns_of(sources.table_of_frame(features))
    array = as_array(features, "features")
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        rule = "features must be a table or an array of columns"
        raise invalid(rule, f"shape {array.shape}", "pass two dimensions, (n, d)")
    return {f"x{k}": array[:, k] for k in range(array.shape[1])}


def _all_but_predictions(frame: Any, given: ModelData) -> Named:
    table = sources.table_of_frame(frame)
    taken = [str(given.label)]
    if given.model is None or sources.is_table(given.model):
        taken += sources.prob_columns(table.names, given.probs, taken)
    return _columns_of(table, [name for name in table.names if name not in taken])


def _nothing_to_scan() -> InvalidInput:
    rule = "segments or features must be given where data has no columns beside the predictions"
    return invalid(rule, "neither", "pass features=X, or segments= with columns or a matrix")
