"""Cells: all that a test needs of very many rows whose predictions of one event are sorted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.cell_counts import CellLaw, binomial_distance, cell_law
from caltest.numerics.labels import Hashes, row_hashes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GRID = 1 << 16  # cells between 0 and 1
UNIT = 1 << 20  # of a cell: sums are whole numbers of these, and so the same in any order
NEVER = -1  # the place of the probability 0, apart from those above it
SPLIT = 1 << 8  # parts of a place that uniform numbers tell apart


@dataclass(frozen=True, eq=False)
class Cells:
    """Numbers of rows and events of cells of predictions, in ascending order of these.

    A cell is a place of a grid of 2^16, ``floor(p * 2**16)``, in one bin of each equal binning that
    a test asked for: bins are unions of cells. Probabilities are rounded to 2^-36 in sums, so that
    these do not depend on the order of the rows.

    Attributes
    ----------
    place : (C,) array
        The place of each cell, -1 for the probability 0.
    bins : Mapping of int to (C,) array
        The bin of each cell among that many of equal width.
    n, events : (C,) array
        Rows and events.
    expected, variance : (C,) array
        Sums of p and of p (1 - p).
    least, most : (C,) array
        The smallest and the largest p.
    event, no_event : str
        What happens, and what else does, for print.

    Examples
    --------
    >>> from caltest.scale import count_rows
    >>> cells = count_rows([0.25, 0.25, 0.75], [0, 1, 1])
    >>> cells.n, cells.events, cells.mean
    (array([2, 1]), array([1, 1]), array([0.25, 0.75]))
    """

    place: Ints
    bins: Mapping[int, Ints]
    n: Ints
    events: Ints
    expected: Floats
    variance: Floats
    least: Floats
    most: Floats
    event: str = "the event"
    no_event: str = "no event"

    def between(self, first: int, stop: int) -> Cells:
        """Return the cells from `first` on, before `stop`."""
        return self.taken(slice(first, stop))

    def taken(self, some: slice | NDArray[np.bool_]) -> Cells:
        """Return some of the cells."""
        return replace(
            self,
            place=self.place[some],
            bins={count: place[some] for count, place in self.bins.items()},
            n=self.n[some],
            events=self.events[some],
            expected=self.expected[some],
            variance=self.variance[some],
            least=self.least[some],
            most=self.most[some],
        )

    def __len__(self) -> int:
        return self.n.size

    @cached_property
    def rows(self) -> int:
        """The number of rows of all cells."""
        return int(self.n.sum())

    @cached_property
    def mean(self) -> Floats:
        """The mean prediction of each cell."""
        return np.clip(self.expected / self.n, self.least, self.most)

    @cached_property
    def is_point(self) -> NDArray[np.bool_]:
        """Whether all predictions of a cell are equal."""
        return np.asarray(self.least == self.most)

    @cached_property
    def reach(self) -> Floats:
        """How far a prediction of a cell is from its mean, at most."""
        return np.maximum(self.most - self.mean, self.mean - self.least)

    @cached_property
    def law(self) -> CellLaw:
        """What the numbers of events are redrawn from."""
        return cell_law(self.n, self.expected, self.variance)

    @cached_property
    def distance(self) -> float:
        """Total variation between the numbers of events as they are redrawn small, and exactly."""
        return float(binomial_distance(self.n, self.expected, self.variance).sum())

    @cached_property
    def hashes(self) -> Hashes:
        """What each cell contributes to its uniform numbers: its place, and its part of that."""
        first = np.flatnonzero(np.append(True, np.diff(self.place) != 0))
        part = np.arange(len(self)) - np.repeat(first, np.diff(np.append(first, len(self))))
        return row_hashes((self.place + 1) * SPLIT + part)
