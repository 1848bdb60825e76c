"""Cells of many groups: flat arrays, one group after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from caltest.numerics.bins import uniform_bins
from caltest.predictions import Predictions
from caltest.predictions.container import event_column
from caltest.sources.cells import GRID, Cells
from caltest.types import AnyArray, Flags, Floats, Ints


@dataclass(frozen=True, eq=False)
class ManyCells:
    """The cells of G groups of rows, those of a group next to each other in ascending order.

    Attributes
    ----------
    cells : Cells
        Of all groups.
    start : (G + 1,) array
        Where the cells of each group begin, and where those of the last end.
    columns : tuple of str
        The columns that the groups are made of.
    values : tuple of tuple
        What these columns hold in each group.
    rows : Predictions or None
        All rows, those of a group next to each other, where they are in memory.
    """

    cells: Cells
    start: Ints
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    rows: Predictions | None = None

    @classmethod
    def of_rows(
        cls,
        predictions: Predictions,
        columns: tuple[str, ...],
        values: Mapping[Any, tuple[Any, ...]],
        bins: Sequence[int],
    ) -> ManyCells:
        """Take the rows of two classes in memory; those of a group with equal predictions are one.

        Parameters
        ----------
        predictions : Predictions
            The rows, with groups.
        columns : tuple of str
            The columns that the groups are made of.
        values : Mapping
            What these hold in each group, by its name; where it has none, the name.
        bins : sequence of int
            Numbers of bins of equal width that are asked for.
        """
        names, group = np.unique(cast("AnyArray", predictions.groups), return_inverse=True)
        order = np.argsort(group, kind="stable")
        rows = predictions.subset(order)
        event, at = event_column(rows), group[order]
        ascending = np.lexsort((event, at))
        p, y, at = event[ascending], rows.labels[ascending], at[ascending]
        first = np.flatnonzero(np.append(True, (np.diff(p) != 0) | (np.diff(at) != 0)))
        n, events, p = np.diff(np.append(first, p.size)), np.add.reduceat(y, first), p[first]
        place = np.floor(p * GRID).astype(np.int64)
        in_bins: dict[int, Any] = {count: np.empty(p.size, np.uint32) for count in bins}
        for count, own in in_bins.items():
            uniform_bins(p[:, np.newaxis], count, own[:, np.newaxis])
        name, variance = str(predictions.classes[1]), n * p * (1.0 - p)
        cells = Cells(place, in_bins, n, events, n * p, variance, p, p, name)
        start = np.searchsorted(at[first], np.arange(names.size + 1))
        keys = tuple(values.get(name, (name,)) for name in names.tolist())
        return cls(cells, start, columns, keys, rows)

    def rows_of(self, group: int) -> Predictions | None:
        """Return the rows of a group by its number, where they are in memory."""
        if self.rows is None:
            return None
        return self.rows.subset(slice(*self._row_start[group : group + 2].tolist()))

    @cached_property
    def _row_start(self) -> Ints:
        return np.append(0, np.cumsum(self.n))

    def __len__(self) -> int:
        return self.start.size - 1

    def each(self) -> Iterator[tuple[Any, Cells]]:
        """Yield name and cells of each group."""
        for name, first, stop in zip(self.names, self.start, self.start[1:], strict=False):
            yield name, self.cells.between(int(first), int(stop))

    @property
    def names(self) -> list[Any]:
        """Each group by its value, several columns crossed; None without columns."""
        if not self.columns:
            return [None] * len(self)
        return [key[0] if len(key) == 1 else ", ".join(map(str, key)) for key in self.values]

    def some(self, kept: Flags) -> ManyCells:
        """Return some of the groups."""
        sizes = np.diff(self.start)
        start = np.append(0, np.cumsum(sizes[kept]))
        values = tuple(itertools.compress(self.values, kept.tolist()))
        cells = self.cells.taken(np.repeat(kept, sizes))
        return replace(self, cells=cells, start=start, values=values)

    def among(self, columns: Sequence[str]) -> ManyCells:
        """Return the same with further columns, of which a group has any value, None."""
        named = (dict(zip(self.columns, key, strict=True)) for key in self.values)
        values = tuple(tuple(map(key.get, columns)) for key in named)
        return replace(self, columns=tuple(columns), values=values)

    def sums(self, values: AnyArray) -> Floats:
        """Sum over the cells of each group."""
        return np.add.reduceat(values, self.start[:-1]).astype(np.float64)

    @cached_property
    def n(self) -> Ints:
        """The rows of each group."""
        return np.add.reduceat(self.cells.n, self.start[:-1])

    @cached_property
    def events(self) -> Ints:
        """The events of each group."""
        return np.add.reduceat(self.cells.events, self.start[:-1])

    @cached_property
    def expected(self) -> Floats:
        """The expected events of each group."""
        return self.sums(self.cells.expected)

    @cached_property
    def variance(self) -> Floats:
        """The variance of the events of each group."""
        return self.sums(self.cells.variance)
