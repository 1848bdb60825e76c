"""Prints of a result, all made from one sheet, and the plain values that JSON can hold."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, overload

import numpy as np

from caltest import render
from caltest.checks import check_choice, check_schema, checks_values
from caltest.errors import invalid

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from caltest.render import Sheet


class Printable(ABC):
    """The printed forms of a result, all made from the sheet that `_sheet` returns."""

    __slots__ = ()

    @abstractmethod
    def _sheet(self) -> Sheet:
        """Return the one table behind all printed forms."""

    def __str__(self) -> str:
        return render.text(self._sheet())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return render.html(self._sheet())

    def to_html(self) -> str:
        """Return the result as an HTML fragment in which every value is escaped."""
        return render.html(self._sheet())

    def to_markdown(self) -> str:
        """Return the result as Markdown (GitHub's tables)."""
        return render.markdown(self._sheet())

    def to_latex(self) -> str:
        """Return the result as a LaTeX table that needs no extra package."""
        return render.latex(self._sheet())


class Result(Printable):
    """A print that is also data; `schema` names the format of its JSON, "caltest/htest/1"."""

    __slots__ = ()
    schema: ClassVar[str] = ""

    @abstractmethod
    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return plain Python values that JSON can hold."""

    def to_json(self, *, include_null: bool = False, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON, with the name of its schema (`caltest schema`)."""
        named = {"schema": self.schema} if self.schema else {}
        values = named | self.to_dict(include_null=include_null)
        return json.dumps(values, indent=indent, ensure_ascii=False)


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Printable):
    """The longer print of a result; `HTest.summary` and `HTestTable.summary` return it."""

    sheet: Sheet

    def _sheet(self) -> Sheet:
        return self.sheet


def plain(value: object) -> Any:
    """Return plain Python data; JSON has no infinities, so they become "inf", "-inf", "nan"."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, bool | int | str | None) else str(value)


def given(level: float | None) -> float:
    """Return the level, or ask for one."""
    if level is None:
        raise invalid("rejected needs a significance level", "level=None", "pass level=0.05")
    return level


Row = TypeVar("Row")


class Frame(Result):
    """A result that is one record of plain values after another."""

    __slots__ = ()

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per row."""

    @overload
    def to_frame(self, *, backend: Literal["polars"] = "polars") -> pl.DataFrame: ...
    @overload
    def to_frame(self, *, backend: Literal["pandas"]) -> pd.DataFrame: ...
    def to_frame(self, *, backend: str = "polars") -> pl.DataFrame | pd.DataFrame:
        """Return one row per record as a data frame.

        Parameters
        ----------
        backend : {"polars", "pandas"}
            Which data frame to build. pandas has to be installed for the second.
        """
        frame: pl.DataFrame | pd.DataFrame = data_frame(self._columns(), backend)
        return frame

    def _columns(self) -> Sequence[Mapping[str, Any]] | Mapping[str, Any]:
        """Return what the data frame is made of: records, or columns whose types are kept."""
        return self.records()

    def to_csv(self) -> str:
        """Return one line of values per record under one line of names."""
        return render.csv(self.records())


class Table(Frame, Generic[Row]):
    """A result that is a sequence of rows, each of which has a record."""

    __slots__ = ()
    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, index: int | slice) -> Row | tuple[Row, ...]:
        return self.rows[index]


class FlatTable(Table[Row]):
    """A table whose rows are dataclasses of plain values, with facts that are plain values too."""

    __slots__ = ()
    row_type: ClassVar[type]
    derived: ClassVar[tuple[str, ...]] = ()  # properties that are written and not read

    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return plain Python values that JSON can hold."""
        own: dict[str, Any] = plain(asdict(self))  # type: ignore[call-overload]
        return {name: getattr(self, name) for name in self.derived} | own

    @classmethod
    @checks_values
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild the result from what `to_dict` or parsed JSON gave."""
        own = check_schema(values, cls.schema)
        read = tuple(cls._row(row) for row in own.pop("rows"))
        return cls(rows=read, **{k: v for k, v in own.items() if k not in cls.derived})  # type: ignore[call-arg]

    @classmethod
    def _row(cls, values: Mapping[str, Any]) -> Row:
        """Read a row; JSON holds infinite numbers as text."""
        texts = {field.name for field in fields(cls.row_type) if field.type == "str"}
        row: Row = cls.row_type(
            **{
                name: float(value) if isinstance(value, str) and name not in texts else value
                for name, value in values.items()
            }
        )
        return row

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per row."""
        return [plain(asdict(row)) for row in self.rows]  # type: ignore[call-overload]


def data_frame(records: Sequence[Mapping[str, Any]] | Mapping[str, Any], backend: str) -> Any:
    """Return records, or named columns, as a data frame of polars or pandas."""
    if check_choice(backend, ("polars", "pandas"), "backend") == "pandas":
        import pandas as pd

        return pd.DataFrame(records)
    import polars as pl

    # strict=False: values of several types become one column of text.
    return pl.DataFrame(records, infer_schema_length=None, strict=False)
