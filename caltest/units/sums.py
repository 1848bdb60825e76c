"""Sums over units, the only loops of a statistic, and statistics: functions of such sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from caltest.numerics.class_sums import label_sums
from caltest.numerics.crossings import group_extremes
from caltest.numerics.sorted_scores import partial_sum_extremes
from caltest.predictions.redrawing import Redrawing
from caltest.types import Flags, Floats, Hashes, Ints, Order
from caltest.units.units import CellUnits, Observed, Units

Flipped = Callable[[Floats], Floats]  # signs (B, C) of the clusters -> (B,), or sums of them


class UnitSums(ABC):
    """What a statistic needs of the observations of units, of each group by itself.

    Parameters
    ----------
    units : Units
        The units.
    """

    def __init__(self, units: Units) -> None:
        self.units = units

    @abstractmethod
    def redrawn(self, observed: Observed) -> Any:
        """Return the sums for what is observed, (B, U)."""

    def of_keys(self, redrawing: Redrawing) -> Callable[[Hashes], Any] | None:
        """Return the sums of resamples with given keys, where no label has to be kept for them."""
        return None

    def observed(self) -> Any:
        """Return the sums for what was observed, with B = 1, which may be known in another way."""
        return self.redrawn(self.units.observed[np.newaxis])


class FunctionOfUnits(UnitSums):
    """Any function of what is observed, (B, U), that is not written as sums."""

    def __init__(self, units: Units, function: Callable[[Observed], Any]) -> None:
        super().__init__(units)
        self._function = function

    def redrawn(self, observed: Observed) -> Any:
        return self._function(observed)


class Sums(UnitSums):
    """Sums over the residuals of units, of each group by itself."""

    @abstractmethod
    def of(self, observed: Observed, scale: Floats, shift: Floats) -> Any:
        """Return the sums of `scale` (e - `shift`): an array whose last axes are B and G.

        Parameters
        ----------
        observed : (B, U) array
            What is observed, e; or signs.
        scale, shift : (U,) array
            Those of the units; or the residuals whose signs are flipped, and 0.
        """

    def redrawn(self, observed: Observed) -> Any:
        return self.of(observed, self.units.scale, self.units.shift)

    def flipped(self, residuals: Floats, clusters: Ints, count: int) -> Callable[[Floats], Any]:
        """Return the sums of residuals whose signs (B, count) are flipped by cluster.

        Parameters
        ----------
        residuals : (U,) array
            The residuals of the units.
        clusters : (U,) array
            The cluster of each unit, 0 to `count` - 1.
        count : int
            The number of clusters.
        """
        zero = np.zeros(clusters.size)
        return lambda signs: self.of(signs.take(clusters, axis=1), residuals, zero)


class PartialSums(Sums):
    """The largest and the smallest partial sum, 0 among them, (2, B, G).

    Sums end where no further unit has the same prediction.
    """

    @cached_property
    def at(self) -> Order:
        """The places of the units that end a step."""
        return np.flatnonzero(self.units.ends)

    def of(self, observed: Observed, scale: Floats, shift: Floats) -> Floats:
        given = scale, shift, self.units.ends, self.units.start
        return np.asarray(partial_sum_extremes(observed, *given))

    def all(self, values: Floats) -> Floats:
        """Return all partial sums (B, K) of values (B, U), of one group."""
        sums = np.cumsum(values, axis=1)
        return sums if self.at.size == sums.shape[1] else sums.take(self.at, axis=1)

    @property
    def widest(self) -> Floats:
        """The extremes of what was observed, and what those between rows cannot exceed, (4, G)."""
        cells = cast("CellUnits", self.units).cells
        given = cells.events, cells.expected, cells.is_point
        return np.asarray(group_extremes(self.units.start, *given))


class ScoreSums(Sums):
    """Sums over units of the score of the label, (B, G): of rows of any classes, or of cells.

    Parameters
    ----------
    units : Units
        The units: rows as they are, or cells, whose scores are those at their mean predictions.
    scores : callable
        The score (U, m) of each label, of probabilities (U, m).
    terms : callable, optional
        The sum in each cell, (C,), if its events are as many as expected, where more of its rows is
        known than their mean.
    fused : callable, optional
        The sums (B,) of labels, for rows of two classes.
    """

    def __init__(
        self,
        units: Units,
        scores: Callable[[Floats], Floats],
        *,
        terms: Callable[[CellUnits], Floats] | None = None,
        fused: Callable[..., Floats] | None = None,
    ) -> None:
        super().__init__(units)
        self.scores, self._terms, self._fused = scores, terms, fused

    @cached_property
    def table(self) -> Floats:
        """The score (U, m) of each label."""
        return self.scores(self.units.probs)

    @cached_property
    def weighted(self) -> Floats:
        """The score (U, m) of each label, times the weight of the row."""
        if not self.units.is_weighted:
            return self.table
        weight = self.units.scale[:, np.newaxis]
        # A row that does not count may have an infinite score.
        return np.asarray(np.where(weight > 0, self.table, 0.0) * weight)

    @cached_property
    def linear(self) -> tuple[Floats, Floats]:
        """The terms and the slope of each cell: what expected events add, and one event more."""
        without, event = np.where(np.isinf(self.table).any(axis=1), 0.0, self.table.T)
        slope = event - without
        if self._terms is not None:
            return self._terms(cast("CellUnits", self.units)), slope
        return self.units.mass * without + self.units.shift * slope, slope

    def redrawn(self, observed: Observed) -> Floats:
        units = self.units
        if isinstance(units, CellUnits):
            sums = self.of(observed, units.scale, units.shift) + units.sums(self.linear[0])
            # What is possible has finite sums, and what is not an infinite one.
            at, (without, event) = self.certain[0], self.certain[1].T
            some = observed[:, at]
            wrong = some * event + (units.mass[at] - some) * without
            if wrong.any():
                group = np.searchsorted(units.start, at, side="right") - 1
                where = np.nonzero(wrong > 0)
                sums[where[0], group[where[1]]] = np.inf
            return sums
        if self._fused is not None and units.mean.ndim == 1:
            return self._fused(observed)[:, np.newaxis]
        return np.asarray(label_sums(self.weighted, observed)[:, np.newaxis])

    def of_keys(self, redrawing: Redrawing) -> Callable[[Hashes], Floats] | None:
        sums = redrawing.summing(self.weighted)
        return None if sums is None else lambda keys: sums(keys)[:, np.newaxis]

    def of(self, observed: Observed, scale: Floats, shift: Floats) -> Floats:
        excess, slope = observed - shift, scale * self.linear[1]
        if self.units.start.size == 2:
            return np.asarray((excess @ slope)[:, np.newaxis])
        excess *= slope
        return self.units.sums(excess)

    @cached_property
    def certain(self) -> tuple[Ints, Floats]:
        """The cells in which a label has an infinite score, and whether it is each, (K, 2)."""
        infinite = np.isinf(self.table)
        at = np.flatnonzero(infinite.any(axis=1))
        return at, infinite[at].astype(np.float64)


Tails = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Norm:
    """What a statistic is a norm of, of one group: for intervals from resampled units.

    Attributes
    ----------
    gaps : callable
        Mean gaps (B, K) of residuals and masses (B, U).
    of : callable
        Their norms (B,).
    power : int
        2 where the statistic is the square of the norm.
    mean_gap : callable, optional
        What the residual of each unit counts, (U,), in the one gap that the norm is.
    """

    gaps: Callable[[Floats, Floats], Floats]
    of: Callable[[Floats], Floats]
    power: int = 1
    mean_gap: Callable[[], Floats] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistic:
    """A function of sums over the units of each group, written once for rows and cells.

    Attributes
    ----------
    sums : UnitSums
        What is summed over the units.
    value : callable
        The statistics (B, G) of the sums, by default these.
    scale : float or (G,) array
        Size of the terms of the statistic: ties are measured by it.
    estimate : callable
        The calibration error that an observed value stands for, by default the value itself.
    comparable : callable
        An increasing function of values in which ties are ties up to rounding.
    calibrated : float
        What the estimate of calibrated predictions is about, where the statistic is no mean.
    parameters, notes, degenerate
        As those of a test: settings, what a reader should know, what the data left undefined.
    error : callable, optional
        How far the value may be from that of the rows of the cells, at most.
    caution : str
        What cells change where no number says it.
    norm : Norm, optional
        Where the statistic is a norm of mean gaps.
    score_table : callable, optional
        Scores (2, C) of the rows of cells without and with the event, where it is their mean.
    unseen : callable, optional
        How much larger the value may be unseen, each one-sided limit missed with probability a.
    blind : (G,) array of bool, optional
        Groups in which the statistic cannot vary.
    tails : callable, optional
        Of values (G,) and a number of threads to the probabilities that a statistic is at least as
        large; with `tails_text` in words. Without them, statistics are redrawn.
    """

    sums: UnitSums
    value: Callable[[Any], Floats] = np.asarray
    scale: Floats | float = 1.0
    estimate: Callable[[float], float] = float
    comparable: Callable[[Floats], Floats] = np.asarray
    calibrated: float = 0.0
    parameters: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()
    error: Callable[[], float] | None = None
    caution: str = ""
    norm: Norm | None = None
    score_table: Callable[[], Floats] | None = None
    unseen: Callable[[float], float] | None = None
    blind: Flags | None = None
    tails: Tails | None = None
    tails_text: str = ""

    @property
    def units(self) -> Units:
        """The units, in the order of what is redrawn."""
        return self.sums.units

    def values(self, observed: Observed) -> Floats:
        """Return the statistics (B, G) of what is observed (B, U)."""
        return self.value(self.sums.redrawn(observed))

    @property
    def observed(self) -> Floats:
        """The statistics (G,) of what was observed."""
        return np.asarray(self.value(self.sums.observed())[0])
