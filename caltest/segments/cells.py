"""Which rows are in which segment: cells of the tables of columns, or of a boolean matrix.

Segments come in chunks, so that what is held of each for every resample stays small. A chunk lists
the rows of a block beside the segments that hold them; nothing else tells a table from a matrix.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import combinations

import numpy as np

from caltest.errors import NotApplicable
from caltest.numerics.labels import label_dtype
from caltest.segments.inputs import Column
from caltest.segments.loops import join, list_members, list_pairs
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
    kept = np.array(list(_first_of_equals(members, large)), dtype=np.int64)
    for start in range(0, kept.size, CELLS):
        yield MatrixChunk(members, order, kept[start : start + CELLS], names)


def _first_of_equals(members: Flags, columns: Ints) -> Iterator[int]:
    seen: set[bytes] = set()
    for column in columns.tolist():
        rows = np.packbits(members[:, column]).tobytes()
        if rows not in seen:
            seen.add(rows)
            yield column


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
    def sizes(self) -> list[int]:
        """The number of values of each column."""
        return [column.size for column in self.columns]

    @cached_property
    def codes(self) -> Labels:
        """The values of all columns, (D, n)."""
        kind = label_dtype(max(self.sizes))
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
        sizes = [self.sizes[j] for j in columns]
        total = math.prod(sizes)
        if total > COMBINATIONS:
            names = " and ".join(repr(self.columns[j].name) for j in columns)
            raise NotApplicable(
                f"the columns {names} have {total} combinations of values of at least "
                f"{self.min_size} rows, more than {COMBINATIONS}",
                "pass depth=1, a larger min_size, or columns with fewer values",
            )
        numbers = np.empty(self.order.size, dtype=np.int32)
        join(self.codes, np.array(columns, np.int32), np.array(sizes, np.int32), 0, numbers)
        return np.bincount(numbers, minlength=total)

    def chunks(self, depth: int) -> Iterator[Chunk]:
        """Yield the cells of all tables of `depth` columns that are segments."""
        waiting: list[_Table] = []
        held = 0
        for columns in combinations(range(len(self.columns)), depth):
            table = _table_of(self, columns)
            if table.cells.size == 0:
                continue
            if waiting and held + table.cells.size > CELLS:
                yield TableChunk(self, waiting)
                waiting, held = [], 0
            waiting.append(table)
            held += table.cells.size
        if waiting:
            yield TableChunk(self, waiting)


@dataclass(frozen=True)
class _Table:
    """Some columns, and the numbers of the combinations of their values that are segments."""

    columns: tuple[int, ...]
    cells: Ints


def _table_of(tables: Tables, columns: tuple[int, ...]) -> _Table:
    """Return the combinations with enough rows, and fewer than any that has a condition less.

    One that has as many rows as with a condition less is the same segment.
    """
    sizes = [tables.sizes[j] for j in columns]
    count = tables.counts(columns).reshape(sizes)
    kept = count >= tables.min_size
    for axis in range(len(columns)):
        kept[(slice(None),) * axis + (-1,)] = False  # rare values together
        less = columns[:axis] + columns[axis + 1 :]
        if less:
            parent = tables.counts(less).reshape([tables.sizes[j] for j in less])
            kept &= count < np.expand_dims(parent, axis)
    return _Table(columns, np.flatnonzero(kept))


class TableChunk(Chunk):
    """Cells of some tables of columns."""

    def __init__(self, tables: Tables, members: list[_Table]) -> None:
        self._tables, self._members = tables, members
        self.depth, self.n = len(members[0].columns), tables.order.size
        self.size, self.width = sum(table.cells.size for table in members), len(members)
        self._ends = np.cumsum([table.cells.size for table in members])

    @cached_property
    def _places(self) -> tuple[SmallInts, SmallInts, Ints, SmallInts]:
        """Columns and sizes of each table, where its combinations start, and the cell of each."""
        columns = np.array([table.columns for table in self._members], dtype=np.int32)
        sizes = np.array(self._tables.sizes, dtype=np.int32)[columns]
        totals = sizes.astype(np.int64).prod(axis=1)
        starts = np.concatenate([[0], np.cumsum(totals)])
        place = np.full(starts[-1], -1, dtype=np.int32)
        at = np.concatenate(
            [table.cells + start for table, start in zip(self._members, starts, strict=False)]
        )
        place[at] = np.arange(self.size)
        return columns, sizes, starts, place

    def pairs(self, first: int, stop: int) -> Pairs:
        columns, sizes, starts, place = self._places
        rows = np.empty((stop - first) * self.width, dtype=np.int32)
        cells = np.empty_like(rows)
        count = list_pairs(
            self._tables.codes, columns, sizes, starts, place, first, stop, rows, cells
        )
        return rows[:count], cells[:count]

    def definition(self, segment: int) -> str:
        number = int(np.searchsorted(self._ends, segment, side="right"))
        table = self._members[number]
        cell = table.cells[segment - (self._ends[number] - table.cells.size)]
        sizes = [self._tables.sizes[j] for j in table.columns]
        values = np.unravel_index(int(cell), sizes)
        named = zip(table.columns, values, strict=True)
        return " & ".join(self._tables.columns[j].conditions[int(v)] for j, v in named)


@dataclass(frozen=True)
class _Union:
    """Some columns, the rows of each combination of their values, and the unions of these."""

    columns: tuple[Column, ...]
    numbers: tuple[int, ...]
    kept: Ints

    @property
    def sizes(self) -> list[int]:
        return [column.size for column in self.columns]

    @property
    def cells(self) -> int:
        return math.prod(self.sizes)

    def combine(self, sums: AnyArray) -> AnyArray:
        values = expand(sums.reshape(*self.sizes, -1).astype(np.float64), self.columns)
        return np.asarray(values.reshape(-1, values.shape[-1])[self.kept])

    def definition(self, place: int) -> str:
        texts = [column.unions.conditions for column in self.columns]
        values = np.unravel_index(int(self.kept[place]), [len(some) for some in texts])
        return " & ".join(some[int(v)] for some, v in zip(texts, values, strict=True))


def expand(sums: AnyArray, columns: Sequence[Column]) -> AnyArray:
    """Turn sums over the values of columns into those over their unions, axis by axis."""
    for axis, column in enumerate(columns):
        sums = np.moveaxis(np.tensordot(column.unions.members, sums, axes=(1, axis)), 0, axis)
    return sums


def _union_of(tables: Tables, numbers: tuple[int, ...]) -> _Union:
    """Return the unions that no table has, with enough rows and fewer than any parent."""
    columns = tuple(tables.columns[j] for j in numbers)
    count = tables.counts(numbers).reshape([column.size for column in columns]).astype(np.float64)
    rows = expand(count, columns)
    single = reduce(np.multiply.outer, [column.unions.single for column in columns])
    kept = (rows >= tables.min_size) & ~single
    for axis in range(len(columns)):
        others = columns[:axis] + columns[axis + 1 :]
        kept &= rows < np.expand_dims(expand(count.sum(axis=axis), others), axis)
    return _Union(columns, numbers, np.flatnonzero(kept))


def union_chunks(tables: Tables, depth: int) -> Iterator[Chunk]:
    """Yield the sides of cuts of numbers, and their intersections with sides and values.

    Parameters
    ----------
    tables : Tables
        Columns of numbers with the parts whose sides are taken, others without rare values.
    depth : int
        The number of columns that are crossed.
    """
    waiting: list[_Union] = []
    for numbers in combinations(range(len(tables.columns)), depth):
        if not any(tables.columns[j].cuts for j in numbers):
            continue
        union = _union_of(tables, numbers)
        held = sum(max(one.cells, one.kept.size) for one in [*waiting, union])
        if waiting and held > CELLS:
            yield UnionChunk(tables, waiting)
            waiting = []
        if union.kept.size:
            waiting.append(union)
    if waiting:
        yield UnionChunk(tables, waiting)


class UnionChunk(Chunk):
    """Unions of cells of some tables of columns: sums over them are sums over the cells."""

    in_order = False

    def __init__(self, tables: Tables, members: list[_Union]) -> None:
        self._tables, self._members = tables, members
        self.depth, self.n = len(members[0].numbers), tables.order.size
        self.size, self.width = sum(one.kept.size for one in members), len(members)
        self._starts = np.concatenate([[0], np.cumsum([one.cells for one in members])])
        self._ends = np.cumsum([one.kept.size for one in members])

    @property
    def cells(self) -> int:
        return int(self._starts[-1])

    def combine(self, sums: AnyArray) -> AnyArray:
        pieces = zip(self._members, self._starts, self._starts[1:], strict=False)
        return np.concatenate([one.combine(sums[a:b]) for one, a, b in pieces])

    def pairs(self, first: int, stop: int) -> Pairs:
        rows = np.empty((stop - first) * self.width, dtype=np.int32)
        cells = np.empty_like(rows)
        columns = np.array([one.numbers for one in self._members], dtype=np.int32)
        sizes = np.array([one.sizes for one in self._members], dtype=np.int32)
        place = np.arange(self.cells, dtype=np.int32)
        count = list_pairs(
            self._tables.codes, columns, sizes, self._starts, place, first, stop, rows, cells
        )
        return rows[:count], cells[:count]

    def definition(self, segment: int) -> str:
        number = int(np.searchsorted(self._ends, segment, side="right"))
        one = self._members[number]
        return one.definition(segment - int(self._ends[number]) + one.kept.size)
