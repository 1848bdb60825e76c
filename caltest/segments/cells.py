"""Which rows are in which segment: cells of the tables of columns, or of a boolean matrix.

Segments come in chunks, so that what is held of each for every resample stays small. A chunk lists
the rows of a block beside the segments that hold them; nothing else tells a table from a matrix.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import combinations

import numpy as np

from caltest.errors import NotApplicable
from caltest.numerics.labels import label_dtype
from caltest.segments.inputs import Column
from caltest.segments.loops import count_combinations, list_members, list_pairs
from caltest.types import AnyArray, Flags, Ints, Labels, SmallInts

Pairs = tuple[SmallInts, SmallInts]

CELLS = 1 << 15  # segments of a chunk
COMBINATIONS = 1 << 22  # of the values of the columns of one table
PAIRS = 1 << 21  # of rows and segments that are listed at a time
ROWS = 1 << 13  # whose events are drawn at a time


class Chunk(ABC):
    """Some segments of one depth, and the rows that they hold.

    Attributes
    ----------
    depth : int
        How many conditions define each: 0 for all rows.
    size : int
        The number of segments.
    n : int
        The number of rows.
    width : int
        About how many cells hold a row, for the size of blocks.
    cells : int
        How many cells rows are listed beside: the segments, or what they are made of.
    in_order : bool
        Whether the cells are the segments, so that sums can be followed from row to row.
    """

    depth: int
    size: int
    n: int
    width: int
    in_order = True

    @property
    def cells(self) -> int:
        return self.size

    def combine(self, sums: AnyArray) -> AnyArray:
        """Turn sums over the cells, (cells, k), into those over the segments, (S, k)."""
        return sums

    @abstractmethod
    def pairs(self, first: int, stop: int) -> Pairs:
        """List the rows from `first` on, before `stop`, beside the cells that hold them.

        Rows are counted from `first`; those of a cell are in ascending order.
        """

    @abstractmethod
    def definition(self, segment: int) -> str:
        """Say in words which rows a segment holds."""

    def blocks(self) -> list[tuple[int, int]]:
        """Return the first row of each block and the one after its last."""
        step = max(64, min(ROWS, PAIRS // max(self.width, 1)))
        return [(first, min(first + step, self.n)) for first in range(0, self.n, step)]


class AllRows(Chunk):
    """The segment of all rows."""

    def __init__(self, n: int) -> None:
        self.depth, self.size, self.n, self.width = 0, 1, n, 1

    def pairs(self, first: int, stop: int) -> Pairs:
        rows = np.arange(stop - first, dtype=np.int32)
        return rows, np.zeros_like(rows)

    def definition(self, segment: int) -> str:
        return "all rows"


class MatrixChunk(Chunk):
    """Columns of a boolean matrix.

    Parameters
    ----------
    members : (n, S) array
        Whether each row is in each segment; rows in any order that `order` puts right.
    order : (n,) array
        The rows in the order in which they are read.
    columns : (size,) array
        The segments of this chunk.
    names : sequence of str
        What all the columns are called.
    """

    def __init__(self, members: Flags, order: Ints, columns: Ints, names: Sequence[str]) -> None:
        self.depth, self.size, self.n, self.width = 1, columns.size, order.size, columns.size
        self._members = np.ascontiguousarray(members[:, columns].T[:, order])
        self._names = [str(names[k]) for k in columns.tolist()]

    def pairs(self, first: int, stop: int) -> Pairs:
        # One place more than there are pairs: the loop writes before it knows.
        rows = np.empty((stop - first) * self.size + 1, dtype=np.int32)
        cells = np.empty_like(rows)
        count = list_members(self._members, first, stop, rows, cells)
        return rows[:count], cells[:count]

    def definition(self, segment: int) -> str:
        return self._names[segment]


def matrix_chunks(
    members: Flags, order: Ints, names: Sequence[str], min_size: int
) -> Iterator[Chunk]:
    """Yield the columns of a matrix that have enough rows, and not all, each set of rows once."""
    counts = members.sum(axis=0)
    large = np.flatnonzero((counts >= min_size) & (counts < len(members)))
    first: dict[bytes, int] = {}  # of equals
    for column in large.tolist():
        first.setdefault(np.packbits(members[:, column]).tobytes(), column)
    kept = np.array(list(first.values()), dtype=np.int64)
    for start in range(0, kept.size, CELLS):
        yield MatrixChunk(members, order, kept[start : start + CELLS], names)


@dataclass(frozen=True)
class Tables:
    """The columns in the order in which rows are read, and the tables that cross them.

    Attributes
    ----------
    columns : tuple of Column
        Without rare values: the last value of each column stands for those and is no segment.
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
        kind = label_dtype(max(column.size for column in self.columns))
        out = np.empty((len(self.columns), self.order.size), dtype=kind)
        for row, column in zip(out, self.columns, strict=True):
            row[:] = column.codes[self.order]
        return out

    @cached_property
    def counts(self) -> Callable[[tuple[int, ...]], Ints]:
        """A function that counts the rows of each combination of values of some columns.

        It remembers the last tables.
        """
        return lru_cache(maxsize=256)(self._count)

    def _count(self, columns: tuple[int, ...]) -> Ints:
        sizes = [self.columns[j].size for j in columns]
        total = math.prod(sizes)
        if total > COMBINATIONS:
            names = " and ".join(repr(self.columns[j].name) for j in columns)
            raise NotApplicable(
                f"the columns {names} have {total} combinations of values of at least "
                f"{self.min_size} rows, more than {COMBINATIONS}",
                "pass depth=1, a larger min_size, or columns with fewer values",
            )
        counts = np.zeros(total, dtype=np.int64)
        own = (np.array(columns, np.int32), np.array(sizes, np.int32))
        count_combinations(self.codes, *own, counts)
        return counts

    def crossed(self, depth: int) -> Iterator[Crossing]:
        """Yield the tables of `depth` columns with the combinations of values that are segments.

        They have enough rows, and fewer than any that has a condition less: one that has as many
        is the same segment.
        """
        for numbers in combinations(range(len(self.columns)), depth):
            columns = [self.columns[j] for j in numbers]
            sizes = [column.size for column in columns]
            count = self.counts(numbers).reshape(sizes)
            kept = count >= self.min_size
            for axis in range(depth):
                kept[(slice(None),) * axis + (-1,)] = False  # rare values together
                less = numbers[:axis] + numbers[axis + 1 :]
                if less:
                    parent = self.counts(less).reshape(sizes[:axis] + sizes[axis + 1 :])
                    kept &= count < np.expand_dims(parent, axis)
            yield Crossing(self, numbers, columns, np.flatnonzero(kept))

    def united(self, depth: int) -> Iterator[Crossing]:
        """Yield the same of sides of cuts of numbers, and of intersections, that no table has.

        Columns are numbers with the parts whose sides are taken, others without rare values.
        """
        for numbers in combinations(range(len(self.columns)), depth):
            columns = [self.columns[j] for j in numbers]
            if not any(column.cuts for column in columns):
                continue
            sizes = [column.size for column in columns]
            count = self.counts(numbers).reshape(sizes).astype(np.float64)
            rows = expand(count, columns)
            single = reduce(np.multiply.outer, [column.unions.single for column in columns])
            kept = (rows >= self.min_size) & ~single
            for axis in range(depth):
                others = columns[:axis] + columns[axis + 1 :]
                kept &= rows < np.expand_dims(expand(count.sum(axis=axis), others), axis)
            yield Crossing(self, numbers, columns, np.flatnonzero(kept))


@dataclass(frozen=True)
class Crossing:
    """Some columns, and the numbers of the combinations of their values that are segments.

    Attributes
    ----------
    tables : Tables
        All columns.
    numbers : tuple of int
        Which of them.
    columns : list of Column
        Those.
    kept : array
        The segments among the combinations of values, or of unions of values.
    """

    tables: Tables
    numbers: tuple[int, ...]
    columns: list[Column]
    kept: Ints

    @property
    def sizes(self) -> list[int]:
        """The number of values of each."""
        return [column.size for column in self.columns]

    @property
    def cells(self) -> int:
        """The number of combinations of values."""
        return math.prod(self.sizes)


def expand(sums: AnyArray, columns: Sequence[Column]) -> AnyArray:
    """Turn sums over the values of columns into those over their unions, axis by axis."""
    for axis, column in enumerate(columns):
        sums = np.moveaxis(np.tensordot(column.unions.members, sums, axes=(1, axis)), 0, axis)
    return sums


class TableChunk(Chunk):
    """Cells of some tables of columns."""

    def __init__(self, members: Sequence[Crossing]) -> None:
        self._tables, self._members = members[0].tables, members
        self.depth, self.n = len(members[0].numbers), self._tables.order.size
        self._ends = np.cumsum([one.kept.size for one in members])
        self._starts = np.cumsum([0, *(one.cells for one in members)])
        self.size, self.width = int(self._ends[-1]), len(members)
        # the columns of each table, and the numbers of their values
        self._numbers = np.array([one.numbers for one in members], np.int32)
        self._sizes = np.array([one.sizes for one in members], np.int32)

    @classmethod
    def of(cls, crossings: Iterable[Crossing]) -> Iterator[Chunk]:
        """Yield chunks of tables that have segments, not too many each."""
        waiting: list[Crossing] = []
        held = 0
        for one in (one for one in crossings if one.kept.size):
            own = one.kept.size if cls.in_order else max(one.cells, one.kept.size)
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
        place = np.full(self._starts[-1], -1, dtype=np.int32)
        pairs = zip(self._members, self._starts, strict=False)
        place[np.concatenate([one.kept + start for one, start in pairs])] = np.arange(self.size)
        return place

    def pairs(self, first: int, stop: int) -> Pairs:
        rows = np.empty((stop - first) * self.width, dtype=np.int32)
        cells = np.empty_like(rows)
        own = (self._numbers, self._sizes, self._starts, self._places)
        count = list_pairs(self._tables.codes, *own, first, stop, rows, cells)
        return rows[:count], cells[:count]

    def _texts(self, column: Column) -> Sequence[str]:
        return column.conditions

    def definition(self, segment: int) -> str:
        number = int(np.searchsorted(self._ends, segment, side="right"))
        one = self._members[number]
        place = int(one.kept[segment - int(self._ends[number]) + one.kept.size])
        texts = [self._texts(column) for column in one.columns]
        values = np.unravel_index(place, [len(some) for some in texts])
        return " & ".join(some[int(v)] for some, v in zip(texts, values, strict=True))


class UnionChunk(TableChunk):
    """Unions of cells of some tables of columns: sums over them are sums over the cells."""

    in_order = False

    @property
    def cells(self) -> int:
        return int(self._starts[-1])

    def combine(self, sums: AnyArray) -> AnyArray:
        pieces = []
        for one, a, b in zip(self._members, self._starts, self._starts[1:], strict=False):
            values = expand(sums[a:b].reshape(*one.sizes, -1).astype(np.float64), one.columns)
            pieces.append(values.reshape(-1, values.shape[-1])[one.kept])
        return np.concatenate(pieces)

    @cached_property
    def _places(self) -> SmallInts:
        return np.arange(self.cells, dtype=np.int32)

    def _texts(self, column: Column) -> Sequence[str]:
        return column.unions.conditions
