"""Checks of what a monitor is given."""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.errors import InvalidInput, invalid, shown
from caltest.predictions import Predictions
from caltest.results.printable import plain
from caltest.validation import as_array, check_classes, check_level
from caltest.validation.arrays import label_values

Codes = NDArray[np.int64]

DAY, MIDNIGHT = re.compile(r"\d{4}-\d\d-\d\d"), " 00:00:00"
LONGEST = 200  # characters of the name of a batch
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


def check_batch_id(batch_id: object) -> str | None:
    """Check the name of a batch; dates are text as they are in ISO 8601."""
    name = plain(batch_id)
    if name is None:
        return None
    text = str(name).removesuffix(MIDNIGHT)
    if not (type(name) in PLAIN and 0 < len(text) <= LONGEST and text.isprintable()):
        rule = f"batch_id must be a name of 1 to {LONGEST} characters, an integer or a date"
        raise invalid(rule, shown(batch_id), "pass the day, or the name of the file")
    return text


def read_batch(
    probs: object,
    labels: object,
    classes: tuple[object, ...] | None,
    *,
    from_logits: bool,
    renormalize: bool,
) -> Predictions:
    """Read rows, which must be of the classes of those before and have no weights."""
    if isinstance(probs, Predictions):
        given = probs
    else:
        names = None if classes is None else list(classes)
        array = as_array(probs, "probs")
        m = array.shape[1] if array.ndim == 2 else 2
        if names is not None and m != len(names):
            raise other_classes(f"{m} columns", classes)
        if labels is None:
            names = list(range(m)) if names is None else names
            labels = np.array([names[0]] * len(np.atleast_1d(array)))
        given = Predictions(
            probs, labels, classes=names, from_logits=from_logits, renormalize=renormalize
        )
    if given.sample_weight is not None:
        raise invalid("rows of a monitor have no weights", "sample_weight", "leave them out")
    found = tuple(given.classes.tolist())
    if classes is not None and found != classes:
        raise other_classes(shown(list(found)), classes)
    return given


def other_classes(got: str, classes: Sequence[object] | None) -> InvalidInput:
    """Return the error of rows of other classes than those before."""
    return invalid(
        "the classes must be those of the rows before",
        got,
        f"pass rows of {list(classes or ())}, or begin another monitor",
    )


def codes_of_groups(groups: object, n: int, watched: tuple[object, ...]) -> Codes:
    """Return the place of the group of each row among those that are watched, -1 of others."""
    if not watched:
        return np.full(n, -1)
    if groups is None:
        raise invalid("groups must say the group of each row", "None", "pass them")
    values = as_array(groups, "groups")
    if values.shape != (n,):
        got = f"shape {values.shape}"
        raise invalid("groups must be one for each row", got, f"pass {n} of them")
    index = {name: code for code, group in enumerate(watched) for name in days(group)}
    return np.array([index.get(name, -1) for name in as_names(values)], dtype=np.int64)
