"""Cells filled row by row, where the rows are read into this process anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit
from caltest.sources.cells import GRID, NEVER, UNIT
from caltest.types import Floats, Ints, SmallInts

if TYPE_CHECKING:
    import polars as pl

LEFT_OUT = -1  # in place of the code of a row that is not counted
BITS = 22  # of a packed number that the rows or the events take
MOST = (1 << (BITS - 1)) - 1  # rows whose sums fit beside them
BLOCK = 1 << 10  # rows whose cells are found before they are counted
LEAST_YET = np.float64(1.0).view(np.int64)


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
        cells = GRID + 2 + edges.size
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
        import polars as pl

        self._unpack()
        some = self._sums[:, 0] > 0
        place = np.repeat(np.arange(GRID + 1), np.diff(self._before) + 1)
        below = np.append(0, np.arange(place.size) - place)[some]  # edges below each cell
        place = np.append(NEVER, place)
        bins = {
            f"b{count}": np.searchsorted(own, self._edges[below - 1], side="right") * (below > 0)
            for count, own in self._own.items()
        }
        n, y, first, second = self._sums[some].T.astype(np.float64)
        least, most = self._waiting[:-1, 2:][some].T.copy().view(np.float64)
        sums = {"n": n, "y": y, "r1": first, "r2": second, "least": least, "most": most}
        return pl.DataFrame({"place": place[some], **bins, **sums})


@njit()
def _count(
    probs: NDArray[np.floating],
    happened: NDArray[np.int8],
    cuts: tuple[Floats, SmallInts, int],
    cells: Ints,
) -> None:
    """Add rows to the sums of `Counting.query`, by the same operations on doubles."""
    edges, before, steps = cuts
    nowhere = np.uint32(cells.shape[0] - 1)
    values, rests = np.empty(BLOCK, np.float64), np.empty(BLOCK, np.float64)
    first, second = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    cell, below = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    ends = rests.view(np.int64)  # of numbers from 0 on, in the same order
    for start in range(0, probs.size, BLOCK):
        p, code = probs[start : start + BLOCK], happened[start : start + BLOCK]
        # Each of these loops handles several rows at a time, and the last one row by row.
        for i in range(p.size):
            value = np.float64(p[i]) if code[i] >= 0 and p[i] > 0.0 else 0.0
            values[i] = min(value, 1.0)
            place = math.floor(values[i] * float(GRID))
            rests[i] = values[i] * float(GRID) - place
            cell[i] = np.uint32(np.int32(place))
        for i in range(p.size):
            upper = np.int64(np.int32(rests[i] * float(UNIT) + 0.5))
            lower = np.int64(np.int32(rests[i] * rests[i] * float(UNIT) + 0.5))
            first[i] = (upper << BITS) + 1
            second[i] = (lower << BITS) + np.int64(code[i] > 0)
        for i in range(p.size):
            below[i] = np.uint32(before[cell[i]])
        for _ in range(steps):
            for i in range(p.size):
                below[i] += np.uint32(values[i] > edges[below[i]])
        for i in range(p.size):
            found = cell[i] + below[i] + np.uint32(1) if values[i] > 0.0 else np.uint32(0)
            cell[i] = found if code[i] >= 0 else nowhere
        for i in range(p.size):
            own = cells[cell[i]]
            own[0] += first[i]
            own[1] += second[i]
            own[2] = min(own[2], ends[i])
            own[3] = max(own[3], ends[i])
