"""Reading array-likes: lists, NumPy arrays, tables, tensors."""

from __future__ import annotations

import re
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.errors import InvalidInput, invalid, shown

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
AnyArray = NDArray[Any]

NUMBER = (Real, Decimal, np.bool_)


def as_array(values: object, name: str) -> AnyArray:
    """Read a list, a NumPy array, a table or a tensor as an array, without a copy if possible."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0, 0])
        raise invalid(f"{name} must be complete", f"a masked value at row {row}", "drop that row")
    if type(values).__module__.startswith("scipy.sparse"):
        got = f"a sparse {type(values).__name__}"
        raise invalid(f"{name} must be a dense array", got, "pass .toarray()")
    if isinstance(values, (list, tuple)) and any(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)  # as text, NumPy would turn 1 into '1'
    try:
        return np.asarray(values)
    except Exception as error:  # tensors and tables raise errors of their own
        rows = isinstance(values, (list, tuple))
        got = "rows of unequal length" if rows else f"type {type(values).__name__}"
        remedy = "give each row as many entries" if rows else str(error).rstrip(".")
        raise invalid(f"{name} must be readable as an array", got, remedy) from error


def read_only(array: AnyArray) -> AnyArray:
    """Lock an array that caltest owns, and return it."""
    array.flags.writeable = False
    return array


def as_numbers(values: object, name: str) -> AnyArray:
    """Read `values` as an array of booleans, integers or floats."""
    array = as_array(values, name)
    if array.dtype.kind in "biuf":
        return array
    items = array.astype(object)
    strange = [place for place, item in np.ndenumerate(items) if not isinstance(item, NUMBER)]
    if strange:
        raise _not_numbers(items, strange, name)
    return items.astype(np.float64)


def _not_numbers(items: AnyArray, strange: list[tuple[int, ...]], name: str) -> InvalidInput:
    place = next((place for place in strange if not _is_numeral(items[place])), strange[0])
    got = f"{shown(items[place])} at row {place[0]}" if place else shown(items.item())
    if is_missing(items[place]):
        return missing(name, got)
    return invalid(f"{name} must be numbers", got, _as_it_is_read(str(items[place])))


def _as_it_is_read(text: str) -> str:
    """Say how to write a number that is one to people: 70%, or 0,7."""
    if re.fullmatch(r"[0-9.]+ ?%", text) and _is_numeral(text.rstrip(" %")):
        return f"write {float(text.rstrip(' %')) / 100:.6g} for {text}"
    if re.fullmatch(r"[0-9]+,[0-9]+", text):
        return f"write decimal points, {text.replace(',', '.')}"
    return "convert them to floats first"


def _is_numeral(item: object) -> bool:
    try:
        float(str(item))
    except ValueError:
        return False
    return True


def is_missing(item: object) -> bool:
    """Tell the markers of missing values: None, NaN and those of pandas."""
    return type(item).__name__ in ("NoneType", "NAType", "NaTType") or item != item  # noqa: PLR0124


def missing(name: str, got: str) -> InvalidInput:
    """Word the error for a missing value."""
    return invalid(f"{name} must not be missing", got, "drop or fill that row")


def check_column(values: object, n: int, name: str) -> AnyArray:
    """Check that `values` has one entry per row of probs, in one dimension."""
    array = as_array(values, name)
    if array.shape != (n,):
        got = f"{array.shape[0]} for {n} rows" if array.ndim == 1 else f"shape {array.shape}"
        raise invalid(f"{name} must have one entry per row of probs", got, _length_remedy(array, n))
    return array


def _length_remedy(array: AnyArray, n: int) -> str:
    if array.size == n and array.ndim == 2:
        return "pass one dimension, .ravel()"
    return "take both from the same rows"
