"""Results as plain values of JSON, and back, and their prints, all made from one sheet."""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

import numpy as np

from caltest import render
from caltest.checks import check_schema, checks_values, parse_json, read_only
from caltest.errors import invalid
from caltest.types import AnyArray

Record = TypeVar("Record")
RULE = "json"  # key of the metadata of a field that JSON has not always
RULES = ("never", "if given", "if asked", "null unless asked")
NEVER, IF_GIVEN, IF_ASKED, NULL_UNLESS_ASKED = ({RULE: rule} for rule in RULES)
LATE = {"Gap": "caltest.measures.gap", "HTestTable": "caltest.results.table"}


class Parameters(Mapping[str, object]):
    """A read-only mapping that keeps the order it was given.

    Unlike `types.MappingProxyType` it can be pickled, so that results travel between processes.

    Examples
    --------
    >>> Parameters({"kernel": "exponential", "bandwidth": 0.9})
    Parameters({'kernel': 'exponential', 'bandwidth': 0.9})
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, object] | None = None) -> None:
        self._items = dict(items or {})

    def __getitem__(self, key: str) -> object:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Parameters({self._items!r})"


def plain(value: object, *, include_null: bool = False) -> Any:
    """Replace arrays, records, other mappings and numbers that JSON has not, at any depth."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        own: Any = getattr(value, "to_dict", partial(plain_fields, value))
        return own(include_null=include_null)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, include_null=include_null) for item in value]
    return value if isinstance(value, bool | int | str | None) else str(value)


def plain_fields(record: Any, *, include_null: bool = False) -> dict[str, Any]:
    """Return the plain values of the fields that JSON has, in their order."""
    values = {}
    for one in fields(record):
        value, rule = getattr(record, one.name), one.metadata.get(RULE)
        is_left_out = rule == "never" or (rule == "if asked" and not include_null)
        if not one.init or is_left_out or (rule == "if given" and value is None):
            continue
        is_null = rule == "null unless asked" and not include_null
        values[one.name] = None if is_null else plain(value, include_null=include_null)
    return values


def rebuilt(kind: type[Record], values: Mapping[str, Any]) -> Record:
    """Make a record of the values of `plain_fields`, each read by the annotation of its field."""
    annotations = {one.name: str(one.type) for one in fields(kind)}  # type: ignore[arg-type]
    read = {name: _read(value, annotations.get(name, ""), kind) for name, value in values.items()}
    return kind(**read)


def settle(record: Any) -> None:
    """Cast the fields of a frozen record to floats, tuples and arrays by their annotations."""
    for name, cast in _casts(type(record)):  # type: ignore[arg-type]
        value = getattr(record, name)
        if value is not None:
            object.__setattr__(record, name, cast(value))


@cache
def _casts(kind: type) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the fields of a kind of record that are cast, and how."""
    casts = ((one.name, _cast_of(str(one.type))) for one in fields(kind) if one.init)
    return [(name, cast) for name, cast in casts if cast is not None]


def _array(value: object, dtype: type) -> AnyArray:
    """Return an array that cannot be written to."""
    return read_only(np.array(value, dtype=dtype))


CASTS: Mapping[str, Callable[[Any], Any]] = {
    "float | None": lambda value: float(value) if isinstance(value, str) else value,  # "inf"
    "float": float,
    "Floats": partial(_array, dtype=np.float64),
    "Ints": partial(_array, dtype=np.int64),
    "tuple[float": lambda value: tuple(map(float, value)),
    "tuple[tuple": lambda value: tuple(map(tuple, value)),
    "Mapping[str, float]": lambda value: Parameters({name: float(x) for name, x in value.items()}),
    "Mapping[str, object]": Parameters,
    "tuple": tuple,
}


def _cast_of(annotation: str) -> Callable[[Any], Any] | None:
    """Return what casts values to the type of an annotation, by how it begins."""
    return next((cast for begin, cast in CASTS.items() if annotation.startswith(begin)), None)


def _read(value: Any, annotation: str, owner: type) -> Any:
    """Return the value of a field from JSON, with the records inside it."""
    record, cast = _record_in(annotation, owner), _cast_of(annotation)
    if record is not None and value is not None:
        by_fields: Any = partial(rebuilt, record)
        own: Any = getattr(record, "from_dict", getattr(record, "of_values", by_fields))
        value = list(map(own, value)) if isinstance(value, list) else own(value)
    return value if cast is None or value is None else cast(value)


@cache
def _record_in(annotation: str, owner: type) -> type | None:
    """Return the kind of record that an annotation names, if any."""
    names = vars(sys.modules[owner.__module__])
    for name in re.findall(r"[A-Z]\w+", annotation):
        late = LATE.get(name)
        found = names.get(name) if late is None else getattr(importlib.import_module(late), name)
        if isinstance(found, type) and is_dataclass(found):
            return found
    return None


# ---- prints -------------------------------------------------------------------------------------


class Printable(ABC):
    """The printed forms of a result, all made from the sheet that `_sheet` returns."""

    __slots__ = ()

    @abstractmethod
    def _sheet(self) -> render.Sheet:
        """Return the one table behind all printed forms."""

    def __str__(self) -> str:
        return render.text(self._sheet())

    def __repr__(self) -> str:
        return str(self)

    def to_html(self) -> str:
        """Return the result as an HTML fragment in which every value is escaped."""
        return render.html(self._sheet())

    _repr_html_ = to_html

    def to_markdown(self) -> str:
        """Return the result as Markdown (GitHub's tables)."""
        return render.markdown(self._sheet())

    def to_latex(self) -> str:
        """Return the result as a LaTeX table that needs no extra package."""
        return render.latex(self._sheet())


class Settled:
    """A record of arrays, tuples and numbers, whatever holds them where it is made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        settle(self)


class Result(Printable, Settled):
    """A print that is also data; `schema` names the format of its JSON, "caltest/htest/1"."""

    __slots__ = ()
    schema: ClassVar[str] = ""
    derived: ClassVar[tuple[str, ...]] = ()  # properties that are written and not read
    no_json: ClassVar[tuple[str, str]] = ("text must be JSON", "pass that of to_json()")

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

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild the result from the text that `to_json` gave.

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        Result
            An equal one, without what `to_json` leaves out; a monitor goes on where it stopped.

        Raises
        ------
        InvalidInput
            If the text is no JSON, cut off, or that of another kind or version of result.
        """
        return cls.from_dict(parse_json(text, *cls.no_json))


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Printable):
    """The longer print of a result; `HTest.summary` and `HTestTable.summary` return it."""

    sheet: render.Sheet

    def _sheet(self) -> render.Sheet:
        return self.sheet


def given(level: float | None) -> float:
    """Return the level, or ask for one."""
    if level is None:
        raise invalid("rejected needs a significance level", "level=None", "pass level=0.05")
    return level


class Decided:
    """What has a p-value, and is decided where a level was given."""

    __slots__ = ()
    pvalue: float
    level: float | None

    @property
    def rejected(self) -> bool:
        """Whether the p-value is at most the level; asks for a level if none was given."""
        return self.pvalue <= given(self.level)


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
