"""Cells: all that a test needs of very many rows whose predictions of one event are sorted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from caltest.numerics.bins import uniform_bins
from caltest.numerics.cell_counts import LARGE, CellLaw, binomial_distance, cell_law, draw_counts
from caltest.numerics.labels import row_hashes
from caltest.numerics.loops import blocks, frozen
from caltest.predictions import Predictions
from caltest.predictions.container import event_column
from caltest.predictions.tables import crossed_names
from caltest.sources.weights import Weights, sums_in_memory, weighted_cells
from caltest.types import AnyArray, Flags, Floats, Hashes, Ints

GRID = 1 << 16  # cells between 0 and 1
UNIT = 1 << 20  # of a cell: sums are whole numbers of these, and so the same in any order
NEVER = -1  # the place of the probability 0, apart from those above it
EQUAL = 1e-12  # relative variance of weights that is rounding
SHARES, A_LOG_ODDS = 4096, 32  # cells of rows in memory; in a unit of log odds
BLOCK = 1 << 15  # units at a time
FARTHEST = 1e3  # log odds, of 0 and 1
SPLIT = 1 << 8  # parts of a place that uniform numbers tell apart
ARRAYS = ("place", "n", "events", "expected", "variance", "least", "most")  # of a number a cell
UNSAID = 1e-4  # of a p-value: what the redrawing may change without a note


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
    weights : Weights, optional
        What else is known of weighted rows.

    Examples
    --------
    >>> from caltest.sources import count_rows
    >>> cells = count_rows([0.25, 0.25, 0.75], [0, 1, 1])
    >>> cells.n, cells.events, cells.mean
    (array([2, 1]), array([1, 1]), array([0.25, 0.75]))
    """

    place: Ints
    bins: Mapping[int, Ints]
    n: AnyArray
    events: AnyArray
    expected: Floats
    variance: Floats
    least: Floats
    most: Floats
    event: str = "the event"
    no_event: str = "no event"
    weights: Weights | None = None

    def between(self, first: int, stop: int) -> Cells:
        """Return the cells from `first` on, before `stop`."""
        return self.taken(slice(first, stop))

    def taken(self, some: slice | Flags) -> Cells:
        """Return some of the cells."""
        weights = self.weights
        if weights is not None:
            kept = np.zeros(len(self), np.bool_)
            kept[some] = True
            weights = weights.taken(kept)
        arrays = {name: getattr(self, name)[some] for name in ARRAYS}
        bins = {count: place[some] for count, place in self.bins.items()}
        return replace(self, **arrays, bins=bins, weights=weights)

    def __len__(self) -> int:
        return self.n.size

    @property
    def counts(self) -> Ints:
        """The number of rows of each cell, whatever their weights."""
        return self.n if self.weights is None else self.weights.rows

    @property
    def hits(self) -> Ints:
        """The number of events of each cell, whatever their weights."""
        return self.events if self.weights is None else self.weights.hits

    @cached_property
    def rows(self) -> int:
        """The number of rows of all cells."""
        return int(self.counts.sum())

    @cached_property
    def mass(self) -> float:
        """The sum of the weights of all rows; without weights their number."""
        return float(self.n.sum())

    @property
    def heaviest(self) -> float:
        """The largest weight of an event, as it is redrawn."""
        return 1.0 if self.weights is None else float(self.weights.drawn.factor.max())

    @property
    def squares(self) -> AnyArray:
        """The sum of the squares of the weights of each cell."""
        return self.n if self.weights is None else self.weights.squares

    @cached_property
    def has_equal_weights(self) -> bool:
        """Whether all rows of a cell have the same weight."""
        if self.weights is None:
            return True
        own = self.weights.squares * self.counts  # at least the square of the sum
        return bool((own <= np.square(self.n) * (1.0 + EQUAL)).all())

    @property
    def noise(self) -> Floats:
        """The variance of the events of each cell, sums of w^2 p (1 - p)."""
        return self.variance if self.weights is None else self.weights.noise

    @cached_property
    def slope(self) -> Floats:
        r"""What one event more adds to the sum of :math:`w^2 (y - p)^2` of each cell.

        At the mean prediction of the cell, and where weights differ within it, at the mean of
        those of its rows.
        """
        slope = 1.0 - 2.0 * self.mean
        return slope if self.weights is None else np.asarray(slope * (self.squares / self.n))

    def square_residuals(self, excess: Floats) -> Floats:
        r"""Return the sum of :math:`w^2 (y - p)^2` in each cell, of events beyond the expected."""
        return np.asarray(excess * self.slope + self.noise)

    @cached_property
    def mean(self) -> Floats:
        """The mean prediction of each cell."""
        return np.asarray(np.clip(self.expected / self.n, self.least, self.most))

    @cached_property
    def is_point(self) -> Flags:
        """Whether all predictions of a cell are equal."""
        return np.asarray(self.least == self.most)

    @cached_property
    def reach(self) -> Floats:
        """How far a prediction of a cell is from its mean, at most."""
        return np.maximum(self.most - self.mean, self.mean - self.least)

    @cached_property
    def law(self) -> CellLaw:
        """What the numbers of events are redrawn from."""
        return cell_law(self.counts, self.expected, self.variance)

    @property
    def drawn(self) -> int:
        """How many numbers are redrawn together."""
        return len(self) if self.weights is None else len(self.weights.drawn)

    def redrawn(self, keys: Hashes) -> Floats:
        """Redraw the events of each cell from the predictions, one row (B, C) for each key."""
        if self.weights is not None:
            return self.weights.redrawn(keys)
        return draw_counts(self.law, self.hashes, keys)

    def under(self, p: Floats) -> Cells:
        """Return the same rows, whose events have the probabilities p (C,)."""
        if self.weights is None:
            mean = self.counts * p
            return replace(self, expected=mean, variance=mean * (1.0 - p))
        one = self.weights.drawn
        p = p[one.cell]
        mean = one.size * p
        drawn = replace(one, expected=mean, variance=mean * (1.0 - p), centre=one.mass * p)
        return replace(self, weights=replace(self.weights, drawn=drawn))

    @cached_property
    def distance(self) -> float:
        """Total variation between the numbers of events as they are redrawn small, and exactly."""
        if self.weights is not None:
            return self.weights.distance
        return float(binomial_distance(self.counts, self.expected, self.variance).sum())

    def notes(self) -> Iterator[str]:
        """Yield what a reader of a p-value by redrawn events should know."""
        if self.distance > UNSAID:
            yield (
                f"cells with a variance up to {LARGE:g} are redrawn as if their predictions were "
                f"equal, which may change p by {self.distance:.2g}"
            )
        if self.weights is not None and self.weights.missing > UNSAID:
            yield (
                f"rows of a cell with weights up to {self.weights.ratio:g} times as large as "
                "others are redrawn as if these were equal, which takes "
                f"{self.weights.missing:.2g} of the variance of sums"
            )

    @property
    def coarser(self) -> Cells:
        """The same rows in some thousand cells, each of several of these."""
        first = _begins(1 + _cuts(self.mean, self.noise, self.n), self.noise, self.weights)
        last = np.append(first[1:], len(self)) - 1
        given = self.n, self.events, self.expected, self.variance
        n, events, expected, variance = (np.add.reduceat(values, first) for values in given)
        return Cells(
            place=np.arange(first.size),
            bins={},
            n=n,
            events=events,
            expected=expected,
            variance=variance,
            least=self.least[first],
            most=self.most[last],
            event=self.event,
            no_event=self.no_event,
            weights=None if self.weights is None else self.weights.coarser(first),
        )

    @cached_property
    def hashes(self) -> Hashes:
        """What each cell contributes to its uniform numbers: its place, and its part of that."""
        return row_hashes(own_numbers(self.place))


def cells_in_memory(
    p: Floats, events: Flags, names: tuple[str, str], weight: Floats | None = None
) -> Cells:
    """Count rows in ascending order of p (n,) in some thousand cells, narrow where it matters.

    A cell has at most 1 / 4096 of the variance of the events, or of the rows, or 1 / 32 of log
    odds, unless its predictions are equal; 0 and 1 are apart. Sums are not rounded. Weights are
    positive, and a row whose weight makes it more than 1 / 4096 of the variance is a cell.
    """
    variance = p * (1.0 - p)
    spread, mass = (variance, np.ones(p.size)) if weight is None else (variance * weight**2, weight)
    # Equal predictions share a cell: what would split them starts with the next larger one.
    step = np.append(np.flatnonzero(np.diff(p)), p.size - 1)
    moved = step[np.searchsorted(step, _cuts(p, spread, mass))] + 1
    first = _begins(moved, spread, weight)
    if weight is not None:
        sums, line = sums_in_memory(p, events, weight, np.append(first, p.size))
        place = np.arange(first.size)
        arrays, own = weighted_cells(sums, line, own_numbers(place), 1, 1)
        return Cells(place, {}, **arrays, event=names[0], no_event=names[1], weights=own)
    last = np.append(first[1:], p.size) - 1
    each = (events.astype(np.int64), p, variance)
    hits, expected, spread = (np.add.reduceat(x, first) for x in each)
    place, n, ends = np.arange(first.size), last - first + 1, (p[first], p[last])
    return Cells(place, {}, n, hits, expected, spread, *ends, *names)


def _begins(first: Ints, variance: Floats, weights: object) -> Ints:
    """Return where cells of units (U,) begin, the first and some others, each once.

    Pairs of rows of a cell are taken at its mean weight: one that is heavy is a cell by itself.
    """
    heavy = first[:0] if weights is None else np.flatnonzero(variance * SHARES > variance.sum())
    found = np.unique(np.concatenate([[0], first, heavy, heavy + 1]))
    return found[found < variance.size]


def _cuts(p: Floats, variance: Floats, n: Floats) -> Ints:
    """Return after which of ascending predictions (U,) another cell of `cells_in_memory` begins."""
    found = []
    for some in blocks(p.size - 1, BLOCK):
        near = p[some.start : some.stop + 1]
        with np.errstate(divide="ignore"):
            odds = np.clip(np.log(near) - np.log1p(-near), -FARTHEST, FARTHEST)
        found.append(some.start + np.flatnonzero(np.diff(np.floor(odds * A_LOG_ODDS))))
    for size in (variance, n):
        carried = np.cumsum(size)
        for some in blocks(p.size - 1, BLOCK):
            shares = carried[some.start : some.stop + 1] / carried[-1] * SHARES
            found.append(some.start + np.flatnonzero(np.diff(np.floor(shares))))
    return np.unique(np.concatenate([*found, np.empty(0, np.int64)]))


def own_numbers(place: Ints, group: Ints | None = None) -> Ints:
    """Return a number of each cell of a group by its place and its part of that."""
    new = np.diff(place) != 0
    if group is not None:
        new |= np.diff(group) != 0
    first = np.flatnonzero(np.append(True, new))
    part = np.arange(place.size) - np.repeat(first, np.diff(np.append(first, place.size)))
    return (place + 1) * SPLIT + part


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
    before : int
        How many cells there are of other groups before these.
    """

    cells: Cells
    start: Ints
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    rows: Predictions | None = None
    before: int = 0

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
            uniform_bins(frozen(p[:, np.newaxis]), count, own[:, np.newaxis])
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
        return crossed_names(self.values) if len(self.columns) > 1 else [v for (v,) in self.values]

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
