"""Cells of many groups: flat arrays, one group after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from caltest.predictions import Predictions
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
    rows : tuple of Predictions
        Those of each group, where they are in memory: each row is a cell. Elsewhere empty.
    """

    cells: Cells
    start: Ints
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    rows: tuple[Predictions, ...] = ()

    @classmethod
    def of_rows(cls, parts: Mapping[Any, Predictions], column: str) -> ManyCells:
        """Take the rows of two classes in memory, by group, each as a cell of its own."""
        rows = tuple(parts.values())
        p = np.concatenate([part.probs[:, 1] for part in rows])
        y, ones = np.concatenate([part.labels for part in rows]), np.ones(p.size, np.int64)
        place = np.floor(p * GRID).astype(np.int64)
        cells = Cells(place, {}, ones, y, p, p * (1.0 - p), p, p, str(rows[0].classes[1]))
        start = np.append(0, np.cumsum([part.n for part in rows]))
        return cls(cells, start, (column,), tuple((name,) for name in parts), rows)

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
        return replace(
            self, cells=self.cells.taken(np.repeat(kept, sizes)), start=start, values=values
        )

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
