"""What segments are made of: named columns, a table, the features of the model, or a matrix."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from functools import cached_property
from itertools import pairwise

import numpy as np

from caltest import checks
from caltest.errors import invalid, shown
from caltest.numerics.bins import quantile_cuts
from caltest.predictions import ModelData, tables
from caltest.render import named
from caltest.types import AnyArray, Flags, Floats

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
    members: Flags | None = None
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
        checks.suspect_index(data=given.data, model=given.model, features=features)
        return Given(_check_any(_features(features, given), "features"), scan=True)
    if names_of(features) is None:
        checks.check_unused("where segments are given", features=features)
    names = names_of(segments)
    if names is not None:
        return Given(_named(names, given))
    columns = segments if isinstance(segments, Mapping) else {"segments": segments}
    own = {str(name): values for name, values in columns.items()}
    checks.suspect_index(**{"data": given.data, "model": given.model, **own})
    if isinstance(segments, Mapping):
        return Given(_check_any(_of_values(segments)))
    if tables.is_table(segments):
        read = _columns_of(segments)
        # One column alone has two sides; several may be segments that overlap.
        if len(read) > 1 and all(values.dtype.kind == "b" for values in read.values()):
            return Given({}, np.column_stack(list(read.values())), list(read))
        return Given(_check_any(read))
    return _of_array(segments, n)


def names_of(value: object) -> list[str] | None:
    """Return the columns that a text or a list of texts names; None where it holds values."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
        return list(value)
    return None


def _of_array(segments: object, n: int) -> Given:
    array = checks.as_array(segments, "segments")
    if array.ndim == 1:  # a column, which a Series names
        return Given({str(getattr(segments, "name", None) or "segment"): array})
    if array.ndim != 2 or array.dtype.kind != "b":
        rule = "segments must be column names, a dict or table of columns, or a boolean matrix"
        got = f"dtype {array.dtype}, shape {array.shape}"
        raise invalid(rule, got, "pass booleans, or features= for columns of values")
    if len(array) != n:
        rule = "segments must have one row per row of probs"
        raise invalid(rule, f"{len(array)} for {n} rows", "transpose it if segments are rows")
    return Given({}, array, [f"segment {k}" for k in range(array.shape[1])])


def _columns_of(frame: object, names: Sequence[str] | None = None) -> Named:
    table = tables.table_of_frame(frame)
    return {name: table.column(name) for name in (table.names if names is None else names)}


def _check_any(columns: Named, name: str = "segments") -> Named:
    if not columns:
        raise invalid(f"{name} must have at least one column", "none", "pass one, or a matrix")
    return columns


def _named(names: Sequence[str], given: ModelData, what: str = "segments") -> Named:
    frame = frame_of(given)
    if frame is None:
        rule = f"{what} must be values where there is no data frame that columns could be of"
        raise invalid(rule, shown(list(names)), "pass a dict of columns, {'age': age}")
    known = tables.table_of_frame(frame).names
    for name in names:
        checks.check_choice(name, known, what)
        checks.check_not_label(given.label, what, name)
    checks.check_once(names, what)
    return _columns_of(frame, names)


def frame_of(given: ModelData) -> object:
    """Return the data frame among what was given, or None."""
    data = given.data
    pair = data if isinstance(data, (tuple, list)) and len(data) == 2 else (None,)
    for one in (data, given.model, pair[0]):
        if one is not None and tables.is_table(one):
            return one
    return None


def _features(features: object, given: ModelData) -> Named:
    names = names_of(features)
    if names is not None:
        return _named(names, given, "features")
    if features is not None:
        return _of_values(features)
    data = given.data
    if isinstance(data, (tuple, list)) and len(data) == 2:
        return _of_values(data[0])
    frame = data if tables.is_table(data) else given.model
    if not tables.is_table(frame) or given.label is None:
        rule = "segments or features must be given where data has no columns beside the predictions"
        raise invalid(rule, "neither", "pass features=X, or segments= with columns or a matrix")
    known = tables.table_of_frame(frame).names
    taken = [str(given.label), *given.dependence.columns]
    if isinstance(given.sample_weight, str):
        taken.append(given.sample_weight)
    if given.model is None or tables.is_table(given.model):
        taken += tables.prob_columns(known, given.probs, taken)
    return _columns_of(frame, [name for name in known if name not in taken])


def _of_values(features: object) -> Named:
    """Read a table, or an array of columns without names."""
    if isinstance(features, Mapping):
        return {str(name): checks.as_array(values, str(name)) for name, values in features.items()}
    if tables.is_table(features):
        return _columns_of(features)
    array = checks.as_array(features, "features")
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        rule = "features must be a table or an array of columns"
        raise invalid(rule, f"shape {array.shape}", "pass two dimensions, (n, d)")
    return {f"x{k}": array[:, k] for k in range(array.shape[1])}


@dataclass(frozen=True)
class Column:
    """A column whose values are numbered.

    Attributes
    ----------
    name : str
        What the user calls it.
    codes : (n,) array
        The number of the value that each row has.
    conditions : tuple of str
        What each value says of a row, such as "age in (30, 45]".
    cuts : tuple of str
        Where numbers were cut, so that the first values are in ascending order; else nothing.
    ends : tuple of int
        The rows of the first and the last part of coarser cuts, if these are known.
    """

    name: str
    codes: AnyArray
    conditions: tuple[str, ...]
    cuts: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.conditions)

    @cached_property
    def unions(self) -> Unions:
        """The values; of a number that is cut, the sides of each cut and whether it is missing."""
        parts = len(self.cuts) + 1 if self.cuts else 0
        values = [k for k, text in enumerate(self.conditions) if text and k >= parts]
        texts = [self.conditions[k] for k in values]
        rows = [np.arange(self.size) == k for k in values]
        single = [True] * len(values)
        place, below = np.arange(self.size), np.cumsum(np.bincount(self.codes)).tolist()
        for k, cut in enumerate(self.cuts, start=1):
            texts += [f"{self.name} <= {cut}", f"{self.name} > {cut}"]
            rows += [place < k, (place >= k) & (place < parts)]
            counts = (below[k - 1], below[parts - 1] - below[k - 1])
            single += [count in self.ends for count in counts]
        return Unions(tuple(texts), np.array(rows, dtype=np.float64), np.array(single))


@dataclass(frozen=True)
class Unions:
    """Sets of values of a column.

    Attributes
    ----------
    conditions : tuple of str
        What each says of a row.
    members : (V, size) array
        Which values are in each.
    single : (V,) array
        Whether it is a value, or a part of a range, that the tables have.
    """

    conditions: tuple[str, ...]
    members: Floats
    single: Flags


def column_of(
    values: object, n: int, name: str, bins: int, *, parts: int | None = None, least: int = 1
) -> Column:
    """Number the values of a column; more than `bins` numbers or times are cut at quantiles.

    They are cut into `parts`, by default `bins`; both are fewer where the rows with a value would
    not have `least` in each. Missing values are a value of their own.
    """
    array = checks.check_column(values, n, f"column {name!r}")
    lacks = missing_of(array)
    present = array[~lacks]
    items = present.tolist() if present.dtype.kind == "O" else []
    if items and all(isinstance(item, dt.date) for item in items):
        clock = [t.replace(tzinfo=None) if isinstance(t, dt.datetime) else t for t in items]
        present = np.array(clock, dtype="datetime64[us]")  # the time that conditions name
    elif items and all(isinstance(item, dt.timedelta) for item in items):
        present = np.array(items, dtype="timedelta64[us]")
    name = named(name)  # as conditions say it
    codes = np.empty(n, dtype=np.int64)
    cuts: list[str] = []
    numeric = numbers_of(present)
    bins, parts = (max(2, min(count, present.size // least)) for count in (bins, parts or bins))
    if numeric is not None and np.unique(numeric).size > bins:
        ends = quantile_cuts(np.sort(numeric), None, parts)
        ends = ends if ends.size else np.unique(numeric)[-2:-1]  # most have the largest value
        codes[~lacks] = np.searchsorted(ends, numeric, side="left")
        if present.dtype.kind == "M":
            cuts = checks.group_values(ends.astype("datetime64[us]"), name).tolist()
        elif present.dtype.kind == "m":
            cuts = _durations(ends.astype("timedelta64[us]"))
        else:
            cuts = _short_cuts(ends.tolist(), np.sort(numeric))
        inside = [f"{name} in ({a}, {b}]" for a, b in pairwise(cuts)]
        conditions = [f"{name} <= {cuts[0]}", *inside, f"{name} > {cuts[-1]}"]
    else:
        if present.dtype.kind == "M":
            present = checks.group_values(present, name)
        elif present.dtype.kind in "OT":
            present = np.array([str(item) for item in present.tolist()], dtype=str)
        distinct, codes[~lacks] = np.unique(present, return_inverse=True)
        if distinct.dtype.kind == "m":
            distinct = np.array(_durations(distinct))
        texts = _short(distinct.tolist()) if distinct.dtype.kind == "f" else map(named, distinct)
        conditions = [f"{name} = {text}" for text in texts]
    if lacks.any():
        codes[lacks] = len(conditions)
        conditions.append(f"{name} missing")
    return Column(name, codes, tuple(conditions), tuple(cuts))


def missing_of(array: AnyArray) -> Flags:
    """Tell where a value is missing."""
    if array.dtype.kind in "fcmM":
        return np.isnan(array)
    if array.dtype.kind in "OT":
        return np.array([checks.is_missing(item) for item in array.tolist()], dtype=bool)
    return np.zeros(array.shape, dtype=bool)


def numbers_of(present: AnyArray) -> AnyArray | None:
    """Return the values as numbers that can be cut, or None where they are names."""
    if present.dtype.kind in "iuf":
        return present if present.itemsize <= 8 else present.astype(np.float64)
    if present.dtype.kind in "mM":
        return present.astype(f"{present.dtype.kind}8[us]").astype(np.int64)
    if present.dtype.kind != "O" or not present.size:
        return None
    kinds = {type(item) for item in present.tolist()} - {int, float, Decimal}
    numeric = all(issubclass(kind, np.integer | np.floating) for kind in kinds)
    return checks.as_numbers(present, "segments").astype(np.float64) if numeric else None


def _durations(values: AnyArray) -> list[str]:
    """Write durations in the largest unit in which they all are whole."""
    units = (values.astype(f"m8[{unit}]") for unit in ("D", "h", "m", "s", "us"))
    whole = next(some for some in units if (some == values.astype("m8[us]")).all())
    return [str(one).removesuffix("s" if one.astype(int) == 1 else "") for one in whole]


def _short_cuts(cuts: list[float], values: AnyArray) -> list[str]:
    """Write cuts of sorted values as numbers of 4 digits or more that cut at the same place."""
    texts = []
    for cut, below in zip(cuts, np.searchsorted(values, cuts, side="right"), strict=True):
        tries = (
            f"{float(Context(digits, rounding).create_decimal(cut)):.{digits}g}"
            for digits in range(4, 18)
            for rounding in (ROUND_HALF_EVEN, ROUND_CEILING)
        )
        same = (text for text in tries if np.searchsorted(values, float(text), "right") == below)
        texts.append(next(same, repr(cut)))
    return texts


def _short(values: list[float]) -> list[str]:
    """Write numbers with as few digits as tell them apart, six or more."""
    for digits in range(6, 17):
        texts = [f"{value:.{digits}g}" for value in values]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(value) for value in values]


def without_rare(column: Column, min_size: int) -> Column | None:
    """Put values of fewer than `min_size` rows together as the last, which is no segment.

    None where no value is left. A value that all rows have is none either: it is the data.
    """
    counts = np.bincount(column.codes, minlength=column.size)
    kept = np.flatnonzero((counts >= min_size) & (counts < column.codes.size))
    if kept.size == 0:
        return None
    place = np.full(column.size, kept.size)
    place[kept] = np.arange(kept.size)
    names = (*(column.conditions[k] for k in kept.tolist()), "")
    return Column(column.name, place[column.codes], names)
