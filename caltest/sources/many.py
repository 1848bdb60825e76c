"""Cells of many groups: flat arrays, one group after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from caltest.sources.cells import Cells, own_numbers
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
    redrawn : str
        What is redrawn of each cell, in words.
    """

    redrawn: ClassVar[str] = "numbers of events of cells"

    cells: Cells
    start: Ints
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

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

    @property
    def numbers(self) -> Ints:
        """The number of each cell within its group, as `Cells.hashes` has it."""
        group = np.repeat(np.arange(len(self)), np.diff(self.start))
        return own_numbers(self.cells.place, group)

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

    def described(self, error: str) -> dict[str, object]:
        """Return what a print has of the cells, with the error that they make in words."""
        return {"cells": len(self.cells), "error by cells": error}


class ManyRows(ManyCells):
    """The rows of G groups, those of a group next to each other: each is a cell of its own."""

    redrawn = "labels"

    @classmethod
    def of(cls, probs: Floats, labels: Ints, groups: AnyArray, column: str, event: str) -> ManyRows:
        """Sort rows of two classes by group and prediction.

        Parameters
        ----------
        probs : (n,) array
            Probabilities of the event.
        labels : (n,) array
            Whether it happened, 0 or 1.
        groups : (n,) array
            The group of each row.
        column : str
            What the groups are called.
        event : str
            What happens, for print.
        """
        values, group = np.unique(groups, return_inverse=True)
        order = np.lexsort((probs, group))
        p, y, ones = probs[order], labels[order].astype(np.int64), np.ones(order.size, np.int64)
        cells = Cells(ones, {}, ones, y, p, p * (1.0 - p), p, p, event)
        start = np.append(0, np.cumsum(np.bincount(group)))
        return cls(cells, start, (column,), tuple((value,) for value in values.tolist()))

    @property
    def numbers(self) -> Ints:
        """The number of each row within its group, as the portfolio of this alone has it."""
        sizes, p = np.diff(self.start), self.cells.mean
        group = np.repeat(np.arange(sizes.size), sizes)
        out = np.empty(p.size, np.int64)
        canonical = np.lexsort((np.minimum(p, 1.0 - p), np.maximum(p, 1.0 - p), group))
        out[canonical] = np.arange(p.size) - np.repeat(self.start[:-1], sizes)
        return out

    def described(self, error: str) -> dict[str, object]:
        return {}
