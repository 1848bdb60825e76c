"""Tables in parts, such as files of a folder, stacked where their columns are read alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw

from caltest.errors import invalid, shown
from caltest.lazy import pl

ALIKE = "all parts must have the same columns"


def stacked_parts(
    parts: Iterator[tuple[str, pl.DataFrame]], needs: Callable[[str], bool] = bool
) -> Any:
    """Stack the tables of parts, which have names for messages.

    Parameters
    ----------
    parts : iterator of (str, DataFrame)
        Name and rows of each.
    needs : callable
        Tells of the name of a column whether it must be alike in all parts, by default of each;
        others are left out where they are not.
    """
    tables: list[Any] = []
    for name, table in parts:
        tables.append(table)
        first, own = (nw.from_native(tables[k]).schema for k in (0, -1))
        unalike = {one: why for one, dtype in first.items() if (why := unlike({one: dtype}, own))}
        for one, why in ((one, why) for one, why in unalike.items() if needs(one)):
            raise invalid(ALIKE, f"{name}: {why}{_text_in(one, tables)}", "correct it")
        tables[0] = tables[0].drop(pl.selectors.by_name(*unalike))
    if not tables:
        rule = "data must have a part that can be read"
        raise invalid(rule, "none", "pass files or chunks with rows")
    return stacked(tables, tables[0].columns)


def _text_in(name: str, tables: Sequence[pl.DataFrame]) -> str:
    """Name the first text in a column that is numbers in the other part, if that is the matter."""
    for table in (tables[0], tables[-1]) if name in tables[-1].columns else ():
        if (values := table[name]).dtype == pl.String:
            no_number = values.is_not_null() & values.cast(pl.Float64, strict=False).is_null()
            for row in no_number.arg_true().head(1):
                return f": {shown(values[row])} in row {row}" + " of that" * (table is tables[0])
    return ""


def place_among(
    parts: Sequence[tuple[str, Callable[[], int], Callable[[int], str] | None]], row: int
) -> str:
    """Name a row of a stack by its place in its part: of each its name, its rows, and places."""
    for name, rows, place in parts:
        if row < (n := rows()):
            own = f"row {row}" if place is None else place(row)
            return f"{own.removesuffix(' of the file')} of {name}" if len(parts) > 1 else own
        row -= n
    return f"row {row}"


def unlike(first: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Return how a part differs from the first in what a cast cannot mend, or nothing."""
    for name, dtype in first.items():
        if name not in schema:
            return f"it has no column {name!r}"
        # Numbers of any kind and booleans are read alike: a cast is enough. So is text, and a
        # column without values is all of them.
        own = schema[name]
        is_cast = own == dtype or None is not family(own) == family(dtype)
        if not is_cast and nw.Unknown not in (own, dtype):
            return f"its column {name!r} is {own}, not {dtype} as in the first part"
    return ""


def stacked(frames: Sequence[Any], names: Sequence[str]) -> Any:
    """Stack frames of Polars, eager or lazy, whose columns are of types that are read alike."""
    own = [one.select(pl.selectors.by_name(names)) for one in frames]  # one may be "*"
    types = [one.collect_schema() for one in own]
    several = [name for name in names if len({one[name] for one in types}) > 1]
    unlike = pl.selectors.by_name(several)
    text = unlike & pl.selectors.by_dtype(pl.Categorical, pl.Enum)
    truth = unlike & pl.selectors.boolean()
    wider = [one.with_columns(text.cast(pl.String), truth.cast(pl.Int8)) for one in own]
    return pl.concat(wider, how="vertical_relaxed")


def family(dtype: Any) -> str | None:
    """Return what values of a type are: text, numbers, or neither."""
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    return "number" if dtype == nw.Boolean or dtype.is_numeric() else None
