"""Prints of a result, all made from one sheet, and the plain values that JSON can hold."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, overload

from caltest import render
from caltest.checks import check_schema, checks_values
from caltest.errors import invalid
from caltest.results.codec import NEVER, plain, plain_fields, rebuilt, settle

if TYPE_CHECKING:
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
    derived: ClassVar[tuple[str, ...]] = ()  # properties that are written and not read

    def __post_init__(self) -> None:
        settle(self)

    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return plain Python values that JSON can hold.

        Parameters
        ----------
        include_null : bool
            Whether to include the null distribution, a list of `n_resamples` numbers.
        """
        derived = {name: getattr(self, name) for name in self.derived}
        return derived | plain_fields(self, include_null=include_null)

    @classmethod
    @checks_values
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild the result from what `to_dict` or parsed JSON gave."""
        read = check_schema(values, cls.schema)
        return rebuilt(cls, {name: read[name] for name in read if name not in cls.derived})

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


def given(level: float | None) -> float:
    """Return the level, or ask for one."""
    if level is None:
        raise invalid("rejected needs a significance level", "level=None", "pass level=0.05")
    return level


Row = TypeVar("Row")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Frame(Result):
    """A result that is one record of plain values after another.

    Attributes
    ----------
    library : str
        That of the data frame or the series that was given, in which `to_frame` answers.
    """

    library: str = field(default="polars", compare=False, metadata=NEVER)

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per row."""

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return one row per record as a data frame of the library that the data came in.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow", "modin", "cudf"}, optional
            Which library; it has to be installed. By default that of the data frame or the series
            that was tested, and polars for arrays, files, engines and what was read from JSON.

        Returns
        -------
        data frame or Arrow table
            Of polars where the data came as a polars frame, of pandas where of pandas, and so on.

        Raises
        ------
        InvalidInput
            If there is no such library.
        """
        from caltest.predictions.tables import frame_of_records

        return frame_of_records(self._columns(), backend or self.library)

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

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per row."""
        return [plain(row) for row in self.rows]
