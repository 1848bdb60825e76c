"""Fits to the labels of rows, or to the events of cells of rows: each is written once."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy

from caltest.checks.arrays import read_only
from caltest.lenses import Lens, resolve_lens
from caltest.measures.bound import BoundMeasure
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.one_dimension import SortedRows
from caltest.numerics.sorted_scores import sum_variance
from caltest.predictions import Predictions, as_measured
from caltest.sources import Cells
from caltest.types import Floats
from caltest.units.units import rounding_scale, row_weights

Result = TypeVar("Result")


class Fit(ABC):
    """A function of the labels of units: of rows, or of cells of rows.

    The label of a unit is its number of events, of one row or of the rows of a cell.

    Attributes
    ----------
    units : Units
        What it is bound to, and lives as long as: the units hold the fit.
    scale : float
        Size of the terms of the value, by which ties are measured.
    calibrated : float
        What the value of calibrated predictions is about.
    caution : str
        What cells in place of rows change, where no number says it.
    parameters, notes, degenerate
        As of `BoundMeasure`.
    """

    scale: float = 1.0
    calibrated: float = 0.0
    caution: str = ""
    parameters: Mapping[str, object] = {}
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()

    def __init__(self, units: Units) -> None:
        # A cycle would keep the arrays of the rows until garbage is collected.
        self.units: Any = weakref.proxy(units)
        self.scale = units.scale

    @abstractmethod
    def values(self, labels: Counts) -> Floats:
        """Return the value for each row of `labels` (B, units)."""

    def estimate(self, value: float) -> float:
        """Return the calibration error that an observed value stands for; often the same."""
        return value

    def error(self, cells: Cells) -> float | None:
        """Bound what cells change in the observed value; None where no number is known."""
        return None


class Units(BoundMeasure):
    """Rows or cells to which a fit is bound.

    Attributes
    ----------
    fit : Fit
        The fit.
    rows : int
        The number of rows.
    total : float
        The sum of their weights.
    event, least, most : (units,) array
        The mean, the smallest and the largest prediction of each unit.
    size, weight, mass : (units,) array
        The largest label, what an event weighs, and what all rows of the unit weigh.
    expected : (units,) array
        The expected label.
    variance : float
        That of the weighted mean of the labels of calibrated predictions.
    """

    fit: Any
    rows: int
    has_sizes: bool = False  # whether a unit is several rows

    def take(self, fit: Fit) -> None:
        """Bind a fit."""
        self.fit, self.scale, self.parameters = fit, fit.scale, fit.parameters
        self.notes, self.degenerate = fit.notes, fit.degenerate

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        return np.asarray(self.fit.values(labels))

    def estimate(self, value: float) -> float:
        return float(self.fit.estimate(value))


class SortedUnits(Units, SortedRows):
    """Rows of two classes, in ascending order of their predictions."""

    def __init__(
        self, predictions: Predictions, measure: str, fit: Callable[[SortedUnits], Fit]
    ) -> None:
        super().__init__(predictions, measure)
        self.rows, self.scale = predictions.n, rounding_scale(predictions.n)
        self.take(fit(self))

    @property
    def least(self) -> Floats:
        return self.event

    most = expected = least

    @property
    def size(self) -> Floats:
        return np.broadcast_to(1.0, self.event.size)

    @cached_property
    def total(self) -> float:
        return float(self.weight.sum())

    @property
    def mass(self) -> Floats:
        return self.weight

    @cached_property
    def variance(self) -> float:
        p, weight = self.predictions, row_weights(self.predictions)
        share = over_sum(weight, float(weight.sum()))
        return sum_variance(np.ascontiguousarray(p.probs[:, 1]), share)

    def shares(self, labels: Counts) -> Counts:
        """Return the labels over the sizes."""
        return labels


class CellUnits(Units, BoundCells):
    """Cells of rows, in ascending order of their predictions."""

    has_sizes = True

    def __init__(self, cells: Cells, fit: Callable[[Any], Fit]) -> None:
        super().__init__(cells)
        self.scale *= max(1.0, cells.heaviest)
        self.rows, self.total = cells.rows, cells.mass
        self.event, self.least, self.most = cells.mean, cells.least, cells.most
        self.size = self.mass = cells.n.astype(np.float64)
        self.weight = np.broadcast_to(1.0, len(cells))
        self.expected = cells.expected
        self.variance = float(cells.noise.sum()) / cells.mass**2
        self.take(fit(self))
        self.caution = self.fit.caution

    @property
    def calibrated(self) -> float:
        return float(self.fit.calibrated)

    def error(self) -> float | None:
        known: float | None = self.fit.error(self.cells)
        return super().error() if known is None else known

    def shares(self, labels: Counts) -> Counts:
        """Return the labels over the sizes."""
        return labels / self.size


class ReadOnly:
    """A frozen dataclass whose arrays are locked."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                read_only(value)


Ordered = SortedUnits | CellUnits


def by_member(
    probs: object, labels: object, lens: str | Lens, compute: Callable[[Predictions], Result]
) -> Result | list[Result]:
    """Return what is computed under a lens, of a family a list."""
    predictions, resolved = as_measured(probs, labels), resolve_lens(lens)
    found = [compute(member(predictions)) for member in resolved.members(predictions)]
    return found if resolved.is_family else found[0]


def over_sum(weight: Floats, total: float) -> Floats:
    """Return weights over their sum; of equal ones that take no memory, without an array."""
    if weight.strides == (0,):
        return np.broadcast_to(1.0 / total, weight.size)
    return weight / total


def log_odds_grid(low: float, high: float, points: int) -> Floats:
    """Return log odds, half at equal distances and half at those of their probabilities."""
    if low == high:
        return np.array([low])
    half = points // 2
    first, last = scipy.special.expit([low, high])
    inner = scipy.special.logit(np.linspace(first, last, points - half + 2)[1:-1])
    return np.sort(np.concatenate([np.linspace(low, high, half), np.clip(inner, low, high)]))
