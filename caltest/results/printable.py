"""Prints of a result, all made from one sheet, and the plain values that JSON can hold."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from caltest import render
from caltest.errors import invalid

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
