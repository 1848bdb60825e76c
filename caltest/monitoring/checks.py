"""Checks of what a monitor is given."""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from caltest.errors import InvalidInput, invalid, shown
from caltest.results.printable import plain
from caltest.validation import check_classes, check_level
from caltest.validation.arrays import label_values

DAY, MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d"), " 00:00:00"
PLAIN = {str, int}  # of names, which need no more to be done


def check_given_level(level: float) -> float:
    """Check a level, which must be there."""
    checked = check_level(level)
    if checked is None:
        raise invalid("level must be in (0, 1)", "None", "pass 0.05")
    return checked


def check_number(value: object, name: str) -> float:
    """Check a number of a state; infinities are text."""
    if value in ("inf", "-inf"):
        return float(str(value))
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not abs(value) <= sys.float_info.max
    ):
        raise invalid(f"{name} must be a number", shown(value), "go on from an earlier state")
    return float(value)


def check_classes_named(classes: Sequence[object]) -> tuple[object, ...]:
    """Check names of classes."""
    return tuple(check_classes(classes, label_values(classes, "classes").size).tolist())


def as_names(values: object) -> list[Any]:
    """Return names as a state has them, so that it knows them again: dates are text."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
    if array.dtype.kind == "M":
        array = array.astype("datetime64[us]")
    names = array.astype(object).ravel().tolist()
    return [name if type(name) in PLAIN else plain(name) for name in names]


def days(name: object) -> tuple[object, ...]:
    """Return the ways to write a name: a day is one with or without its midnight."""
    if not isinstance(name, str):
        return (name,)
    day = name.removesuffix(MIDNIGHT)
    return (day, day + MIDNIGHT) if DAY.fullmatch(day) else (name,)


def check_groups_named(groups: Sequence[object]) -> tuple[object, ...]:
    """Check names of groups."""
    names = tuple(as_names(groups))
    if not names or _has_one_twice(names, "groups"):
        raise invalid("groups must be different names", shown(list(names)), "name each once")
    return names


def _has_one_twice(names: Sequence[Any], name: str) -> bool:
    odd = [value for value in names if not isinstance(value, Hashable)]
    if odd:
        raise invalid(f"{name} must be names", shown(odd[0]), "pass strings or integers")
    return len(set(names)) < len(names)


def check_ids(ids: Sequence[object], n: int | None) -> list[object]:
    """Check names of rows."""
    if isinstance(ids, str):
        raise InvalidInput("ids must be a sequence of names", shown(ids), "pass a list")
    names = as_names(ids)
    if n is not None and len(names) != n:
        raise invalid("ids must be one for each row", str(len(names)), f"pass {n} of them")
    if _has_one_twice(names, "ids"):
        raise invalid("ids must be different", "a name twice", "name each row once")
    return names
