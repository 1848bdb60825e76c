"""Errors over bins: one power mean of sums of residuals, for rows, cells, flips and resamples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from caltest.errors import invalid
from caltest.measures.base import BoundMeasure, Rows
from caltest.measures.cells import BoundCells, CellGaps, Counts
from caltest.measures.outcome import Gaps
from caltest.measures.residual_sums import CellSums, residuals
from caltest.numerics import bins
from caltest.numerics.bins import (
    class_lengths,
    event_counts,
    power_means,
    sort_by_cell,
    uniform_sums,
)
from caltest.numerics.resampled_sums import cell_sums
from caltest.numerics.unseen import farthest_gap
from caltest.predictions import event_column

if TYPE_CHECKING:
    from caltest.measures.bins.ece import BinErrors
    from caltest.predictions import Predictions
    from caltest.scale import Cells

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.integer]
Labels = NDArray[np.unsignedinteger]
Distance = str | Callable[[Floats, Floats], float]

DEBIASED = "debiased"  # squared Euclidean less its bias; halved for two classes, as the Brier score
NORMS = {"tv": 0.5, "cityblock": 1.0}  # the distances that are norms: of city-block distance
UNITS = {**NORMS, "sqeuclidean": 1.0, DEBIASED: 1.0}
KINDS = dict(zip(UNITS, (bins.TV, bins.CITYBLOCK, bins.SQEUCLIDEAN, bins.DEBIASED), strict=True))
BINS = "the interval is for the error in these bins, held fixed; finer bins may have a larger error"


@dataclass(frozen=True, eq=False)
class BinMean:
    """The power mean over bins of the distance of mean labels to mean predictions.

    There may be several tables of bins, such as one for each class: the error is the mean of
    theirs. A bin may be empty.

    Attributes
    ----------
    mass, squares : (T, K) array
        The sums of weights and of squared weights in the K bins of each of T tables.
    mean : (T, K, c) array
        The mean prediction of each bin: of one event, or of all classes.
    distance : str or callable
        A name of `UNITS`, or a function of a mean prediction and a mean label.
    power : float
        That of the mean.
    is_root : bool
        Whether the root of the mean is the error; a negative one counts as 0.
    """

    mass: Floats
    squares: Floats
    mean: Floats
    distance: Distance
    power: float
    is_root: bool = False

    @property
    def is_norm(self) -> bool:
        """Whether the error is a norm of sums of residuals."""
        return self.distance in NORMS

    @cached_property
    def unit(self) -> float:
        """What sums over the classes of (squared) residuals are multiplied by."""
        both = 2.0 if self.mean.shape[-1] == 1 and self.distance != DEBIASED else 1.0
        return both * UNITS[str(self.distance)]

    @cached_property
    def size(self) -> Floats:
        """The mass of each bin, 1 where it is empty."""
        return np.where(self.mass > 0.0, self.mass, 1.0)

    @cached_property
    def share(self) -> Floats:
        """The share of each bin in the mean.

        A bin with one row tells nothing of the variance of its labels: it has no share in the
        debiased mean.
        """
        share = self.mass / self.mass.sum(axis=-1, keepdims=True)
        return np.where(self._variance < 1.0, share, 0.0) if self.distance == DEBIASED else share

    @cached_property
    def _variance(self) -> Floats:
        """The sum of the squared weights over the square of their sum, 1/n for equal weights."""
        s = self.squares / np.square(self.size)
        return np.where(s > 1.0 - 1e-9, 1.0, s)

    @cached_property
    def correction(self) -> Floats:
        """What the mean of y (1 - y) of each bin is multiplied by, its bias.

        With s the variance of the mean label of a bin in units of that of a label, s / (1 - s)
        times the mean of y (1 - y) is unbiased where there are two rows.
        """
        s = self._variance if self.distance == DEBIASED else np.zeros_like(self.mass)
        return s / np.where(s < 1.0, 1.0 - s, 1.0)

    def lengths(self, gaps: Floats) -> Floats:
        """Return the distances (...) that mean residuals (..., c) stand for."""
        sizes = np.abs(gaps) if self.is_norm else np.square(gaps)
        return np.asarray(self.unit * (sizes[..., 0] if sizes.shape[-1] == 1 else sizes.sum(-1)))

    def of_residuals(self, sums: Floats) -> Floats:
        """Return the error (B,) of sums of residuals (B, T K c), its bias not taken away."""
        gaps = sums.reshape(-1, *self.mean.shape) / self.size[..., None]
        return np.asarray(power_means(self.lengths(gaps), self.share, self.power).mean(axis=-1))

    def square_lengths(self, sums: Floats) -> Floats:
        """Return the sum over bins of the squares of sums (B, T K c) over their mass."""
        parts = np.square(sums.reshape(-1, *self.mean.shape)).sum(axis=-1)
        return np.asarray(parts.reshape(len(sums), -1) @ (1.0 / self.size.ravel()))

    def of_events(self, counts: Floats) -> Floats:
        """Return the error (B,) for weighted numbers of the event of each bin, (B, T, K)."""
        y = counts / self.size
        distances = self.lengths((y - self.mean[..., 0])[..., None])
        if self.distance == DEBIASED:
            distances -= self.correction * y * (1.0 - y)
        return self.of_distances(distances)

    def of_distances(self, distances: Floats) -> Floats:
        """Return the error (B,) for the distance of each bin, (B, T, K)."""
        values = power_means(distances, self.share, self.power).mean(axis=-1)
        return np.sqrt(np.maximum(values, 0.0)) if self.is_root else np.asarray(values)

    def gaps(self, mass: Floats, sums: Floats) -> Floats:
        """Return gaps of which the error is the norm, of masses (..., T, K) and sums of residuals.

        A gap is the mean residual times share^(1/p): the sum over the whole for p = 1, the mean for
        p = infinity, 0 where a bin is empty.
        """
        total = mass.sum(axis=-1, keepdims=True)
        scale = mass ** (1.0 - 1.0 / self.power) * total ** (1.0 / self.power)
        sums = sums.reshape(*mass.shape, -1)
        return np.divide(sums, scale[..., None], np.zeros_like(sums), where=mass[..., None] > 0)

    def norm(self, gaps: Floats) -> Floats:
        """Return the norm of gaps (..., T, K, c)."""
        lengths = np.abs(gaps).sum(axis=-1)
        return np.asarray(self.unit * np.linalg.norm(lengths, self.power, axis=-1).mean(axis=-1))


class RowBins(BoundMeasure):
    """An error over bins of rows, which do not depend on the labels."""

    @property
    @abstractmethod
    def mean(self) -> BinMean:
        """The power mean of the bins."""

    @property
    @abstractmethod
    def codes(self) -> Codes:
        """The bin of each row in each table, (n, T)."""

    @property
    def _residuals(self) -> Floats:
        """The residuals times the weights, (n, T, c); of two classes in one table the second."""
        tables, _, classes = self.mean.mean.shape
        own = np.ascontiguousarray(residuals(self.predictions)[:, -tables * classes :])
        return own.reshape(-1, tables, classes)

    def residual_statistic(self) -> CellSums:
        """Return the error as a function of the sums of residuals of its bins.

        The debiased error is compared without its bias, which is the same for flipped signs.
        """
        tables, count, classes = self.mean.mean.shape
        cells = self.codes.astype(np.int64) + count * np.arange(tables)
        cells = cells[..., None] * classes + np.arange(classes)
        every = self.mean.mean.size
        found = CellSums(cells, self._residuals, every, self.mean.of_residuals)
        if self.mean.power < np.inf:
            found.quadratic = replace(found, function=self.mean.square_lengths)
        return found

    def gaps(self) -> Gaps:
        """Return the gaps of the bins, which are held fixed."""
        codes, weight = np.ascontiguousarray(self.codes), self.predictions.sample_weight
        given = (codes, self._residuals, np.ones(1) if weight is None else weight)
        count = self.mean.mass.shape[1]

        def vector(rows: Rows) -> Floats:
            return self.mean.gaps(*cell_sums(rows, *given, count))

        return Gaps(self.predictions.n, vector, lambda gaps: float(self.mean.norm(gaps)))


class SortedBins(RowBins):
    """One table of bins, whose rows are kept in their order, sorted when labels are redrawn."""

    def __init__(self, measure: BinErrors, predictions: Predictions) -> None:
        super().__init__(predictions)
        self.measure = measure

    @cached_property
    def _bins(self) -> tuple[Ints, int]:
        """The bin of each row, and the number of occupied bins."""
        return self.measure.cells(self.predictions)

    @property
    def codes(self) -> Codes:
        return np.asarray(self._bins[0])[:, None]

    @cached_property
    def _sorting(self) -> tuple[Ints, Ints]:
        order, start = sort_by_cell(*self._bins)
        return order, start

    @property
    def order(self) -> Ints:
        """The rows, sorted by bin."""
        return self._sorting[0]

    @property
    def start(self) -> Ints:
        """Where each bin starts, and where the last one ends."""
        return self._sorting[1]

    def sums(self, values: Floats | None = None) -> Floats:
        """Sum values of the rows (n,), by default ones, over each bin."""
        cell, count = self._bins
        return np.bincount(cell, values, count).astype(np.float64)

    def counts(self) -> list[tuple[Floats, Floats, Floats]]:
        """Return for each class events, expected events and rows of each bin; of two, the second.

        Rows count whatever their weight.
        """
        p, size = self.predictions, self.sums()
        return [
            (self.sums(p.labels == k), self.sums(p.probs[:, k]), size)
            for k in range(1 if p.m == 2 else 0, p.m)
        ]

    @cached_property
    def weight(self) -> Floats | None:
        """The sample weights in the order of the bins."""
        weight = self.predictions.sample_weight
        return None if weight is None else weight[self.order]


class EventBins(SortedBins):
    """Bins of predictions of two classes: all there is to know is the number of events in each."""

    @cached_property
    def _sums(self) -> Floats:
        """Weight, event probability, observed events and squared weight in each bin, (4, bins)."""
        p = self.predictions
        event, weight = event_column(p), p.sample_weight
        if self.measure.binning == "uniform":
            sums = uniform_sums(event, p.labels, weight, self.measure.bins)
            return sums[sums[:, 0] > 0].T
        w = np.ones(p.n) if weight is None else weight
        return np.stack([self.sums(w * values) for values in (1.0, event, p.labels, w)])

    @cached_property
    def mean(self) -> BinMean:
        mass, expected, _, squares = self._sums[:, None]
        return self.measure.mean(mass, squares, (expected / mass)[..., None])

    def value(self, n_jobs: int | None = None) -> float:
        return float(self.mean.of_events(self._sums[2][None, None])[0])

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return self.mean.of_events(event_counts(labels, self.weight, self.start)[:, None])


class ClassBins(SortedBins):
    """Bins of predictions of any number of classes."""

    @cached_property
    def mean(self) -> BinMean:
        weight, first = self.weight, self.start[:-1]
        probs, w = self.predictions.probs[self.order], np.ones(1) if weight is None else weight
        w = np.broadcast_to(w, len(probs))
        mass, squares = (np.add.reduceat(values, first)[None] for values in (w, np.square(w)))
        sums = np.add.reduceat(probs if weight is None else w[:, None] * probs, first)
        return self.measure.mean(mass, squares, sums[None] / mass[..., None])

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        if callable(self.mean.distance):
            distances = np.stack([self._custom(row) for row in labels])
        else:
            distances = self._lengths(labels)
        return self.mean.of_distances(distances[:, None])

    def _lengths(self, labels: Labels) -> Floats:
        """Return the distances (B, bins) by name."""
        of, (mean,), (correction,) = self.mean, self.mean.mean, self.mean.correction
        none = of.lengths(mean) - correction
        given = (labels, self.weight, self.start, of.mass[0], mean, correction, none, of.unit)
        lengths = class_lengths(*given, is_square=not of.is_norm)
        return lengths if of.distance == DEBIASED else np.maximum(lengths, 0.0)  # rounding

    def _custom(self, labels: Labels) -> Floats:
        """Return the distances (bins,) that are a function."""
        (mass,), (mean,) = self.mean.mass, self.mean.mean
        at = np.repeat(np.arange(mass.size) * mean.shape[1], np.diff(self.start)) + labels
        sums = np.bincount(at, self.weight, mean.size).reshape(mean.shape)
        return row_distances(self.measure.distance, mean, sums / mass[:, None])


class CellBins(BoundCells):
    """The error over bins that are unions of cells: that of the rows."""

    def __init__(self, measure: BinErrors, cells: Cells) -> None:
        super().__init__(cells)
        place = cells.bins[measure.bins]
        self.start = np.flatnonzero(np.append(True, np.diff(place) != 0))
        mass, squares, expected = (
            self._sums(sums.astype(np.float64)) for sums in (cells.n, cells.squares, cells.expected)
        )
        self.mean = measure.mean(mass, squares, (expected / mass)[..., None])

    def _sums(self, values: Floats) -> Floats:
        """Sum over each bin, (..., 1, bins)."""
        return np.add.reduceat(values, self.start, axis=-1)[..., None, :]

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        return self.mean.of_events(self._sums(labels))

    def error(self) -> float:
        return 0.0

    def gaps(self) -> CellGaps | None:
        if not self.mean.is_norm:
            return None
        mean = self.cells.mean

        def vector(events: Floats, others: Floats) -> Floats:
            sums = self._sums(events * (1.0 - mean) - others * mean)
            return self.mean.gaps(self._sums(events + others), sums)

        return CellGaps(vector, self.mean.norm)

    def unseen_reach(self, a: float) -> float:
        if self.mean.power != np.inf or self.mean.distance != "tv":
            return 0.0
        events, mass = self._sums(self.cells.events.astype(np.float64)), self.mean.mass
        farthest = farthest_gap(events, mass * self.mean.mean[..., 0], mass, a)
        return max(farthest - self.value(), 0.0)


def row_distances(distance: Distance, mean: Floats, label: Floats) -> Floats:
    """Call a distance for every pair of rows."""
    if not callable(distance):
        raise TypeError(distance)
    rows = zip(mean, label, strict=True)
    return check_distances(np.array([float(distance(p, y)) for p, y in rows]))


def check_distances(values: Floats) -> Floats:
    """Check the values of a distance that was given as a function, one for each bin."""
    bad = ~((values >= 0) & (values < np.inf))
    if bad.any():
        at = int(np.argmax(bad))
        rule = "distance must return finite numbers of at least 0"
        raise invalid(rule, f"{values[at]} for bin {at}", "correct the function")
    return values
