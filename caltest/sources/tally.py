"""Cells filled row by row, where the rows are read into this process anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.lazy import pl
from caltest.numerics.bins import sort_by_cell
from caltest.numerics.loops import blocks, njit
from caltest.sources.cells import GRID, NEVER, UNIT
from caltest.sources.weights import FIRST, LOWEST, MANTISSA, SUMS, WITHIN
from caltest.types import AnyArray, Floats, Ints, SmallInts

AT_ONCE = 1 << 24  # rows of very many groups that are held until they are counted
LEFT_OUT = -1  # in place of the code of a row that is not counted
NO_ROWS = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int8)
NO_WEIGHTS = np.empty(0), np.empty(0, np.int8), np.empty(0, np.int64)
TOGETHER = 1 << 20  # rows with weights that are held until they are counted
BITS = 22  # of a packed number that the rows or the events take
MOST = (1 << (BITS - 1)) - 1  # rows whose sums fit beside them
BLOCK = 1 << 10  # rows whose cells are found before they are counted
LEAST_YET = np.float64(1.0).view(np.int64)
FULL = 511  # rows whose sums of cubes, up to 8 each, take 32 bits
SUMMED = ("n", "y", "r1", "r2", *SUMS)  # from the fifth word of a line on, after both ends
N, LIGHT, HEAVY, CELL, CLASS = 4, *range(4 + len(SUMMED), 8 + len(SUMMED))


class Tally:
    """The cells of one event, occupied or not, in the order of their predictions.

    A place is cut by the edges of bins within it, so that the cells of place q are the next ones
    after those of place q - 1: as many as there are edges in it, and one more.

    Parameters
    ----------
    bins : sequence of int
        Numbers of bins of equal width that cells must not cross.
    """

    def __init__(self, bins: Sequence[int]) -> None:
        own = {count: np.arange(1, count) / count for count in bins}
        edges = np.unique(np.concatenate([[], *own.values()]))
        starts = np.arange(GRID + 2) / GRID
        self._before = np.searchsorted(edges, starts).astype(np.int32)  # edges below each place
        self._own, self._edges = own, np.append(edges, np.inf)
        self._cuts = self._edges, self._before, int(np.diff(self._before).max())
        self._begin(GRID + 2 + edges.size)

    def _begin(self, cells: int) -> None:
        self._sums = np.zeros((cells, 4), np.int64)
        # One cache line has two cells, with sums packed by twos and the bits of both ends. What is
        # not counted goes to one cell more.
        self._waiting = np.zeros((cells + 1, 4), np.int64)
        self._waiting[:, 2] = LEAST_YET
        self._rows = 0

    def add(self, probs: NDArray[np.floating], happened: NDArray[np.int8]) -> None:
        """Count rows.

        Parameters
        ----------
        probs : (n,) array
            Predictions, in single or double precision; outside [0, 1] the nearer end is taken.
        happened : (n,) array
            Whether the event happened, `LEFT_OUT` for a row that does not count.
        """
        for start in range(0, probs.size, MOST):
            some = slice(start, start + MOST)
            rows = probs[some].size
            if self._rows + rows > MOST:
                self._unpack()
            self._rows += rows
            _count(probs[some], happened[some], self._cuts, self._waiting)

    def _unpack(self) -> None:
        """Add the packed sums to those of 64 bits each."""
        first, second = self._waiting[:-1, 0], self._waiting[:-1, 1]
        low = (1 << BITS) - 1
        for k, part in enumerate((first & low, second & low, first >> BITS, second >> BITS)):
            self._sums[:, k] += part
        self._waiting[:, :2] = 0
        self._rows = 0

    def table(self) -> pl.DataFrame:
        """Return the cells that have rows, with the columns of `Counting.query`."""
        self._unpack()
        some = np.flatnonzero(self._sums[:, 0])
        n, y, first, second = self._sums[some].T.astype(np.float64)
        least, most = self._waiting[:-1, 2:][some].T.copy().view(np.float64)
        sums = {"n": n, "y": y, "r1": first, "r2": second, "least": least, "most": most}
        return pl.DataFrame({**self._keys(some), **sums})

    def _keys(self, some: Ints) -> dict[str, AnyArray]:
        """Return place and bins of some cells."""
        place = np.repeat(np.arange(GRID + 1), np.diff(self._before) + 1)
        below = np.append(0, np.arange(place.size) - place)  # edges below each cell
        keys = {"place": np.append(NEVER, place)}
        for count, own in self._own.items():
            edge = np.searchsorted(own, self._edges[below - 1], side="right")
            keys[f"b{count}"] = edge * (below > 0)
        return {name: key.astype(np.int32)[some] for name, key in keys.items()}


class GroupTally:
    """The cells of one event in each of a few groups.

    Parameters
    ----------
    bins : sequence of int
        Numbers of bins of equal width that cells must not cross.
    groups : int
        Number of groups.
    """

    def __init__(self, bins: Sequence[int], groups: int) -> None:
        self._tallies = [Tally(bins) for _ in range(groups)]

    def add(self, probs: NDArray[np.floating], happened: NDArray[np.int8], group: Ints) -> None:
        """Count rows, as `Tally.add` does, with the numbers of their groups (n,)."""
        order, start = sort_by_cell(group, len(self._tallies))
        for tally, own in zip(self._tallies, np.split(order, start[1:-1]), strict=True):
            tally.add(probs[own], happened[own])

    def table(self) -> pl.DataFrame:
        """Return the cells that have rows, with the columns of `Tally.table` and "group"."""
        tables = [one.table() for one in self._tallies]
        group = np.repeat(np.arange(len(tables)), [one.height for one in tables])
        return pl.concat(tables).with_columns(group=group.astype(np.uint32))


class SortedTally(Tally):
    """The cells of one event in each of very many groups: rows are held, and sorted at the end."""

    def _begin(self, cells: int) -> None:
        self._cells = cells
        self._held: list[tuple[AnyArray, ...]] = [NO_ROWS]
        self._tables: list[pl.DataFrame] = []
        self._rows = 0

    def add(
        self,
        probs: NDArray[np.floating],
        happened: NDArray[np.int8],
        group: Ints | None = None,
    ) -> None:
        """Take rows, as `Tally.add` does, with the numbers of their groups (n,)."""
        some = happened >= 0
        rests, cell = _places(probs[some], happened[some], self._cuts)
        keys = np.asarray(group)[some].astype(np.int64) * self._cells + cell
        if self._rows + keys.size > AT_ONCE:
            self._tables.append(self._counted())
        self._held.append((keys, rests, happened[some]))
        self._rows += keys.size

    def table(self) -> pl.DataFrame:
        """Return the cells that have rows, with the columns of `Tally.table` and "group"."""
        tables = [*self._tables, self._counted()]
        if len(tables) == 1:
            return tables[0]
        keys = [name for name in tables[0].columns if name in ("group", "place") or name[0] == "b"]
        every = pl.concat(tables, how="vertical_relaxed").group_by(keys)
        sums = pl.col("n", "y", "r1", "r2").cast(pl.Int64).sum()
        return every.agg(sums, pl.col("least").min(), pl.col("most").max()).sort(keys)

    def _counted(self) -> pl.DataFrame:
        """Return the cells of the rows that are held, and let go of these."""
        keys, rests, happened = map(np.concatenate, zip(*self._held, strict=True))
        self._held, self._rows = [NO_ROWS], 0
        order = np.argsort(keys)
        keys, rests, happened = keys[order], rests[order], happened[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        group, cell = np.divmod(keys[first], self._cells)
        columns = {"group": group.astype(np.uint32), **self._keys(cell)}
        del keys, order, group, cell  # of the size of the data, each
        columns["n"] = _smallest(np.diff(first, append=rests.size))
        columns["y"] = _smallest(np.add.reduceat(happened, first, dtype=np.int64))
        for name, power in (("r1", 1), ("r2", 2)):
            whole = np.floor(rests**power * UNIT + 0.5).astype(np.int64)
            columns[name] = _smallest(np.add.reduceat(whole, first))
        columns["least"] = np.minimum.reduceat(rests, first)
        columns["most"] = np.maximum.reduceat(rests, first)
        return pl.DataFrame(columns)


class WeightTally(Tally):
    """The cells of one event of weighted rows, by the classes of their weights.

    Those that occur have a line of 80 bytes each, in the order in which they came, and one more
    where a line is full.
    """

    def _begin(self, cells: int) -> None:
        # The line of a class of a cell; what is not touched of this takes no memory.
        self._line = np.zeros((2 * FIRST, cells), np.int32)
        self._lines = np.zeros((1, CLASS + 1), np.uint32)
        self._lines[0, N] = FULL  # so that a class without a line gets one
        self._used = 1
        self._held: list[tuple[AnyArray, ...]] = [NO_WEIGHTS]
        self._rows = 0

    def add(
        self,
        probs: NDArray[np.floating],
        happened: NDArray[np.int8],
        weights: Floats | None = None,
    ) -> None:
        """Count rows, as `Tally.add` does, with their weights (n,)."""
        self._held.append((probs, happened, np.asarray(weights).view(np.int64)))
        self._rows += probs.size
        if self._rows >= TOGETHER:
            self._count_held()

    def _count_held(self) -> None:
        """Count the rows that are held, by their places: lines of a place are near each other."""
        probs, happened, bits = map(np.concatenate, zip(*self._held, strict=True))
        self._held, self._rows = [NO_WEIGHTS], 0
        order = np.argsort((np.clip(probs, 0.0, 1.0) * (GRID - 1)).astype(np.uint16), kind="stable")
        if self._used + probs.size > len(self._lines):
            self._lines.resize((self._used + probs.size, CLASS + 1), refcheck=False)
        rows = probs[order], happened[order], bits[order]
        lines = self._lines, self._lines.view(np.float64)
        self._used = _count_weighted(rows, self._cuts, self._line, lines, self._used)

    def table(self) -> pl.DataFrame:
        """Return the classes of cells, in their order, with the columns of `Counting.query`."""
        self._count_held()
        lines, self._line = self._lines[1 : self._used], self._line[:0]
        key = lines[:, CELL] * np.int64(2 * FIRST) + lines[:, CLASS]
        order = np.argsort(key)
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        columns = self._keys(lines[order[first], CELL])
        columns["u"] = (lines[order[first], CLASS].astype(np.int32) - FIRST).astype(np.int16)
        stop, parts = np.append(first[1:], order.size), []
        for some in blocks(max(1, first.size), TOGETHER >> 2):
            sums = np.zeros((len(SUMMED), first[some].size), np.int64)
            ends = np.empty((4, first[some].size))
            given = lines, lines.view(np.float64), order
            _add_lines(given, (first[some], stop[some]), sums, ends)
            parts.append([*map(_smallest, sums), *ends[:2], *(ends[2:] / UNIT).astype(np.float32)])
        del lines, given, key, order  # of the size of the data, each
        self._lines = self._lines[:0].copy()
        names = *SUMMED, "least", "most", "light", "heavy"
        columns |= dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True))
        return pl.DataFrame(columns)


def _smallest(counts: Ints) -> AnyArray:
    """Return whole numbers, none negative, in as few bits as the largest needs."""
    return counts.astype(np.min_scalar_type(counts.max(initial=0)))


@njit()
def _count(
    probs: NDArray[np.floating],
    happened: NDArray[np.int8],
    cuts: tuple[Floats, SmallInts, int],
    cells: Ints,
) -> None:
    """Add rows to the sums of `Counting.query`, by the same operations on doubles."""
    nowhere = np.uint32(cells.shape[0] - 1)
    rests, cell = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.uint32)
    first, second = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    ends = rests.view(np.int64)  # of numbers from 0 on, in the same order
    for start in range(0, probs.size, BLOCK):
        p, code = probs[start : start + BLOCK], happened[start : start + BLOCK]
        _find_cells(p, code, cuts, nowhere, (rests, cell))
        # Each of these loops handles several rows at a time, and the last one row by row.
        for i in range(p.size):
            upper = np.int64(np.int32(rests[i] * float(UNIT) + 0.5))
            lower = np.int64(np.int32(rests[i] * rests[i] * float(UNIT) + 0.5))
            first[i] = (upper << BITS) + 1
            second[i] = (lower << BITS) + np.int64(code[i] > 0)
        for i in range(p.size):
            own = cells[cell[i]]
            own[0] += first[i]
            own[1] += second[i]
            own[2] = min(own[2], ends[i])
            own[3] = max(own[3], ends[i])


@njit()
def _places(
    probs: NDArray[np.floating], happened: NDArray[np.int8], cuts: tuple[Floats, SmallInts, int]
) -> tuple[Floats, NDArray[np.uint32]]:
    """Return where rows are in their places, and their cells."""
    rests, cell = np.empty(probs.size, np.float64), np.empty(probs.size, np.uint32)
    for start in range(0, probs.size, BLOCK):
        some = slice(start, start + BLOCK)
        _find_cells(probs[some], happened[some], cuts, np.uint32(0), (rests[some], cell[some]))
    return rests, cell


@njit()
def _find_cells(
    p: NDArray[np.floating],
    code: NDArray[np.int8],
    cuts: tuple[Floats, SmallInts, int],
    nowhere: Any,
    found: tuple[Floats, NDArray[np.uint32]],
) -> None:
    """Find where up to `BLOCK` rows are in their places, and their cells."""
    (rests, cell), (edges, before, steps) = found, cuts
    values, below = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.uint32)
    for i in range(p.size):
        value = np.float64(p[i]) if code[i] >= 0 and p[i] > 0.0 else 0.0
        values[i] = min(value, 1.0)
        place = math.floor(values[i] * float(GRID))
        rests[i] = values[i] * float(GRID) - place
        cell[i] = np.uint32(np.int32(place))
    for i in range(p.size):
        below[i] = np.uint32(before[cell[i]])
    for _ in range(steps):
        for i in range(p.size):
            below[i] += np.uint32(values[i] > edges[below[i]])
    for i in range(p.size):
        own = cell[i] + below[i] + np.uint32(1) if values[i] > 0.0 else np.uint32(0)
        cell[i] = own if code[i] >= 0 else nowhere


@njit()
def _add_lines(
    given: tuple[NDArray[np.uint32], Floats, Ints],
    limits: tuple[Ints, Ints],
    sums: Ints,
    ends: Floats,
) -> None:
    """Add up the lines of each class of a cell, between limits of their order."""
    (lines, ends_of, order), (first, stop) = given, limits
    for g in range(first.size):
        least, most, light, heavy = 1.0, 0.0, FULL * UNIT, 0
        for j in range(first[g], stop[g]):
            own, two = lines[order[j]], ends_of[order[j]]
            for k in range(sums.shape[0]):
                sums[k, g] += own[N + k]
            least, most = min(least, two[0]), max(most, two[1])
            light, heavy = min(light, own[LIGHT]), max(heavy, own[HEAVY])
        ends[0, g], ends[1, g], ends[2, g], ends[3, g] = least, most, light, heavy


@njit()
def _count_weighted(
    rows: tuple[NDArray[np.floating], NDArray[np.int8], Ints],
    cuts: tuple[Floats, SmallInts, int],
    line: NDArray[np.int32],
    own_lines: tuple[NDArray[np.uint32], Floats],
    used: int,
) -> int:
    """Add rows to the sums of `Counting.query`; return how many lines are used."""
    (probs, happened, weights), (lines, ends) = rows, own_lines
    rests, cell = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.uint32)
    unit, values = float(UNIT), np.empty(len(SUMMED) - 2)
    for start in range(0, probs.size, BLOCK):
        p, code = probs[start : start + BLOCK], happened[start : start + BLOCK]
        _find_cells(p, code, cuts, np.uint32(0), (rests, cell))
        for i in range(p.size):
            if code[i] < 0:
                continue
            bits = weights[start + i]
            of_class = (bits >> WITHIN) - LOWEST
            k = line[of_class, cell[i]]
            if lines[k, N] == FULL:
                k = line[of_class, cell[i]] = used
                lines[k, LIGHT], lines[k, CELL], lines[k, CLASS] = 2 * UNIT, cell[i], of_class
                ends[k, 0] = 1.0
                used += 1
            # The weight over its power of 2, rounded.
            fraction = (bits & ((1 << MANTISSA) - 1)) / float(1 << MANTISSA)
            whole = np.uint32((1.0 + fraction) * unit + 0.5)
            x, r, y = whole / unit, rests[i], float(code[i])
            square, own = x * x, lines[k]
            own[N] += np.uint32(1)
            own[N + 1] += np.uint32(y)
            values[0], values[1], values[2], values[3], values[4] = r, r * r, x, x * r, x * r * r
            values[5], values[6], values[7], values[8] = x * y, square, square * r, square * r * r
            values[9] = square * x
            for j in range(values.size):
                own[N + 2 + j] += np.uint32(values[j] * unit + 0.5)
            own[LIGHT], own[HEAVY] = min(own[LIGHT], whole), max(own[HEAVY], whole)
            ends[k, 0], ends[k, 1] = min(ends[k, 0], r), max(ends[k, 1], r)
    return used
