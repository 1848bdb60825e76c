"""Measures of cells: functions of the numbers of events in cells of very many rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.measures.bound import BoundMeasure
from caltest.numerics.group_resamples import (
    BINS,
    ENOUGH,
    LINEAR,
    RANGE,
    GroupStatistic,
    group_values,
    sequential_tails,
)
from caltest.numerics.joint import tie_tolerance
from caltest.numerics.labels import resample_keys, row_hashes
from caltest.scale import Cells, ManyCells
from caltest.units.units import rounding_scale

Floats = NDArray[np.float64]
NO_WEIGHTS = ("the interval of weighted cells needs the rows", "use engine='rows'")
Counts = Any  # numbers of events (B, C), where measures of rows take labels (B, n)


@dataclass(frozen=True)
class CellGaps:
    """Mean gaps as functions of rows of cells, for an interval of the norm of them.

    Attributes
    ----------
    vector : callable
        Events and rows without the event (B, C) to gaps (B, K).
    norm : callable
        Gaps (B, K) to their norms (B,).
    scores : (2, C) array or None
        What rows without and with the event add to the one mean that the norm is, if it is one.
    power : int
        2 where the error is the square of the norm.
    """

    vector: Callable[[Floats, Floats], Floats]
    norm: Callable[[Floats], Floats]
    scores: Floats | None = None
    power: int = 1


class BoundCells(BoundMeasure):
    """A measure bound to cells: what remains is a function of their numbers of events.

    Attributes
    ----------
    cells : Cells
        The cells.
    """

    caution: str = ""  # what cells change where no number says it

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.scale = rounding_scale(cells.rows)

    @property
    def observed(self) -> Counts:
        return self.cells.events.astype(np.float64)

    def error(self) -> float | None:
        """Bound how far the observed statistic is from that of the rows; None where unknown.

        Nothing moves where each cell holds equal predictions.
        """
        return 0.0 if self.cells.is_point.all() else None

    # ---- what confidence intervals are made from ------------------------------------------------

    @property
    def calibrated(self) -> float:
        """What the estimate of calibrated predictions is about."""
        return 0.0

    def gaps(self) -> CellGaps | None:
        """Return the gaps of which this error is a norm; None for other measures."""
        return None

    def score_table(self) -> Floats | None:
        """Return the scores (2, C) of rows without and with the event; None if it is no mean."""
        return None

    def unseen_reach(self, a: float) -> float:
        """Return how much larger the error may be unseen; see `Measure.unseen_reach`."""
        return 0.0


class LinearCells(BoundCells):
    """A sum over cells of a slope times the events in excess, over a unit.

    Attributes
    ----------
    slope : (C,) array
        What an event adds.
    constant : float
        The sum for the expected numbers of events.
    unit : float
        What the sum is divided by.
    """

    def __init__(self, cells: Cells, slope: Floats, constant: float, unit: float) -> None:
        super().__init__(cells)
        self.slope, self.constant, self.unit = slope, constant, unit

    @property
    def calibrated(self) -> float:
        return self.constant / self.unit

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        excess = labels - self.cells.expected
        return np.asarray((excess @ self.slope + self.constant) / self.unit)


class BoundGroups(ABC):
    """A measure bound to the cells of G groups, which are tested in one pass.

    Attributes
    ----------
    many : ManyCells
        The cells.
    unit : (G,) array
        What a statistic of events in excess is divided by; 1 where that would be 0.
    blind : (G,) array
        Where it would be 0: nothing can be seen there, unless a label is impossible.
    parameters : dict
        For print.
    """

    null_text: str = ""
    error: float | None = None  # how far a statistic may be from that of the rows, if known

    def __init__(self, many: ManyCells, unit: Floats) -> None:
        self.many, self.blind = many, unit == 0
        self.unit = np.where(self.blind, 1.0, unit)
        self.scale = np.maximum(1.0, 0.1 * np.sqrt(many.n))
        self.parameters: Mapping[str, object] = {}

    @abstractmethod
    def values(self, n_jobs: int | None = None) -> Floats:
        """Return the statistics (G,) of the observed events."""

    @abstractmethod
    def pvalues(self, *, n_resamples: int, seed: int, n_jobs: int | None) -> Floats:
        """Return the p-values (G,), each exact by itself, and independent of each other."""


class ResampledGroups(BoundGroups):
    """Statistics of cells that are redrawn until the p-value is clear.

    Parameters
    ----------
    many : ManyCells
        The cells.
    unit : (G,) array
        What a statistic is divided by.
    statistic : GroupStatistic
        What is computed.
    constant : (G,) array, optional
        What is added to it, before it is divided.
    """

    def __init__(
        self,
        many: ManyCells,
        unit: Floats,
        statistic: GroupStatistic,
        constant: Floats | float = 0.0,
    ) -> None:
        super().__init__(many, unit)
        self.statistic, self.constant = statistic, constant

    @classmethod
    def linear(
        cls, many: ManyCells, slope: Floats, constant: Floats | float, unit: Floats
    ) -> ResampledGroups:
        """Return sums over cells of a slope times the events in excess."""
        return cls(many, unit, GroupStatistic(LINEAR, slope, many.cells.place), constant)

    @classmethod
    def ranges(cls, many: ManyCells, unit: Floats) -> ResampledGroups:
        """Return the ranges of partial sums of events in excess."""
        return cls(many, unit, GroupStatistic(RANGE, many.cells.mean, many.cells.place))

    @classmethod
    def binned(cls, many: ManyCells, bins: int, distance: int, power: float) -> ResampledGroups:
        """Return power means over bins that are unions of cells."""
        statistic = GroupStatistic(
            BINS, many.cells.mean, many.cells.bins[bins], distance, float(power)
        )
        return cls(many, np.ones(len(many)), statistic)

    @property
    def _sums(self) -> Floats:
        cells = self.many.cells
        given = (cells.n, cells.expected, cells.events.astype(np.float64))
        return group_values(self.many.start, *given, self.statistic, 1)

    def values(self, n_jobs: int | None = None) -> Floats:
        return np.asarray((self._sums + self.constant) / self.unit)

    def pvalues(self, *, n_resamples: int, seed: int, n_jobs: int | None) -> Floats:
        self.null_text = (
            "numbers of events of cells redrawn from the predictions, until "
            f"{ENOUGH} were as extreme (Besag-Clifford), at most B = {n_resamples:,}, seed = {seed}"
        )
        cells, sums = self.many.cells, self._sums
        sums = np.where(np.isinf(self.constant), self.constant, sums)
        tolerance = tie_tolerance(sums, self.scale * np.maximum(self.unit, 1.0))
        return sequential_tails(
            self.many.start,
            cells.n,
            cells.expected,
            sums,
            tolerance,
            self.statistic,
            resample_keys(seed, n_resamples),
            row_hashes(np.arange(len(cells))),
            n_jobs,
        )
