"""Cells filled row by row, where the rows are read into this process anyway."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit
from caltest.scale.cells import GRID, NEVER, UNIT

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEFT_OUT = -1.0  # in place of the probability of a row that is not counted


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
        self.edges: Floats = np.unique(np.concatenate([[], *own.values()]))
        starts = np.arange(GRID + 2) / GRID
        self.before = np.searchsorted(self.edges, starts).astype(np.int32)  # edges below each place
        self._own = own
        cells = GRID + 2 + self.edges.size
        self.sums = np.zeros((cells, 4), np.int64)
        self.ends = np.stack([np.ones(cells), np.zeros(cells)], axis=1)

    def add(self, probs: Floats, happened: NDArray[np.int8]) -> None:
        """Count rows: predictions (n,), `LEFT_OUT` for a row that is none, and events (n,)."""
        _count(probs, happened, self.edges, self.before, (self.sums, self.ends))

    def table(self) -> pl.DataFrame:
        """Return the cells that have rows, with the columns of `Counting.query`."""
        import polars as pl

        place, edges_below = self._places()
        some = self.sums[:, 0] > 0
        below = edges_below[some]
        bins = {
            f"b{count}": np.searchsorted(own, self.edges[below - 1], side="right") * (below > 0)
            if own.size
            else np.zeros(below.size, np.int64)
            for count, own in self._own.items()
        }
        n, y, first, second = self.sums[some].T.astype(np.float64)
        least, most = self.ends[some].T
        sums = {"n": n, "y": y, "r1": first, "r2": second, "least": least, "most": most}
        return pl.DataFrame({"place": place[some], **bins, **sums})

    def _places(self) -> tuple[Ints, Ints]:
        """Return the place of each cell, and how many edges are below it."""
        places = np.arange(GRID + 1)
        place = np.repeat(places, np.diff(self.before) + 1)
        below = np.arange(place.size) - place
        return np.append(NEVER, place), np.append(0, below)


@njit()
def _count(
    probs: Floats,
    happened: NDArray[np.int8],
    edges: Floats,
    before: NDArray[np.int32],
    cells: tuple[Ints, Floats],
) -> None:
    """Add rows to the sums of `Counting.query`, by the same operations on doubles."""
    sums, ends = cells
    for i in range(probs.size):
        p = probs[i]
        if p < 0.0:
            continue
        scaled = p * float(GRID)
        place = math.floor(scaled)
        rest = scaled - place
        cell = 0
        if p > 0.0:
            below = before[place]
            while below < edges.size and p > edges[below]:
                below += 1
            cell = place + below + 1
        sums[cell, 0] += 1
        sums[cell, 1] += happened[i]
        sums[cell, 2] += math.floor(rest * float(UNIT) + 0.5)
        sums[cell, 3] += math.floor(rest * rest * float(UNIT) + 0.5)
        ends[cell, 0] = min(ends[cell, 0], rest)
        ends[cell, 1] = max(ends[cell, 1], rest)
