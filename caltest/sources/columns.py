"""Which columns of a table hold the label and the probabilities, read from its schema alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from caltest import checks
from caltest.errors import invalid, shown
from caltest.predictions.parts import family
from caltest.predictions.tables import TRUTH, classes_in_order, prob_columns, stems, truths


@dataclass(frozen=True)
class Columns:
    """Columns of a table, and the classes.

    Attributes
    ----------
    label : str
    probs : tuple of str
        Columns of the probabilities; a single one is P(second class).
    classes : tuple
        Names of the classes.
    values : tuple
        The label of each class in the column.
    kind : str
        What labels are: "number", "text" or "truth".
    by : tuple of str
        Columns of groups.
    weight : str or None
        Column of sample weights.
    """

    label: str
    probs: tuple[str, ...]
    classes: tuple[Any, ...]
    values: tuple[Any, ...]
    kind: str
    by: tuple[str, ...] = ()
    weight: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All the columns."""
        weight = () if self.weight is None else (self.weight,)
        return tuple(dict.fromkeys((self.label, *self.probs, *self.by, *weight)))

    def label_values(self, column: Any) -> Any:
        """Return the labels as numbers or text, whatever the engine takes them for."""
        return column.cast(nw.String() if self.kind == "text" else nw.Float64())


def column(frame: Any, name: str) -> Any:
    """Return a column of a frame of narwhals by its name.

    Spark reads quotes and dots in names, Polars a star as all columns, as DuckDB does, and ^...$ as
    a pattern.
    """
    if name == "*" and frame.implementation.is_duckdb():
        rule = "a column of DuckDB must not be named '*', which it reads as all columns"
        raise invalid(rule, shown(name), "rename it")
    if frame.implementation.is_polars():
        return nw.nth(frame.collect_schema().names().index(name))
    is_spark = frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect()
    return nw.col("`" + name.replace("`", "``") + "`" if is_spark else name)


def read_columns(
    schema: Mapping[str, Any],
    distinct: Callable[[str], Sequence[Any]],
    *,
    label: str | None,
    probs: str | Sequence[str] | None,
    classes: object,
    by: Sequence[str],
    weight: str | None = None,
) -> Columns:
    """Find by name the columns that make up predictions.

    Parameters
    ----------
    schema : Mapping
        Name and type of each column, as narwhals has them.
    distinct : callable
        The distinct values of a column that is named; asked for only where a single column of
        probabilities goes with labels of text.
    label, probs, classes : optional
        As for `Predictions.from_frame`.
    by : sequence of str
        Columns of groups.
    weight : str, optional
        Column of sample weights.

    Raises
    ------
    InvalidInput
        If a column is not there or has another type.
    """
    names = list(schema)
    label = checks.check_choice(label, names, "label")
    for one in by:
        checks.check_choice(one, names, "by")
        checks.check_not_label(label, "by", one)
        if schema[one].is_nested() or schema[one] == nw.Object:
            got, remedy = f"{one!r}: {schema[one]}", "convert it to text, or take a part of it"
            raise invalid("a group must be a single value", got, remedy)
    checks.check_once(by, "by")
    weights = () if weight is None else (checks.check_choice(weight, names, "sample_weight"),)
    chosen = prob_columns(names, probs, [label, *by, *weights])
    checks.check_not_label(label, "probs", *chosen)
    checks.check_not_label(label, "sample_weight", *weights)
    for name in (*chosen, *weights):
        if not schema[name].is_numeric():
            rule = "sample_weight" if name in weights else "columns of probs"
            got, remedy = f"{name!r}: {schema[name]}", "convert it to numbers"
            raise invalid(f"{rule} must be numbers", got, remedy)
    dtype = schema[label]
    kind = "truth" if dtype == nw.Boolean else family(dtype)
    if kind is None:
        rule = "the column of labels must hold integers, booleans or text"
        raise invalid(rule, f"{label!r}: {dtype}", "convert it to integers, booleans or text")
    found = _classes(kind, chosen, probs, classes, lambda: distinct(label))
    return Columns(label, tuple(chosen), *found, kind, tuple(by), weight)


def _classes(
    kind: str,
    columns: Sequence[str],
    probs: str | Sequence[str] | None,
    given: object,
    distinct: Callable[[], Sequence[Any]],
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the names of the classes and their values in the column of labels."""
    m = max(len(columns), 2)
    names: Any = None if given is None else list(given)  # type: ignore[call-overload]
    if names is not None and len(names) != m:
        rule = "classes must name each column of probs"
        raise invalid(rule, f"{len(names)} for {m} classes", "pass one name for each")
    own: list[Any] = stems(columns, probs)
    if kind == "text":
        if len(columns) == 1:
            values = sorted(distinct()) if names is None else list(map(str, names))
            if len(values) != 2:
                remedy = "pass classes=, or a column of probabilities for each class"
                rule = "a single column of probs must go with two distinct labels"
                raise invalid(rule, checks.listing(values), remedy)
            # The one that the column is named after is the last.
            own = [v for v in values if v != own[0]] + own if own[0] in values else values
        names = classes_in_order(names, own)
        return (texts := tuple(checks.check_not_blank(list(map(str, names))))), texts
    own = _numbers(own, kind)
    if len(columns) == 1:  # as where rows are read: p_0 is the probability of the label 0
        own = [1, 0] if own == [0] else [0, 1]
    names = classes_in_order(names, own)
    codes = names if all(isinstance(v, int | float) for v in names) else list(range(m))
    return tuple(names), tuple(float(code) for code in codes)


def _numbers(own: Sequence[str], kind: str) -> list[Any]:
    """Read the names of columns as labels; they stay names of the codes where they are none."""
    try:
        return [TRUTH[one.lower()] if kind == "truth" else int(one) for one in own]
    except (ValueError, KeyError):
        return truths(own) or list(own)
