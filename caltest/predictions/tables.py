"""Tables, turned into the arrays that `Predictions` takes."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from caltest import checks
from caltest.errors import invalid, shown
from caltest.render import named
from caltest.types import AnyArray, Floats

Columns = str | Sequence[str] | None  # a prefix, the names, or what is usual
# Names of columns that make groups, and their values in a group by its name, where not the name.
Keys = tuple[tuple[str, ...], Mapping[Any, tuple[Any, ...]]]

PREFIXES = ("p_", "prob_")
NUMBERED = re.compile(r"((?:y_)?p(?:rob(?:a|ability)?)?[._]?|class[._]?)(\d+)", re.IGNORECASE)
USUAL = ("p", "prob", "proba", "probability", "risk", "y_prob", "y_proba", "y_score", "pd")


LIBRARIES = ("polars", "pandas", "pyarrow", "modin", "cudf")  # the first where no other is known


UNNAMED = ("{}", "column_{}")  # what pandas and polars call the columns of an array


@dataclass(frozen=True, slots=True)
class ColumnTable:
    """Named columns, read one at a time as arrays."""

    names: Sequence[str]
    column: Callable[[str], AnyArray]
    place: Callable[[int], str] | None = None  # of a row, as the index or the file names it
    library: str = LIBRARIES[0]


# ---- tables -------------------------------------------------------------------------------------


def is_table(data: object) -> bool:
    """Tell a data frame from an array."""
    return hasattr(type(data), "columns")  # not of the data: polars warns when a lazy one is asked


def wrapped(native: object, **options: Any) -> Any:
    """Wrap a table with narwhals; what is none stays."""
    with warnings.catch_warnings():
        # narwhals says where its reader of Dask will move to, which is no matter to the caller
        warnings.filterwarnings("ignore", "Dask support", FutureWarning)
        return nw.from_native(native, pass_through=True, **options)


def as_frame(df: object) -> Any:
    """Wrap a pandas, polars or Arrow table with narwhals; a lazy one is computed."""
    try:
        frame: Any = wrapped(df)
    except nw.exceptions.DuplicateError as error:
        twice = str(error).partition("got:")[2].replace("- ", "").strip().splitlines()
        got = ", ".join(map(str.strip, twice)) or "one twice"
        raise invalid("df must name each column once", got, "rename them") from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        got = f"type {type(df).__name__}"
        remedy = "pass arrays to Predictions or Forecasts itself"
        raise invalid("df must be a pandas, polars or Arrow table", got, remedy)
    return frame


def _wrapped(given: Sequence[object]) -> Iterator[Any]:
    """Wrap tables and series with narwhals; what is neither stays."""
    for one in given:
        with suppress(nw.exceptions.DuplicateError):
            yield wrapped(one, allow_series=True)


def library_of(*given: object) -> str:
    """Name the library of the first that is a table, a series, or predictions of one."""
    names = (
        str(getattr(one, "library", getattr(one, "implementation", None)))
        for one in _wrapped(given)
    )
    return next((name for name in names if name in LIBRARIES), LIBRARIES[0])


def place_of(*given: object) -> Callable[[int], str] | None:
    """Name rows by the index of the first table that has one, unless it counts them from 0."""
    frames = (one for one in _wrapped(given) if isinstance(one, nw.DataFrame | nw.Series))
    index = next(filter(lambda one: one is not None, map(nw.maybe_get_index, frames)), None)
    if index is None or np.all(index == np.arange(len(index))):
        return None
    return lambda row: f"index {index[[row]].tolist()[0]!r} (row {row})"


def frame_of_records(
    records: Sequence[Mapping[str, Any]] | Mapping[str, Any], library: str = LIBRARIES[0]
) -> Any:
    """Return records, or named columns, as a data frame of a library."""
    import polars as pl

    checks.check_choice(library, LIBRARIES, "backend")
    # strict=False: values of several types become one column of text.
    frame = pl.DataFrame(records, infer_schema_length=None, strict=False)
    if library == LIBRARIES[0]:
        return frame
    backend: Any = library
    return nw.from_dict(frame.to_dict(as_series=False), backend=backend).to_native()


def table_of_frame(df: object) -> ColumnTable:
    """View a data frame as named arrays."""
    frame = as_frame(df)
    names = {str(name): name for name in frame.columns}  # pandas may have numbers there

    def column(name: str) -> AnyArray:
        values = frame.get_column(names[name])
        if values.dtype in (nw.Int128, nw.UInt128):  # of Int64 and UInt64 together
            return np.asarray(values.to_list())
        if values.dtype == nw.Decimal:  # of a database; as an array Python's own numbers
            values = values.cast(nw.Float64)
        if frame.implementation.is_pyarrow():
            return checks.as_array(values.to_native(), name)
        if frame.implementation.is_polars() and values.dtype in (nw.Categorical, nw.Enum):
            values = values.cast(nw.String)  # which takes half the time
        return np.asarray(values.to_numpy())

    return ColumnTable(list(names), column, place_of(df), library_of(df))


def features_of_frame(
    df: object, features: str | Sequence[str] | None, others: Sequence[object]
) -> object:
    """Take the columns `features`, or all but `others`, as a data frame of the same library."""
    frame = as_frame(df)
    names = {str(name): name for name in frame.columns}
    if features is None:
        features = [name for name in names if name not in others]
    wanted = [features] if isinstance(features, str) else features
    if list(wanted) == list(names):
        return df
    chosen = [names[checks.check_choice(str(name), names, "features")] for name in wanted]
    return frame.select(nw.col(*chosen)).to_native()


def design_columns(design: object) -> dict[str, Floats]:
    """Read the features of rows by name, (n,) each: columns of a table, a mapping or an array."""
    if is_table(design):
        table = table_of_frame(design)
        design = {name: table.column(name) for name in table.names}
    if isinstance(design, Mapping) and design:
        return {f"{k}": checks.check_design(x, f"design {k!r}").ravel() for k, x in design.items()}
    return {f"feature {k}": column for k, column in enumerate(checks.check_design(design).T)}


def choose_columns(
    table: ColumnTable,
    *,
    label: str | None,
    probs: str | Sequence[str] | None = None,
    classes: object = None,
    sample_weight: object = None,
    groups: object = None,
    clusters: object = None,
) -> dict[str, Any]:
    """Find by name the columns that make up predictions.

    Parameters
    ----------
    table : Table
        The columns.
    label : str
        Column of the labels.
    probs : str or list of str, optional
        A column, P(class 1) of two; a prefix; or the columns in the order of the classes. By
        default the columns that begin with "p_", else with "prob_", else those that count the
        classes, as "p0", "p1" or "prob.1", "prob.2", else the column "probs", else the only one of
        a usual name, such as "p", "prob" or "risk".
    classes : sequence, optional
        The names of the classes, in the order of the columns. By default the columns name them:
        "p_cat" is the probability of the label "cat", "p_1" that of 1.
    sample_weight : str or array_like, optional
        A column, or the values.
    groups : str, list of str or array_like, optional
        A column, several that are crossed, or the values.
    clusters : str or array_like, optional
        A column, or the values.

    Returns
    -------
    dict of str to array
        The arguments of `Predictions`: probs, labels, classes and those of rows.

    Raises
    ------
    InvalidInput
        If a column is not there or holds no numbers.
    """
    label = checks.check_choice(label, table.names, "label")
    several = columns_named(table, groups)
    checks.check_not_label(label, "groups", groups, *several)
    checks.check_not_label(label, "clusters", clusters)
    checks.check_not_label(label, "sample_weight", sample_weight)
    single = [name for name in (sample_weight, groups, clusters) if isinstance(name, str)]
    columns = prob_columns(table.names, probs, [label, *single, *several])
    checks.check_not_label(label, "probs", *columns)
    labels = checks.label_values(table.column(label), "labels")
    own = _classes_of_names(stems(columns, probs), labels)
    return {
        "probs": numbers_of_columns(table, columns),
        "labels": labels,
        "classes": classes_in_order(classes, own),
        "sample_weight": column_or_values(table, sample_weight, "sample_weight"),
        "groups": groups_of(table, groups, "groups"),
        "clusters": column_or_values(table, clusters, "clusters"),
    }


def choose_forecasts(
    table: ColumnTable,
    *,
    label: str | None,
    mean: str | None = None,
    scale: str | float | None = None,
    members: str | Sequence[str] | None = None,
    quantiles: Any = None,
    **rows: object,
) -> dict[str, Any]:
    """Find by name the columns that make up forecasts, as `Forecasts` takes them.

    Parameters
    ----------
    table : Table
        The columns.
    label : str, optional
        Column of the outcomes, where they are wanted.
    mean, scale : str, optional
        Columns of Gaussian forecasts; the scale may be a number.
    members : str or list of str, optional
        The prefix of the columns of an ensemble, or these.
    quantiles : str or mapping, optional
        The prefix of columns that end in their levels, or the columns by their levels.
    **rows
        `sample_weight`, `groups` and `clusters`, columns or values.

    Returns
    -------
    dict
        The arrays.

    Raises
    ------
    InvalidInput
        If a column is not there or holds no numbers.
    """
    found: dict[str, Any] = {}
    taken = [] if label is None else [label]
    for name, value in (("mean", mean), ("scale", scale)):
        if value is not None:
            column = column_or_values(table, value, name)
            is_column = column is not value
            found[name] = checks.as_numbers(column, f"column {value!r}") if is_column else value
    if label is not None:
        named = checks.check_choice(label, table.names, "label")
        found["outcomes"] = checks.as_numbers(table.column(named), f"column {label!r}")
    if members is not None:
        columns = prob_columns(table.names, members, taken, "members")
        found["members"] = np.atleast_2d(numbers_of_columns(table, columns).T).T
    if quantiles is not None:
        if isinstance(quantiles, str):
            columns = prob_columns(table.names, quantiles, taken, "quantiles")
            quantiles = {_level(name, quantiles): name for name in columns}
        elif not isinstance(quantiles, Mapping) or not quantiles:
            rule = "quantiles must be the prefix of columns, or columns by their levels"
            raise invalid(rule, shown(quantiles), "pass quantiles={0.05: 'column', ...}")
        values = [column_or_values(table, x, "quantiles") for x in quantiles.values()]
        stacked = np.column_stack([checks.as_numbers(x, "quantiles") for x in values])
        order = np.argsort(levels := checks.as_numbers([*quantiles], "levels"))
        found |= {"levels": levels[order], "quantiles": stacked[:, order]}
    return found | {name: groups_of(table, values, name) for name, values in rows.items()}


def _level(column: str, prefix: str) -> float:
    """Read the level of a quantile from the name of its column, q_0.05."""
    text = column.removeprefix(prefix).lstrip("_")
    try:
        level = float(text)
    except ValueError:
        level = np.nan
    if not 0.0 < level < 1.0:
        rule = "columns of quantiles must end in their levels, as q_0.05"
        raise invalid(rule, repr(column), "rename it, or pass quantiles={0.05: 'column', ...}")
    return level


def numbers_of_columns(table: ColumnTable, columns: Sequence[str]) -> AnyArray:
    """Stack columns of numbers side by side; a single one stays as it is."""
    values = [checks.as_numbers(table.column(name), f"column {name!r}") for name in columns]
    return values[0] if len(values) == 1 else np.column_stack(values)


def prob_columns(
    names: Sequence[str], probs: Columns = None, taken: Sequence[str] = (), name: str = "probs"
) -> list[str]:
    """Find the columns of the probabilities, or of what `name` is; those in `taken` are others."""
    free = [name for name in names if name not in taken]
    if probs is None:
        for prefix in PREFIXES:
            if found := [name for name in free if name.startswith(prefix)]:
                return found
        if found := _numbered(free):
            return found
        usual = [name for name in free if name.lower() in USUAL]
        if len(usual) == 1 and "probs" not in names:
            return usual
    elif not isinstance(probs, str):
        chosen = checks.check_not_empty(checks.check_strings(probs, name), name)
        return [checks.check_choice(str(one), names, name) for one in chosen]
    wanted = "probs" if probs is None else probs
    found = [name for name in free if name.startswith(wanted)]
    if wanted in names:
        return [wanted]
    if not found:
        got = f"{probs!r} for the columns {checks.listing(names, limit=30)}"
        remedy = f"pass {name}= with a column, a prefix or a list of columns"
        raise invalid(f"{name} must be a column or the prefix of columns", got, remedy)
    return found


def stems(columns: Sequence[str], probs: Columns) -> list[str]:
    """Strip the prefix that all the columns share."""
    prefixes = (probs, *PREFIXES) if isinstance(probs, str) else PREFIXES
    for prefix in prefixes:
        if all(name.startswith(prefix) and name != prefix for name in columns):
            return [name.removeprefix(prefix).lstrip("_.") for name in columns]
    if _numbered(columns) == list(columns):
        return [name[len(name.rstrip("0123456789")) :] for name in columns]
    return list(columns)


def _numbered(names: Sequence[str]) -> list[str]:
    """Return the columns that count the classes from 0 or 1, where it is clear which they are."""
    found = [one for one in map(NUMBERED.fullmatch, names) if one]
    numbers = sorted(int(one[2]) for one in found)
    whole = numbers in (list(range(len(found))), list(range(1, len(found) + 1)))
    one_prefix = len({one[1] for one in found}) == 1
    return [one[0] for one in found] if whole and one_prefix and len(found) > 1 else []


def _classes_of_names(stems: Sequence[str], labels: AnyArray) -> list[object] | None:
    """Read the names of columns as values of the labels; as names of the codes where they differ.

    A single column named after one of two labels is the probability of that one.
    """
    try:
        classes = [_READ_AS[labels.dtype.kind](stem) for stem in stems]
    except (ValueError, KeyError):
        classes = truths(stems) or list(stems)
    if len(stems) > 1:
        return classes
    if not np.any(labels == np.array(classes)):
        return None
    others = [value for value in np.unique(labels).tolist() if value != classes[0]]
    return others + classes if len(others) == 1 else None


def classes_of_columns(probs: object, labels: object) -> list[object] | None:
    """Read the names of the columns of probabilities, or that of a series, as the classes.

    The labels tell how names are read. None where nothing is named, and where columns are only
    numbered from 0, as those of a table made from an array are, and the labels are not such text.
    The number of a single column may be its place, and does not name it.
    """
    own = as_frame(probs).columns if is_table(probs) else [getattr(probs, "name", None)]
    names = list(dict.fromkeys(map(str, own)))
    if len(names) == 1 and not isinstance(own[0], str | bool):
        return None
    values = checks.label_values(labels, "labels")
    unnamed = any(names == [form.format(k) for k in range(len(names))] for form in UNNAMED)
    as_text = len(names) > 1 and values.dtype.kind == "U" and set(values.tolist()) <= set(names)
    if unnamed and not as_text:
        return None
    return _classes_of_names(stems(names, None), values)


def classes_in_order(classes: object, own: Sequence[object] | None) -> object:
    """Return the classes that were given, and otherwise those that the columns are named after.

    The same names in another order contradict each other, unless they number the columns.
    """
    if classes is None or own is None:
        return own if classes is None else classes
    given = [str(one) for one in checks.label_values(classes, "classes").tolist()]
    names = [str(one) for one in own]
    numbered = names == [str(k) for k in range(len(names))]
    if given != names and sorted(given) == sorted(names) and not numbered:
        rule = f"classes must be those that the columns are named after, {checks.listing(names)}"
        remedy = "leave classes out, or rename the columns"
        raise invalid(rule, f"another order, {checks.listing(given)}", remedy)
    return classes


TRUTH = {"false": False, "0": False, "true": True, "1": True}


def truths(stems: Sequence[str]) -> list[object] | None:
    """Read names of columns as truth values, p_true and p_false; None where one is none."""
    words = [one.lower() for one in stems]
    return [TRUTH[one] for one in words] if all(one in TRUTH for one in words) else None


# Floats are integers with a missing value among them.
_READ_AS: dict[str, Callable[[str], object]] = dict.fromkeys("iuf", int)
_READ_AS |= {"U": str, "b": lambda stem: TRUTH[stem.lower()]}


def columns_named(table: ColumnTable, values: object) -> list[str]:
    """Return the columns that a list names, or nothing where it holds values."""
    names = list(values) if isinstance(values, (list, tuple)) else []
    if not all(isinstance(name, str) and name in table.names for name in names):
        return []
    if len(set(names)) < len(names) != table.column(names[0]).size:  # no value of each row
        checks.check_once(names, "by")
    return names if len(set(names)) == len(names) else []


def crossed(table: ColumnTable, columns: Sequence[str]) -> AnyArray:
    """Name each row by its values in several columns."""
    values = [checks.group_values(table.column(name), name).tolist() for name in columns]
    rows = list(zip(*values, strict=True))
    named = dict(zip(keys := list(set(rows)), crossed_names(keys), strict=True))
    return np.array([named[row] for row in rows])


def crossed_names(keys: Sequence[tuple[Any, ...]]) -> list[str]:
    """Name groups by their values in several columns, "north, 2020", each in another way."""
    names = [", ".join(map(named, key)) for key in keys]
    name, count = Counter(names).most_common(1)[0] if names else ("", 1)
    if count > 1:
        rule = "groups of several columns must have names that differ"
        raise invalid(rule, f"{name!r} twice", "take the commas out of their values")
    return names


def groups_of(table: ColumnTable, values: object, name: str) -> object:
    """Return several columns crossed, one column, or values as they stand."""
    several = columns_named(table, values)
    return crossed(table, several) if several else column_or_values(table, values, name)


def named_by_itself(values: object) -> Keys | None:
    """Return the name of a Series as what groups are made of; a number is no name."""
    name = getattr(values, "name", None)
    return ((name,), {}) if isinstance(name, str) and name else None


def grouped_by(table: ColumnTable, values: object, groups: Any) -> Keys | None:
    """Return the columns that `groups`, (n,), are made of, if `values` names some."""
    if isinstance(values, str):
        return (values,), {}
    names = columns_named(table, values)
    columns = [checks.group_values(table.column(name), name).tolist() for name in names]
    keys = dict(zip(groups.tolist(), zip(*columns, strict=True), strict=True)) if names else {}
    return (tuple(names), keys) if names else None


def column_or_values(table: ColumnTable, values: object, name: str) -> object:
    """Take a column by its name; values that are given stay."""
    if isinstance(values, str):
        return table.column(checks.check_choice(values, table.names, name))
    return values
