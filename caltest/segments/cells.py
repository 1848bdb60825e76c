"""Which rows are in which segment: cells of the tables of columns, or of a boolean matrix.

Segments come in chunks, so that what is held of each for every resample stays small. A chunk lists
the rows of a block beside the segments that hold them. All rows are the table of no column, and a
column of a matrix is a table of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations

import numpy as np

from caltest.errors import NotApplicable
from caltest.numerics.labels import label_dtype
from caltest.segments.inputs import Column
from caltest.segments.loops import count_combinations, list_pairs
from caltest.types import AnyArray, Flags, Ints, Labels, SmallInts

Pairs = tuple[SmallInts, SmallInts]

CELLS = 1 << 15  # segments of a chunk
COMBINATIONS = 1 << 22  # of the values of the columns of one table
PAIRS = 1 << 21  # of rows and segments that are listed at a time
ROWS = 1 << 13  # whose events are drawn at a time


@dataclass(frozen=True)
class Tables:
    """The columns in the order in which rows are read, and the tables that cross them.

    Attributes
    ----------
    columns : tuple of Column
        Without rare values: those without a condition stand for what is no segment.
    order : (n,) array
        The rows in the order in which they are read.
    min_size : int
        The least rows of a segment.
    """

    columns: tuple[Column, ...]
    order: Ints
    min_size: int

    @cached_property
    def codes(self) -> Labels:
        """The values of all columns, (D, n)."""
        kind = label_dtype(max((column.size for column in self.columns), default=1))
        out = np.empty((len(self.columns), self.order.size), dtype=kind)
        for row, column in zip(out, self.columns, strict=True):
            row[:] = column.codes[self.order]
        return out

    def counts(self, numbers: tuple[int, ...]) -> Ints:
        """Count the rows of each combination of values of some columns."""
        sizes = [self.columns[j].size for j in numbers]
        total = math.prod(sizes)
        if total > COMBINATIONS:
            names = " and ".join(repr(self.columns[j].name) for j in numbers)
            raise NotApplicable(
                f"the columns {names} have {total} combinations of values of at least "
                f"{self.min_size} rows, more than {COMBINATIONS}",
                "pass depth=1, a larger min_size, or columns with fewer values",
            )
        counts = np.zeros(total, dtype=np.int64)
        own = (np.array(numbers, np.int32), np.array(sizes, np.int32))
        count_combinations(self.codes, *own, counts)
        return counts.reshape(sizes)

    def crossed(self, depth: int, *, united: bool = False) -> Iterator[ColumnCrossing]:
        """Yield the tables of `depth` columns with the combinations of values that are segments.

        They have enough rows, and fewer than any that has a condition less: one that has as many
        is the same segment. United are the sides of cuts of numbers, and intersections of these,
        that no table has.
        """
        for numbers in combinations(range(len(self.columns)), depth):
            columns = [self.columns[j] for j in numbers]
            if united and not any(column.cuts for column in columns):
                continue
            count = self.counts(numbers)
            rows = expand(count, columns) if united else count
            flags = [c.unions.single if united else np.array(c.conditions) != "" for c in columns]
            kept = (rows >= self.min_size) & (reduce(np.multiply.outer, flags) != united)
            for axis in range(depth):
                less, others = count.sum(axis=axis), columns[:axis] + columns[axis + 1 :]
                kept &= rows < np.expand_dims(expand(less, others) if united else less, axis)
            yield ColumnCrossing(self, numbers, np.flatnonzero(kept), united)


@dataclass(frozen=True)
class ColumnCrossing:
    """Some columns, and the numbers of the combinations of their values that are segments.

    Attributes
    ----------
    tables : Tables
        All columns.
    numbers : tuple of int
        Which of them.
    kept : array
        The segments among the combinations of values, or of unions of values.
    united : bool
        Whether they are those of unions.
    """

    tables: Tables
    numbers: tuple[int, ...]
    kept: Ints
    united: bool = False

    @property
    def columns(self) -> list[Column]:
        """The columns that are crossed."""
        return [self.tables.columns[j] for j in self.numbers]

    @property
    def sizes(self) -> list[int]:
        """The number of values of each."""
        return [column.size for column in self.columns]


def expand(sums: AnyArray, columns: Sequence[Column]) -> AnyArray:
    """Turn sums over the values of columns into those over their unions, axis by axis."""
    for axis, column in enumerate(columns):
        sums = np.moveaxis(np.tensordot(column.unions.members, sums, axes=(1, axis)), 0, axis)
    return sums


class SegmentBlock:
    """Some segments of one depth, and the rows that they hold.

    Parameters
    ----------
    members : sequence of Crossing
        The tables of which they are combinations of values.

    Attributes
    ----------
    depth : int
        How many conditions define each: 0 for all rows.
    size : int
        The number of segments.
    n : int
        The number of rows.
    width : int
        How many cells hold a row, at most, for the size of blocks.
    cells : int
        How many cells rows are listed beside: the segments, or what they are made of.
    in_order : bool
        Whether the cells are the segments, so that sums can be followed from row to row.
    """

    def __init__(self, members: Sequence[ColumnCrossing]) -> None:
        self._tables, self._members = members[0].tables, members
        self.depth, self.in_order = len(members[0].numbers), not members[0].united
        self.n, self.width = self._tables.order.size, len(members)
        self._ends = np.cumsum([one.kept.size for one in members])
        self._starts = np.cumsum([0, *(math.prod(one.sizes) for one in members)])
        self.size = int(self._ends[-1])
        self.cells = self.size if self.in_order else int(self._starts[-1])
        # the columns of each table, and the numbers of their values
        self._numbers = np.array([one.numbers for one in members], np.int32)
        self._sizes = np.array([one.sizes for one in members], np.int32)

    @classmethod
    def of(cls, crossings: Iterable[ColumnCrossing]) -> Iterator[SegmentBlock]:
        """Yield chunks of tables that have segments, not too many each."""
        waiting: list[ColumnCrossing] = []
        held = 0
        for one in (one for one in crossings if one.kept.size):
            own = max(math.prod(one.sizes) if one.united else 0, one.kept.size)
            if waiting and held + own > CELLS:
                yield cls(waiting)
                waiting, held = [], 0
            waiting.append(one)
            held += own
        if waiting:
            yield cls(waiting)

    @cached_property
    def _places(self) -> SmallInts:
        """The cell of each combination of values, -1 for none."""
        if not self.in_order:
            return np.arange(self.cells, dtype=np.int32)
        place = np.full(self._starts[-1], -1, dtype=np.int32)
        pairs = zip(self._members, self._starts, strict=False)
        place[np.concatenate([one.kept + start for one, start in pairs])] = np.arange(self.size)
        return place

    def pairs(self, first: int, stop: int) -> Pairs:
        """List the rows from `first` on, before `stop`, beside the cells that hold them.

        Rows are counted from `first`; those of a cell are in ascending order.
        """
        # One place more than there may be pairs: the loop writes before it knows.
        rows = np.empty((stop - first) * self.width + 1, dtype=np.int32)
        cells = np.empty_like(rows)
        own = (self._numbers, self._sizes, self._starts, self._places)
        count = list_pairs(self._tables.codes, *own, first, stop, rows, cells)
        return rows[:count], cells[:count]

    def combine(self, sums: AnyArray) -> AnyArray:
        """Turn sums over the cells, (cells, k), into those over the segments, (S, k)."""
        if self.in_order:
            return sums
        pieces = []
        for one, a, b in zip(self._members, self._starts, self._starts[1:], strict=False):
            values = expand(sums[a:b].reshape(*one.sizes, -1), one.columns)
            pieces.append(values.reshape(-1, values.shape[-1])[one.kept])
        return np.concatenate(pieces)

    def definition(self, segment: int) -> str:
        """Say in words which rows a segment holds."""
        number = int(np.searchsorted(self._ends, segment, side="right"))
        one = self._members[number]
        place = int(one.kept[segment - int(self._ends[number])])
        texts = [c.unions.conditions if one.united else c.conditions for c in one.columns]
        values = np.unravel_index(place, [len(some) for some in texts])
        conditions = [some[int(v)] for some, v in zip(texts, values, strict=True)]
        return " & ".join(conditions) if conditions else "all rows"

    def blocks(self) -> list[tuple[int, int]]:
        """Return the first row of each block and the one after its last."""
        step = max(64, min(ROWS, PAIRS // self.width))
        return [(first, min(first + step, self.n)) for first in range(0, self.n, step)]


def matrix_chunks(
    members: Flags, order: Ints, names: Sequence[str], min_size: int
) -> Iterator[SegmentBlock]:
    """Yield the columns of a matrix that have enough rows, and not all, each set of rows once."""
    counts = members.sum(axis=0)
    large = np.flatnonzero((counts >= min_size) & (counts < len(members)))
    first: dict[bytes, int] = {}  # of equals
    for column in large.tolist():
        first.setdefault(np.packbits(members[:, column]).tobytes(), column)
    columns = (Column(str(names[k]), members[:, k], ("", str(names[k]))) for k in first.values())
    tables = Tables(tuple(columns), order, min_size)
    return SegmentBlock.of(
        ColumnCrossing(tables, (k,), np.ones(1, np.int64)) for k in range(len(first))
    )
