"""Results that are tables: their rows, as a data frame and as CSV."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, overload

from caltest import render
from caltest.results.printable import Result, plain
from caltest.validation import check_choice, check_schema, checks_values

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

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
