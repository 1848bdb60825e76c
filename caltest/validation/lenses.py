"""Checks of lenses: ranks, groups of classes, induced predictions."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from caltest.errors import invalid, shown
from caltest.validation.arrays import AnyArray, Codes, as_array
from caltest.validation.labels import check_class


def check_callable(f: object, name: str) -> None:
    """Check that `f` can be called."""
    if not callable(f):
        raise invalid(f"{name} must be a function", shown(f), "pass one, without calling it")


def check_rank(r: int, limit: int, key: str) -> None:
    """Check that there are classes enough for a rank."""
    if r > limit:
        rule = f"r must be at most {limit} for these predictions"
        raise invalid(rule, f"{r} in {key}", "take a smaller one")


def check_induced(pair: object, n: int) -> tuple[object, object]:
    """Check that a function used as a lens returns probabilities and labels of n rows."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        rule = "f must return the pair (probs, labels)"
        raise invalid(rule, f"type {type(pair).__name__}", "return both, for each row")
    shape = as_array(pair[0], "probs").shape
    if shape[:1] not in ((), (n,)):  # a number is refused as probabilities
        rule = "f must return one row per row that it takes"
        raise invalid(rule, f"{shape[0]} for {n} rows", "use Predictions.subset to drop rows")
    return pair


def check_classes_of_groups(groups: object) -> tuple[tuple[object, ...], ...]:
    """Check a list of groups of classes; a class by itself is a group of one."""
    rule = "groups must be a list of lists of classes"
    if not isinstance(groups, (list, tuple)) or not groups:
        raise invalid(rule, shown(groups), "pass [['cat', 'dog'], ['bird']]")
    found = tuple(_as_group(group) for group in groups)
    if not all(found):
        raise invalid(rule, "an empty group", "leave it out")
    return found


def _as_group(group: object) -> tuple[object, ...]:
    if isinstance(group, Iterable) and not isinstance(group, str):
        return tuple(group)
    return (group,)


def check_grouping(groups: tuple[tuple[object, ...], ...], classes: AnyArray) -> Codes:
    """Check that groups are apart and return the group of each class; the rest come last."""
    group_of = np.full(len(classes), len(groups), dtype=np.int64)
    for g, group in enumerate(groups):
        for k in group:
            code = check_class(k, classes)
            if group_of[code] < len(groups):
                raise invalid("groups must not share classes", f"{k!r} twice", "keep one of them")
            group_of[code] = g
    if np.all(group_of == group_of[0]):
        rule = "groups must leave at least two groups"
        raise invalid(rule, "all the classes in one", "pass a part of them")
    return group_of
