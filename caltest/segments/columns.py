"""Columns become categories: values as they are, numbers cut at quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.bins import quantile_cuts
from caltest.validation.arrays import AnyArray, check_column, is_missing

Codes = NDArray[np.int64]
Members = NDArray[np.float64]

MISSING = "missing"


@dataclass(frozen=True)
class Column:
    """A column whose values are numbered.

    Attributes
    ----------
    name : str
        What the user calls it.
    codes : (n,) array
        The number of the value that each row has.
    conditions : tuple of str
        What each value says of a row, such as "age in (30, 45]".
    cuts : tuple of str
        Where numbers were cut, so that the first values are in ascending order; else nothing.
    ends : tuple of int
        The rows of the first and the last part of coarser cuts, if these are known.
    """

    name: str
    codes: Codes
    conditions: tuple[str, ...]
    cuts: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.conditions)

    @cached_property
    def unions(self) -> Unions:
        """The values; of a number that is cut, the sides of each cut and whether it is missing."""
        parts = len(self.cuts) + 1 if self.cuts else 0
        values = [k for k, text in enumerate(self.conditions) if text and k >= parts]
        texts = [self.conditions[k] for k in values]
        rows = [np.arange(self.size) == k for k in values]
        single = [True] * len(values)
        place, below = np.arange(self.size), np.cumsum(np.bincount(self.codes)).tolist()
        for k, cut in enumerate(self.cuts, start=1):
            texts += [f"{self.name} <= {cut}", f"{self.name} > {cut}"]
            rows += [place < k, (place >= k) & (place < parts)]
            single += [
                count in self.ends for count in (below[k - 1], below[parts - 1] - below[k - 1])
            ]
        return Unions(tuple(texts), np.array(rows, dtype=np.float64), np.array(single))


@dataclass(frozen=True)
class Unions:
    """Sets of values of a column.

    Attributes
    ----------
    conditions : tuple of str
        What each says of a row.
    members : (V, size) array
        Which values are in each.
    single : (V,) array
        Whether it is a value, or a part of a range, that the tables have.
    """

    conditions: tuple[str, ...]
    members: Members
    single: NDArray[np.bool_]


def column_of(values: object, n: int, name: str, bins: int, *, parts: int | None = None) -> Column:
    """Number the values of a column; numbers with more than `bins` values are cut at quantiles.

    They are cut into `parts`, by default `bins`. Missing values are a value of their own.
    """
    array = check_column(values, n, f"column {name!r}")
    lacks = missing_of(array)
    present = array[~lacks]
    codes = np.empty(n, dtype=np.int64)
    cuts: list[str] = []
    numeric = numbers_of(present)
    if numeric is not None and np.unique(numeric).size > bins:
        codes[~lacks], conditions, cuts = _cut(numeric, name, parts or bins)
    else:
        codes[~lacks], conditions = _categories(present, name)
    if lacks.any():
        codes[lacks] = len(conditions)
        conditions.append(f"{name} {MISSING}")
    return Column(name, codes, tuple(conditions), tuple(cuts))


def missing_of(array: AnyArray) -> NDArray[np.bool_]:
    """Tell where a value is missing."""
    if array.dtype.kind in "fc":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    if array.dtype.kind in "OT":
        return np.array([is_missing(item) for item in array.tolist()], dtype=bool)
    return np.zeros(array.shape, dtype=bool)


def numbers_of(present: AnyArray) -> AnyArray | None:
    """Return the values as numbers that can be cut, or None where they are names."""
    if present.dtype.kind in "iuf":
        return present
    if present.dtype.kind != "O" or not present.size:
        return None
    kinds = {type(item) for item in present.tolist()}
    return present.astype(np.float64) if kinds <= {int, float} else None


def _cut(values: AnyArray, name: str, bins: int) -> tuple[Codes, list[str], list[str]]:
    cuts = quantile_cuts(np.sort(values), None, bins)
    ends = _short(cuts.tolist())
    inside = [f"{name} in ({a}, {b}]" for a, b in pairwise(ends)]
    names = [f"{name} <= {ends[0]}", *inside, f"{name} > {ends[-1]}"]
    return np.searchsorted(cuts, values, side="left"), names, ends


def _short(values: list[float]) -> list[str]:
    """Write numbers with as few digits as tell them apart, four or more."""
    for digits in range(4, 17):
        texts = [f"{value:.{digits}g}" for value in values]
        if len(set(texts)) == len(texts):
            return texts
    return [repr(value) for value in values]


def _categories(values: AnyArray, name: str) -> tuple[Codes, list[str]]:
    if values.dtype.kind in "OT":
        values = np.array([str(item) for item in values.tolist()], dtype=str)
    distinct, codes = np.unique(values, return_inverse=True)
    texts = (f"{v:.6g}" if isinstance(v, float) else str(v) for v in distinct.tolist())
    return codes.astype(np.int64), [f"{name} = {text}" for text in texts]


def without_rare(column: Column, min_size: int) -> Column | None:
    """Put values of fewer than `min_size` rows together as the last, which is no segment.

    None where no value is left. A value that all rows have is none either: it is the data.
    """
    counts = np.bincount(column.codes, minlength=column.size)
    kept = np.flatnonzero((counts >= min_size) & (counts < column.codes.size))
    if kept.size == 0:
        return None
    place = np.full(column.size, kept.size)
    place[kept] = np.arange(kept.size)
    names = (*(column.conditions[k] for k in kept.tolist()), "")
    return Column(column.name, place[column.codes], names)
