"""A measure bound to predictions, cells or chunks: what remains is a function of labels."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, Context
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from caltest.measures.outcome import Part
from caltest.measures.residual_sums import in_parts
from caltest.numerics.cell_counts import CellLaw, draw_counts
from caltest.numerics.joint import cleared, tie_tolerance
from caltest.numerics.labels import resample_keys, row_hashes
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions
from caltest.predictions.redrawing import Redrawing
from caltest.sources import Cells, ManyCells
from caltest.sources.chunks import Totals
from caltest.types import Floats, Hashes, Ints, Labels, Order
from caltest.units import CellUnits, Flipped, Observed, RowUnits, Statistic, Sums, rounding_scale

if TYPE_CHECKING:
    from caltest.measures.base import Measure

NO_WEIGHTS = ("the interval of weighted cells needs the rows", "use engine='rows'")
Counts = Any  # numbers of events (B, C), where measures of rows take labels (B, n)


class Bound(ABC):
    """A measure bound to rows, cells or a survey of rows: what is known without the labels.

    Attributes
    ----------
    scale : float
        Size of the terms of the statistic: ties are measured by it.
    parameters : Mapping
        What the print shows.
    notes, degenerate : tuple of str
        What the reader should know, and what the data left undefined.
    redrawn_text : str
        What is redrawn from what, in words.
    """

    scale: float = 1.0
    parameters: Mapping[str, object] = {}
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()
    redrawn_text: str

    def described(self) -> dict[str, Any]:
        """Return what an outcome of redrawn labels says besides its numbers."""
        return {
            "null_text": self.redrawn_text,
            "parameters": self.parameters,
            "notes": self.notes,
            "degenerate": self.degenerate,
        }

    def comparable(self, values: Floats) -> Floats:
        """Return an increasing function of the values in which ties are ties up to rounding."""
        return values

    def estimate(self, value: float) -> float:
        """Return the calibration error that an observed value stands for; often the same."""
        return value


class BoundMeasure(Bound):
    """A measure bound to predictions: what remains is a function of the labels.

    Everything that depends on the predictions alone (bins, bandwidth, order) is done once, here.
    A measure that keeps the rows in an order of its own has it in `order`.

    Attributes
    ----------
    predictions : Predictions or Forecasts
        The rows.
    """

    predictions: Any

    pooled: bool = False  # True: give all resamples in one call, it runs its own threads
    keys_together: int = 1  # resamples that are cheaper redrawn at once, where there are some
    combines: bool = False  # whether the value combines several statistics; see `statistics`

    def __init__(self, predictions: Any) -> None:
        self.predictions, self.redrawn_text = predictions, predictions.redrawn_text

    @abstractmethod
    def values(self, labels: Observed) -> Floats:
        """Return the measure for each row of `labels` (B, n)."""

    def statistics(self, labels: Labels) -> Floats:
        """Return what the value combines, (K, B); by default the value itself, (B,)."""
        return self.values(labels)

    def of_keys(self) -> Callable[[Hashes], Floats] | None:
        """Return the values (B,) of resamples with given keys, where labels need not be kept."""
        return None

    def combine(self, statistics: Floats) -> Floats:
        """Return the value (B,) of each column of what `statistics` gives."""
        return statistics

    def with_parts(self, statistics: Floats) -> tuple[Floats, tuple[Part, ...]]:
        """Return the value (B + 1,) of statistics (K, B + 1), and what these show, as results.

        The first column is of the observed labels. Where the value is one statistic it has no
        parts.
        """
        return statistics[0], ()

    @cached_property
    def order(self) -> Order | None:
        """The rows that are kept, in their order; None for all as they are."""
        return None

    @cached_property
    def observed(self) -> Observed:
        """What was observed, (n,), in the order of the rows."""
        observed = self.predictions.observed
        return observed if self.order is None else observed[self.order]

    @property
    def label_probs(self) -> Floats | None:
        """The probabilities (n, m) of the labels, in the order of the rows; None of no classes."""
        probs: Floats | None = self.predictions.label_probs
        return probs if probs is None or self.order is None else probs[self.order]

    def redraw(self, keys: Hashes) -> Observed:
        """Redraw the labels (B, n) from the predictions, in the order of the rows.

        Every measure and every lens sees the same labels in the resample of a key.
        """
        return self.drawn(self._redrawing.labels(keys))

    def drawn(self, redrawn: Observed) -> Any:
        """Return what the measure looks at of what is redrawn, (B, n): by default all of it."""
        return redrawn

    @cached_property
    def width(self) -> int:
        """How many numbers are redrawn for a resample."""
        return int(self.predictions.width)

    def value(self) -> float:
        """Return the measure for the labels that were observed."""
        return float(self.values(self.observed[None])[0])

    @cached_property
    def _redrawing(self) -> Redrawing:
        every: Redrawing = self.predictions.redrawing
        return every if self.order is None else every.taken(self.order)


class BoundCells(BoundMeasure):
    """A measure bound to cells: what remains is a function of their numbers of events.

    Attributes
    ----------
    cells : Cells
        The cells.
    """

    keys_together = 64
    redrawn_text = "numbers of events of cells redrawn from the predictions"
    caution: str = ""  # what cells change where no number says it
    statistic: Statistic | None = None  # where the measure is one of sums over units
    calibrated: float = 0.0  # what the estimate of calibrated predictions is about

    def __init__(self, cells: Cells) -> None:
        self.cells, self.width = cells, cells.drawn
        self.scale = rounding_scale(cells.rows)
        self.observed = cells.events.astype(np.float64)

    def redraw(self, keys: Hashes) -> Counts:
        return self.cells.redrawn(keys)

    def described(self) -> dict[str, Any]:
        about = {"cells": len(self.cells), **self.parameters}
        return super().described() | {
            "parameters": {**about, "error by cells": self.error_in_words()},
            "notes": (*self.notes, *self.cells.notes()),
        }

    def error(self) -> float | None:
        """Bound how far the observed statistic is from that of the rows; None where unknown.

        Nothing moves where each cell holds equal predictions.
        """
        return 0.0 if self.cells.is_point.all() else None

    def error_in_words(self) -> str:
        """Say how far that is."""
        return in_words(self.error(), self.caution)


class BoundChunks(Bound):
    """A measure bound to a survey of very many rows: what remains are sums over these.

    Attributes
    ----------
    make : callable
        ``make(size)`` returns sums over no rows, for that many vectors of labels; it can be
        pickled.
    """

    make: Callable[[int], Totals]
    redrawn_text = Predictions.redrawn_text

    def references(self, n_resamples: int) -> Hashes:
        """Return keys of resamples that the measure takes for itself, beside those of the test."""
        return np.empty(0, np.uint64)

    @abstractmethod
    def values(self, totals: Any, n_resamples: int) -> tuple[Floats, tuple[Part, ...]]:
        """Return the measure for the observed labels and the resamples, and what it combines.

        `totals` are for the observed labels, for B resamples, and for the references.
        """

    def error(self) -> dict[str, object]:
        """Say how far the statistic is from that of all pairs of rows, for print."""
        return {}

    def described(self) -> dict[str, Any]:
        return super().described() | {"parameters": {**self.parameters, **self.error()}}


def in_words(error: float | None, caution: str = "") -> str:
    """Say what cells change in the statistic: a bound is rounded up.

    Examples
    --------
    >>> in_words(0.00241), in_words(0.0)
    ('at most 0.0025', 'none')
    """
    if error is None:
        return caution or "not bounded"
    least = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(error)
    return f"at most {float(least):.3g}" if error else "none"


# ---- a statistic of units, as rows, cells, many groups and flipped signs take it -----------------

ENOUGH = 20  # redrawn statistics that are as extreme: the standard error of p is a fifth of it
CELLS = 1 << 13  # of the groups of a task
AT_A_TIME = 1 << 19  # numbers of events redrawn at a time
FEWEST, MOST = 64, 4096  # resamples at a time
STAYING = 0.95  # of the groups that are redrawn: with fewer, the others are left out


class UnitStatistic(BoundMeasure):
    """A statistic of units as a function of what is observed of them."""

    statistic: Statistic

    def __init__(self, statistic: Statistic, given: Any) -> None:
        super().__init__(given)
        self.statistic, self.scale = statistic, float(np.max(statistic.scale))
        self.parameters, self.notes = statistic.parameters, statistic.notes
        self.degenerate = statistic.degenerate

    def values(self, labels: Observed) -> Floats:
        found = self.statistic
        return found.value(found.sums.redrawn(labels))[:, 0]

    def comparable(self, values: Floats) -> Floats:
        return self.statistic.comparable(values)

    def estimate(self, value: float) -> float:
        return float(self.statistic.estimate(value))


class RowStatistic(UnitStatistic):
    """A statistic of rows as a function of their labels."""

    def __init__(self, statistic: Statistic) -> None:
        self.units = cast("RowUnits", statistic.sums.units)
        super().__init__(statistic, self.units.predictions)

    @cached_property
    def order(self) -> Order | None:
        return self.units.order

    @cached_property
    def observed(self) -> Labels:
        return cast("Labels", self.units.observed)

    def of_keys(self) -> Callable[[Hashes], Floats] | None:
        sums = self.statistic.sums.of_keys(self._redrawing)
        return None if sums is None else lambda keys: self.statistic.value(sums(keys))[:, 0]

    def value(self) -> float:
        return float(self.statistic.observed[0])


class CellStatistic(UnitStatistic, BoundCells):
    """A statistic of cells as a function of their numbers of events."""

    statistic: Statistic

    def __init__(self, statistic: Statistic, cells: Cells) -> None:
        super().__init__(statistic, cells)
        self.caution = statistic.caution

    @property
    def calibrated(self) -> float:  # type: ignore[override]
        if self.statistic.score_table is None:
            return self.statistic.calibrated
        return float(self.values(self.cells.expected[np.newaxis])[0])

    def error(self) -> float | None:
        error = self.statistic.error
        return super().error() if error is None else error()


class BoundGroups:
    """A statistic of the cells of G groups, which are tested in one pass.

    Attributes
    ----------
    many : ManyCells
        The cells.
    blind : (G,) array
        Where the statistic cannot vary: nothing can be seen there, unless a label is impossible.
    error : float, optional
        How far a statistic may be from that of the rows, if it is known.
    parameters : dict
        For print.
    """

    null_text: str = ""
    caution: str = ""  # what cells change where no number says it

    def __init__(self, measure: Measure, many: ManyCells) -> None:
        self.measure, self.many = measure, many
        self.units = CellUnits(many.cells, many.start)
        self.statistic = measure.statistic(self.units)
        self.parameters: Mapping[str, object] = self.statistic.parameters
        blind = self.statistic.blind
        self.blind = np.zeros(len(many), np.bool_) if blind is None else blind
        error = self.statistic.error
        self.error = None if error is None else error()

    def values(self) -> Floats:
        """Return the statistics (G,) of the observed events."""
        return cleared(self.statistic.observed, self.statistic.scale)

    def pvalues(self, *, n_resamples: int, seed: int) -> Floats:
        """Return the p-values (G,), each exact by itself, and independent of each other."""
        found = self.statistic
        if found.tails is not None:
            self.null_text = found.tails_text
            observed = found.observed
            return found.tails(observed - tie_tolerance(observed, found.scale))
        self.null_text = (
            "numbers of events of cells redrawn from the predictions, until "
            f"{ENOUGH} were as extreme (Besag-Clifford), at most B = {n_resamples:,}, seed = {seed}"
        )
        return self._sequential_pvalues(resample_keys(seed, n_resamples))

    def _sequential_pvalues(self, keys: Hashes) -> Floats:
        """Return the p-values (G,) of Besag and Clifford: redrawn until 20 are as extreme.

        The keys (B,) are those of the resamples, as many as there are at most.

        References
        ----------
        Besag, Clifford (1991), Sequential Monte Carlo p-values, Biometrika 78.
        """
        units, make = self.units, self.measure.statistic
        two_sided = self.measure.alternative == "two-sided"
        hashed = row_hashes(self.many.before + np.arange(len(units.cells)))
        task = np.searchsorted(units.start[1:], np.arange(0, len(units.cells), CELLS))
        cuts = np.append(np.unique(task), units.start.size - 1)

        def in_rounds(first: int, stop: int) -> Floats:
            kept = np.zeros(units.start.size - 1, np.bool_)
            kept[first:stop] = True
            own, cells = units.some(kept)
            hashes = hashed[cells]
            statistic, law, sides = make(own), own.cells.law, 2 if two_sided else 1
            observed = statistic.observed
            slack = tie_tolerance(observed, statistic.scale)
            out = np.full(observed.size, 1.0 / (1.0 + keys.size))
            number, running = np.arange(observed.size), np.isfinite(observed)
            counted, done = np.zeros((2, observed.size)), 0
            while done < keys.size and running.any():
                if np.count_nonzero(running) < STAYING * running.size:
                    own, kept = own.some(running)
                    statistic, hashes = make(own), hashes[kept]
                    law = CellLaw._make(part[kept] for part in law)
                    number, counted = number[running], counted[:, running]
                    observed, slack = observed[running], slack[running]
                    running = running[running]
                size = min(max(AT_A_TIME // hashes.size, FEWEST), MOST)
                values = statistic.values(draw_counts(law, hashes, keys[done : done + size]))
                is_extreme = np.stack([values >= observed - slack, values <= observed + slack])
                upto = counted[:, None] + np.cumsum(is_extreme, axis=1)
                extreme = upto.min(axis=0) if two_sided else upto[0]
                leaving = running & (extreme[-1] >= ENOUGH)
                last = done + 1.0 + np.argmax(extreme[:, leaving] >= ENOUGH, axis=0)
                out[number[leaving]] = sides * ENOUGH / last
                counted, done, running = upto[:, -1], done + len(values), running & ~leaving
            extreme = counted.min(axis=0) if two_sided else counted[0]
            out[number[running]] = sides * (1.0 + extreme[running]) / (1.0 + keys.size)
            return np.asarray(np.minimum(out, 1.0))

        return np.concatenate(list(map_threads(in_rounds, itertools.pairwise(cuts))))


def flipped_statistic(statistic: Statistic, clusters: Ints, count: int) -> Flipped:
    """Return a statistic of rows as a function of the signs of their clusters."""
    units, value = cast("RowUnits", statistic.units), statistic.value
    # Those of the sorted units are in another order among equals.
    gaps = units.in_order(units.predictions.residuals)
    own = np.ascontiguousarray(gaps[:, 1]) if units.predictions.m == 2 else gaps
    sums = cast("Sums", statistic.sums).flipped(own, units.in_order(clusters), count)
    return in_parts(lambda signs: value(sums(signs))[:, 0], clusters.size)
