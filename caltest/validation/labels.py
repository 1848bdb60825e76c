"""Checks of labels and of the names of classes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from caltest.errors import InvalidInput, invalid, shown
from caltest.validation.arrays import (
    NUMBER,
    AnyArray,
    Codes,
    as_array,
    as_numbers,
    check_column,
    is_missing,
    missing,
    read_only,
)


def check_labels(
    labels: object, n: int, m: int, classes: object = None, *, name: str = "labels"
) -> tuple[Codes, AnyArray]:
    """Check labels and return them as codes 0 to m - 1, with the names of the classes.

    Parameters
    ----------
    labels : array_like, shape (n,) or (n, m)
        Integers, whole floats, booleans, strings, or one-hot rows.
    n, m : int
        Rows and columns of probs.
    classes : sequence of length m, optional
        Name of each column. Without it, integers are codes, booleans stand for (False, True) and
        m distinct strings for the columns in sorted order. Numbers that come with classes of text
        are codes too.
    name : str
        Name of the argument, for messages.

    Returns
    -------
    codes : ndarray, shape (n,), int64
        Column of each label; read-only.
    classes : ndarray, shape (m,)
        Names of the columns; read-only.

    Raises
    ------
    InvalidInput
        If the labels are too many or too few, missing, or of no class.
    """
    values = label_values(labels, name)
    known = None if classes is None else check_classes(classes, m)
    if values.ndim == 2:
        codes = _codes_of_one_hot(values, n, m, name)
        return read_only(codes), read_only(np.arange(m)) if known is None else known
    check_column(values, n, name)
    if values.dtype.kind == "f" and (known is None or known.dtype.kind != "f"):
        values = _whole(values, name)
    if known is None:
        known = _default_classes(values, m, name)
    return read_only(_codes(values, known, name)), known


def check_classes(classes: object, m: int) -> AnyArray:
    """Check that `classes` names each of the m columns once, and return a read-only copy."""
    values = np.array(label_values(classes, "classes"))
    remedy = "pass one name per column of probs, in their order"
    if values.shape != (m,):
        rule = "classes must name each column of probs"
        raise invalid(rule, f"shape {values.shape} for {m} columns", remedy)
    names = values.tolist()
    if len(set(names)) < m:
        twice = next(value for value in names if names.count(value) > 1)
        raise invalid("classes must differ from each other", f"{twice!r} twice", remedy)
    return read_only(values)


def check_class(k: object, classes: AnyArray, name: str = "k") -> int:
    """Find the column of class `k`, given by its name, as text or not, or by its code."""
    names = [str(each) for each in classes.tolist()]
    if str(k) in names:
        return names.index(str(k))
    if isinstance(k, (int, np.integer)) and 0 <= k < len(names):
        return int(k)
    raise invalid(f"{name} must be one of the classes", shown(k), f"pass one of {listing(names)}")


def listing(values: Iterable[object], limit: int = 8) -> str:
    """List values for a message, at most `limit` of them."""
    words = [repr(value) for value in values]
    if len(words) > limit:
        words = [*words[: limit - 2], "...", words[-1]]
    return ", ".join(words)


def label_values(values: object, name: str) -> AnyArray:
    """Read labels as an array of booleans, integers, floats or text."""
    array = as_array(values, name)
    if array.dtype.kind == "S":
        array = array.astype(str)
    rule = f"{name} must be a sequence of integers, strings or booleans"
    if array.ndim == 0:
        raise invalid(rule, shown(array.item()), "pass a list or an array")
    if array.ndim != 1:
        return as_numbers(array, name)
    if array.dtype.kind in "OT":
        array = _of_one_kind(array.tolist(), name)
    if array.dtype.kind not in "biufU":
        raise invalid(rule, f"dtype {array.dtype}", "convert them to strings")
    return array


def _of_one_kind(items: list[object], name: str) -> AnyArray:
    text = bool(items) and isinstance(items[0], str)
    kind = str if text else NUMBER
    for row, item in enumerate(items):
        if is_missing(item):
            raise missing(name, f"{item!r} at row {row}")
        if not isinstance(item, kind):
            rule = f"{name} must be all strings, all integers or all booleans"
            raise invalid(rule, f"{item!r} at row {row}", "drop or convert that row")
    return np.array(items)


def _whole(values: AnyArray, name: str) -> AnyArray:
    bad = ~(np.isfinite(values) & (values == np.floor(values)))
    if bad.any():
        row = int(np.argmax(bad))
        got = f"{values[row]:.8g} at row {row}"
        if np.isnan(values[row]):
            raise missing(name, got)
        remedy = "pass integers, strings, booleans or one-hot rows"
        raise invalid(f"{name} must be whole numbers", got, remedy)
    return values.astype(np.int64)


def _codes_of_one_hot(values: AnyArray, n: int, m: int, name: str) -> Codes:
    rule = f"{name} must have shape (n,), or (n, m) for one-hot rows"
    if values.shape != (n, m):
        remedy = "pass one label per row of probs"
        if values.shape == (n, 1):
            remedy = "pass one dimension, .ravel()"
        raise invalid(rule, f"shape {values.shape} for probs of shape {(n, m)}", remedy)
    good = np.count_nonzero(values, axis=1) == 1
    good &= values.max(axis=1) == 1
    if not good.all():
        row = int(np.argmin(good))
        got = f"{listing(values[row].tolist())} at row {row}"
        remedy = "pass one label per row, shape (n,)"
        raise invalid(f"{name} of shape (n, m) must be one-hot rows", got, remedy)
    codes: Codes = values.argmax(axis=1)
    return codes


def _default_classes(values: AnyArray, m: int, name: str) -> AnyArray:
    if values.dtype.kind == "b":
        if m != 2:
            rule = f"{name} must not be booleans beyond two classes"
            raise invalid(rule, f"{m} columns of probs", "pass integers or strings")
        return read_only(np.array([False, True]))
    if values.dtype.kind == "U":
        names = sorted(set(values.tolist()))
        if len(names) != m:
            rule = f"classes must be given where {name} do not show each class"
            got = f"{len(names)} distinct labels for {m} columns"
            raise invalid(rule, got, "pass classes=[...], the names of the columns in their order")
        return read_only(np.array(names))
    return read_only(np.arange(m))


def _codes(values: AnyArray, classes: AnyArray, name: str) -> Codes:
    m = len(classes)
    text = values.dtype.kind == "U"
    if text and classes.dtype.kind != "U":
        raise _unknown_label(values, 0, classes, name)
    known = np.arange(m) if classes.dtype.kind == "U" and not text else classes
    if np.array_equal(known, np.arange(m)):  # the usual case, one pass
        if values.min() < 0 or values.max() >= m:
            row = int(np.argmax((values < 0) | (values >= m)))
            raise _unknown_label(values, row, known, name)
        return values.astype(np.int64)
    order = np.argsort(known)
    codes: Codes = order[np.minimum(np.searchsorted(known, values, sorter=order), m - 1)]
    wrong = known[codes] != values
    if wrong.any():
        raise _unknown_label(values, int(np.argmax(wrong)), classes, name)
    return codes


def _unknown_label(values: AnyArray, row: int, classes: AnyArray, name: str) -> InvalidInput:
    m = len(classes)
    distinct = np.unique(values).tolist()
    remedy = "drop that row, or pass classes=[...] with one name per column"
    if values.dtype.kind in "iu" and distinct[0] > 0 and distinct[-1] == m:
        remedy = f"pass classes=range(1, {m + 1}) if the columns are numbered from 1"
    elif len(distinct) == m <= 8:
        remedy = f"pass classes={distinct} if the columns stand in that order"
    got = f"{values[row].item()!r} at row {row}"
    return invalid(f"{name} must be among the classes {listing(classes.tolist())}", got, remedy)
