"""Results as plain values of JSON, and back, by the fields of their dataclasses."""

from __future__ import annotations

import importlib
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np

from caltest.checks import read_only
from caltest.types import AnyArray

Record = TypeVar("Record")
RULE = "json"  # key of the metadata of a field that JSON has not always
NEVER, IF_GIVEN, IF_ASKED, NULL_UNLESS_ASKED = (
    {RULE: rule} for rule in ("never", "if given", "if asked", "null unless asked")
)
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
    for field in fields(record):
        value, rule = getattr(record, field.name), field.metadata.get(RULE)
        is_left_out = rule == "never" or (rule == "if asked" and not include_null)
        if not field.init or is_left_out or (rule == "if given" and value is None):
            continue
        is_null = rule == "null unless asked" and not include_null
        values[field.name] = None if is_null else plain(value, include_null=include_null)
    return values


def rebuilt(kind: type[Record], values: Mapping[str, Any]) -> Record:
    """Make a record of the values of `plain_fields`, each read by the annotation of its field."""
    annotations = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
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
    casts = ((field.name, _cast_of(str(field.type))) for field in fields(kind) if field.init)
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
