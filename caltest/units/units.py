"""Units: rows, or cells of many rows, whose observed events are compared with predicted ones."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from caltest.errors import NotApplicable
from caltest.numerics.labels import label_dtype
from caltest.numerics.loops import frozen
from caltest.numerics.sorted_scores import sort_scores, step_ends, sum_variance
from caltest.predictions import Predictions, Rows, event_column
from caltest.sources import Cells
from caltest.types import AnyArray, Events, Flags, Floats, Ints, Order

Observed = Any  # labels (U,) or (B, U) of rows in their small type; of cells numbers of events


class Units(ABC):
    r"""Units, those of a group next to each other: each has a residual with mean 0 if calibrated.

    With e what is observed of a unit, the label of a row or the weighted number of events of a
    cell, the residual is :math:`scale (e - shift)`. All of e's that are redrawn come in the order
    of the units, (B, U).

    Attributes
    ----------
    mean : (U,) or (U, m) array
        The prediction: that of the event, where there are two classes.
    scale, shift : array
        What an observation counts, (U,), and what it is expected to be, as `mean`.
    observed : (U,) array
        What was observed.
    size, row_counts : (U,) array
        The largest that can be observed, and the number of rows.
    least, most : (U,) array
        The smallest and the largest prediction of the event.
    rows : int
        The number of rows.
    is_alone : bool
        Whether they are of one group that is tested by itself, not of some of many.
    is_weighted : bool
        Whether rows have sample weights.
    """

    mean: Floats
    scale: Floats
    shift: Floats
    observed: Observed
    size: Floats
    row_counts: AnyArray
    least: Floats
    most: Floats
    rows: int
    is_alone: bool = True
    is_weighted: bool

    @property
    @abstractmethod
    def variance(self) -> Floats:
        """The variance of the sum of the residuals of each group, (G,)."""

    def ordered(self, measure: str) -> Units:
        """Return the units in ascending order of the prediction of one event, as those of cells.

        Raises
        ------
        NotApplicable
            If there are more than two classes; the message names the measure.
        """
        return self

    def counted(self, measure: str = "") -> Units:
        """Return the units with a positive weight; the message is that of `ordered`, if any."""
        return self

    @cached_property
    def mass(self) -> Floats:
        """The weight of the rows, (U,)."""
        return self.scale

    @cached_property
    def start(self) -> Ints:
        """Where the units of each group begin, and where those of the last end, (G + 1,)."""
        return np.array([0, self.scale.size])

    @cached_property
    def ends(self) -> Flags:
        """Whether each unit is the last of its prediction, in ascending order, (U,)."""
        return step_ends(self.mean)

    @cached_property
    def heaviest(self) -> float:
        """The largest weight of an event."""
        return float(self.scale.max())

    @cached_property
    def rounding(self) -> Floats | float:
        """The size of the rounding errors of a sum over a group, a random walk; at least 1."""
        return np.maximum(1.0, 0.1 * np.sqrt(self.sums(self.row_counts)))

    @property
    def probs(self) -> Floats:
        """The probabilities (U, m) of all classes."""
        return np.column_stack([1.0 - self.mean, self.mean])

    @cached_property
    def residuals(self) -> Floats:
        """The residuals of what was observed, (U,), where there are two classes."""
        return np.asarray(self.scale * (self.observed - self.shift))

    @cached_property
    def total(self) -> Floats:
        """The weight of the rows of each group, (G,)."""
        return self.sums(self.mass)

    def sums(self, values: AnyArray) -> Floats:
        """Return the sums over each group of values of the units, (..., G)."""
        return np.add.reduceat(values, self.start[:-1], axis=-1).astype(np.float64, copy=False)

    def positive(self, unit: Floats, rule: str, remedy: str) -> Floats:
        """Return what statistics of groups are divided by; where it is 0, 1.

        Raises
        ------
        NotApplicable
            If it is 0 for a group that is tested by itself.
        """
        if self.is_alone and not unit[0]:
            raise NotApplicable(rule, remedy)
        return np.where(unit == 0, 1.0, unit)


class RowUnits(Units):
    """The rows of predictions, in one group.

    Parameters
    ----------
    predictions : Predictions
        The predictions.
    order : (U,) array or None
        The numbers of the rows, None for all as they are.
    """

    def __init__(self, predictions: Predictions, order: Order | None = None) -> None:
        self.predictions = predictions
        if order is not None:
            self.order = order
        self.is_weighted = predictions.sample_weight is not None
        self.rows = predictions.n if order is None else order.size
        self.rounding = rounding_scale(self.rows)

    @cached_property
    def order(self) -> Order | None:
        """The numbers of the rows that are taken; None for all as they are."""
        return None

    def in_order(self, values: AnyArray) -> AnyArray:
        """Return values of all rows, (n,), of the units."""
        return values if self.order is None else values[self.order]

    @cached_property
    def mean(self) -> Floats:  # type: ignore[override]
        seen = self.predictions
        return self.in_order(np.array(event_column(seen)) if seen.m == 2 else seen.probs)

    @cached_property
    def probs(self) -> Floats:
        return self.in_order(self.predictions.probs)

    @property
    def expected(self) -> Floats:
        """What is expected of a row: its prediction."""
        return self.mean

    shift = least = most = expected

    @property
    def ones(self) -> Floats:
        """One for each row, (U,)."""
        return np.broadcast_to(1.0, self.scale.size)

    size = row_counts = ones

    @cached_property
    def scale(self) -> Floats:  # type: ignore[override]
        # A copy, of ones too: loops over numbers next to each other take several at a time, and are
        # compiled once for whatever weights.
        return self.in_order(np.array(row_weights(self.predictions)))

    @property
    def heaviest(self) -> float:
        return float(row_weights(self.predictions).max()) if self.is_weighted else 1.0

    @cached_property
    def observed(self) -> Observed:
        return self.in_order(self.predictions.labels).astype(label_dtype(self.predictions.m))

    @cached_property
    def total(self) -> Floats:
        return np.array([float(row_weights(self.predictions).sum())])

    @property
    def variance(self) -> Floats:
        event = np.ascontiguousarray(event_column(self.predictions))
        return np.array([sum_variance(frozen(event), frozen(row_weights(self.predictions)))])

    def ordered(self, measure: str) -> RowUnits:
        check_one_dimension(self.predictions, measure)
        return SortedRowUnits(self.predictions)

    def counted(self, measure: str = "") -> RowUnits:
        if measure:
            check_one_dimension(self.predictions, measure)
        weight = self.predictions.sample_weight
        if weight is None or weight.all():
            return self
        return RowUnits(self.predictions, np.flatnonzero(weight))


class SortedRowUnits(RowUnits):
    """Rows of two classes in ascending order of P(class 1); those without weight are left out."""

    probs = Units.probs

    def __init__(self, predictions: Predictions) -> None:
        super().__init__(predictions)
        self.mean, self.observed, self.scale = sorted_columns(predictions)

    @cached_property
    def order(self) -> Order:
        """The rows in ascending order; sorting them again waits until labels are redrawn."""
        return score_order(self.predictions)


class CellUnits(Units):
    """Cells of rows, of one group or of many.

    Parameters
    ----------
    cells : Cells
        The cells.
    start : (G + 1,) array, optional
        Where the cells of each group begin, and where those of the last end.
    """

    def __init__(self, cells: Cells, start: Ints | None = None) -> None:
        self.cells = cells
        self.start = np.array([0, len(cells)]) if start is None else start
        self.is_alone, self.is_weighted = start is None, cells.weights is not None
        self.mean, self.shift, self.rows = cells.mean, cells.expected, cells.rows
        self.least, self.most, self.row_counts = cells.least, cells.most, cells.counts
        self.mass = self.size = cells.n.astype(np.float64)
        self.scale, self.ends = np.ones(len(cells)), np.ones(len(cells), np.bool_)
        self.observed = cells.events.astype(np.float64)

    @cached_property
    def heaviest(self) -> float:
        return self.cells.heaviest

    @property
    def variance(self) -> Floats:
        return self.sums(self.cells.noise)

    def some(self, groups: Flags) -> tuple[CellUnits, Flags]:
        """Return the units of some groups, and which units they are."""
        sizes = np.diff(self.start)
        kept = np.repeat(groups, sizes)
        return CellUnits(self.cells.taken(kept), np.append(0, np.cumsum(sizes[groups]))), kept


def row_weights(predictions: Rows) -> Floats:
    """Return the sample weights, or ones that take no memory."""
    if predictions.sample_weight is None:
        return np.broadcast_to(1.0, predictions.n)
    return predictions.sample_weight


def rounding_scale(n: int) -> float:
    """Return the size of the rounding errors of a sum, which grow as a random walk."""
    return max(1.0, 0.1 * math.sqrt(n))


def check_one_dimension(predictions: Predictions, measure: str) -> None:
    """Raise NotApplicable, with lenses that help, unless the lens leaves two classes."""
    if predictions.m != 2:
        raise NotApplicable(
            f"{measure} takes one-dimensional predictions, and under this lens there are "
            f"{predictions.m} classes",
            "use lens='confidence', 'classwise' or 'top-2'",
        )


def check_unweighted(data: Rows | Units, measure: str, remedy: str) -> None:
    """Raise NotApplicable where there are sample weights that a measure has no formula for."""
    if data.is_weighted:
        rows = data.predictions if isinstance(data, RowUnits) else data
        is_censored = getattr(rows, "censoring", None) is not None  # the weights are not the user's
        what = "censored rows" if is_censored else "sample weights"
        raise NotApplicable(f"{measure} takes no {what}", remedy)


def sorted_columns(predictions: Predictions) -> tuple[Floats, Events, Floats]:
    """Return P(class 1) in ascending order, with labels and weights; without weights, ones.

    Equal scores are in the order of their labels, so that weights of 1 change no bit of a result.
    """
    event, labels = predictions.probs[:, 1], predictions.labels
    weight = predictions.sample_weight
    if weight is None:
        return *sort_scores(event, labels), np.ones(event.size)
    order = score_order(predictions)
    return event[order], labels[order].astype(np.uint8), weight[order]


def score_order(predictions: Predictions) -> Order:
    """Return the rows that count in ascending order of P(class 1)."""
    event, weight = predictions.probs[:, 1], predictions.sample_weight
    if weight is None:
        return np.argsort(event)
    order = np.lexsort((predictions.labels, event))
    return order[weight[order] > 0]
