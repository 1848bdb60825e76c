"""Errors over bins: one power mean of the distances of bins, for rows, cells, flips, resamples."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caltest.checks import as_number
from caltest.errors import invalid
from caltest.measures.outcome import Gaps
from caltest.measures.residual_sums import ResidualStatistic, of_cells
from caltest.numerics import bins as loops
from caltest.numerics.class_sums import cell_sums
from caltest.numerics.loops import frozen
from caltest.predictions import Predictions, event_column
from caltest.types import AnyArray, Floats, Ints
from caltest.units import CellUnits, Observed, RowUnits, UnitSums, row_weights

if TYPE_CHECKING:
    from caltest.measures.bins.ece import BinErrors

Codes = NDArray[np.integer]
Counts = tuple[Floats, Floats, Floats]
Distance = str | Callable[[Floats, Floats], float]

DEBIASED = "debiased"  # squared Euclidean less its bias; halved for two classes, as the Brier score
NORMS = {"tv": 0.5, "cityblock": 1.0}  # the distances that are norms: of city-block distance
UNITS = {**NORMS, "sqeuclidean": 1.0, DEBIASED: 1.0}
BINS = "the interval is for the error in these bins, held fixed; finer bins may have a larger error"


class BinMean:
    """The power mean over bins of the distance of mean labels to mean predictions.

    The S bins make T tables, one after the other, such as one for each class or group, each of
    which has an error. A bin may be empty.

    Parameters
    ----------
    mass, squares : (S,) array
        The sums of weights and of squared weights in the bins.
    mean : (S, c) array
        The mean prediction of each bin: of one event, or of all classes.
    distance : str or callable
        A name of `UNITS`, or a function of a mean prediction and a mean label.
    power : float
        That of the mean.
    first : (T,) array
        The first bin of each table.
    is_root : bool
        Whether the root of the mean is the error; a negative one counts as 0.

    Attributes
    ----------
    is_norm, is_debiased : bool
        Whether the error is a norm of sums of residuals, and whether its bias is taken away.
    unit : float
        What sums over the classes of (squared) residuals are multiplied by.
    size : (S,) array
        The mass of each bin, 1 where it is empty.
    share : (S,) array
        The share of each bin in the mean. A bin with one row tells nothing of the variance of its
        labels: it has no share in the debiased mean.
    correction : (S,) array
        What the mean of y (1 - y) of each bin is multiplied by, its bias.
    """

    def __init__(
        self,
        mass: Floats,
        squares: Floats,
        mean: Floats,
        distance: Distance,
        power: float,
        first: Ints,
        *,
        is_root: bool = False,
    ) -> None:
        self.mass, self.mean, self.distance = mass, mean, distance
        self.power, self.first, self.is_root = power, first, is_root
        self.is_norm, self.is_debiased = distance in NORMS, distance == DEBIASED
        both = 2.0 if mean.shape[1] == 1 and not self.is_debiased else 1.0
        self.unit = both * UNITS.get(str(distance), 1.0)
        self.size = np.where(mass > 0.0, mass, 1.0)
        total = np.add.reduceat(mass, first)
        self.share = mass / np.repeat(total, np.diff(first, append=mass.size))
        self.correction = np.zeros_like(mass)
        if self.is_debiased:
            # The variance of the mean label in units of that of a label, 1/n for equal weights:
            # s / (1 - s) times the mean of y (1 - y) is unbiased where there are two rows.
            s = squares / np.square(self.size)
            has_two = s <= 1.0 - 1e-9
            self.share = np.where(has_two, self.share, 0.0)
            self.correction = np.where(has_two, s, 1.0) / np.where(has_two, 1.0 - s, 1.0)

    def lengths(self, gaps: Floats) -> Floats:
        """Return the distances (...) that mean residuals (..., c) stand for."""
        sizes = np.abs(gaps) if self.is_norm else np.square(gaps)
        return np.asarray(self.unit * (sizes[..., 0] if sizes.shape[-1] == 1 else sizes.sum(-1)))

    def event_distances(self, counts: Floats) -> Floats:
        """Return the distances (B, S) for weighted numbers of the event of each bin."""
        y = counts / self.size
        distances = self.lengths((y - self.mean[:, 0])[..., None])
        if self.is_debiased:
            distances -= self.correction * y * (1.0 - y)
        return distances

    def errors(self, distances: Floats) -> Floats:
        """Return the error of each table, (B, T), for the distance of each bin, (B, S)."""
        values = loops.power_means(distances, self.share, self.power, self.first)
        return np.sqrt(np.maximum(values, 0.0)) if self.is_root else values

    def gaps(self, mass: Floats, sums: Floats) -> Floats:
        """Return gaps of which the error is the norm, of masses (..., S) and sums of residuals.

        A gap is the mean residual times share^(1/p): the sum over the whole for p = 1, the mean for
        p = infinity, 0 where a bin is empty.
        """
        total = mass.sum(axis=-1, keepdims=True) / self.first.size
        scale = (mass ** (1.0 - 1.0 / self.power) * total ** (1.0 / self.power))[..., None]
        sums = sums.reshape(*mass.shape, -1)
        return np.asarray(np.divide(sums, scale, np.zeros_like(sums), where=scale > 0))

    def norm(self, gaps: Floats, share: Floats | None = None) -> Floats:
        """Return the mean over the tables of the norms of their gaps (..., S, c)."""
        ones = np.ones(self.mass.size) if share is None else share
        return np.asarray(
            loops.power_means(self.lengths(gaps), ones, self.power, self.first).mean(-1)
        )


def table_sums(
    predictions: Predictions, codes: Codes, first: Ints, bins: int
) -> tuple[Floats, Floats]:
    """Return the mass (S,) and the sums of predictions (S, c) of the bins of all tables.

    `codes` (n, T) are the bins of the rows in each table.
    """
    probs, weight = predictions.probs, predictions.sample_weight
    values = probs if weight is None else weight[:, None] * probs
    own = np.ascontiguousarray(values).reshape(len(probs), first.size, -1)
    w, every = np.ones(1) if weight is None else weight, np.arange(len(probs), dtype=np.int32)
    mass, sums = cell_sums(every, codes, first, frozen(own), frozen(w), bins)
    return mass, sums


def bin_residuals(predictions: Predictions, mean: BinMean) -> Floats:
    """Return the residuals times the weights, (n, T, c); of two classes in one table the second."""
    tables, classes = mean.first.size, mean.mean.shape[1]
    own = np.ascontiguousarray(predictions.residuals[:, -tables * classes :])
    return own.reshape(-1, tables, classes)


def flipped_bins(predictions: Predictions, codes: Codes, mean: BinMean) -> ResidualStatistic:
    """Return the error as a function of the sums of residuals of its bins.

    The debiased error is compared without its bias, which is the same for flipped signs. `codes`
    (n, T) are the bins of the rows in each table.
    """
    classes = mean.mean.shape[1]
    cells = (codes.astype(np.int64) + mean.first)[..., None] * classes + np.arange(classes)
    given = cells, bin_residuals(predictions, mean), mean.mean.size

    def error(sums: Floats) -> Floats:  # its bias is not taken away
        return mean.norm(sums.reshape(-1, *mean.mean.shape) / mean.size[:, None], mean.share)

    def squares(sums: Floats) -> Floats:
        own = np.square(sums.reshape(-1, *mean.mean.shape)).sum(axis=2)
        return np.asarray(own @ (1.0 / mean.size))

    found = of_cells(*given, error)
    if mean.power < np.inf:
        found.quadratic = of_cells(*given, squares)
    return found


def row_gaps(predictions: Predictions, codes: Codes, mean: BinMean) -> Gaps:
    """Return the gaps of the bins, which are held fixed; `codes` as for `flipped_bins`."""
    weight = np.ones(1) if predictions.sample_weight is None else predictions.sample_weight
    own = frozen(bin_residuals(predictions, mean)), frozen(weight)
    codes = np.ascontiguousarray(codes)

    return Gaps(
        predictions.n,
        lambda rows: mean.gaps(*cell_sums(rows, codes, mean.first, *own, mean.mass.size)),
        lambda gaps: float(mean.norm(gaps)),
    )


def gap_tables(predictions: Predictions, codes: Codes, mean: BinMean, scale: float) -> list[Floats]:
    """Return scores (n, m) of labels whose means the sum of all gaps, times a scale, is not below.

    Classes that are more likely than not in their bin have one sign there, the others another.
    """
    probs = predictions.probs
    sign = np.where(mean.mean[mean.first + codes] > 0.5, -scale, scale).reshape(probs.shape)
    table = sign - np.einsum("ik,ik->i", sign, probs)[:, None]
    return [table, -table]


class BinnedRows(RowUnits):
    """Rows, those of a bin next to each other; sorting them waits until labels are redrawn."""

    def __init__(self, predictions: Predictions, measure: BinErrors) -> None:
        super().__init__(predictions)
        self.measure, self.first = measure, np.zeros(1, np.int64)
        # Whether labels are those of an event, and not of any number of classes.
        self.by_event = predictions.m == 2 and not callable(measure.distance)

    @cached_property
    def numbers(self) -> tuple[Ints, int]:
        """The bin of each row as they are given, and the number of occupied bins."""
        return self.measure.cells(self.predictions)

    @property
    def codes(self) -> Ints:
        return np.asarray(self.numbers[0])[:, None]

    @cached_property
    def _sorting(self) -> tuple[Ints, Ints]:
        return loops.sort_by_cell(*self.numbers)

    @cached_property
    def order(self) -> Ints:
        return self._sorting[0]

    @cached_property
    def bins(self) -> Ints:
        """Where each bin starts, and where the last one ends."""
        return self._sorting[1]

    @cached_property
    def weight(self) -> Floats | None:
        """The sample weights in the order of the bins."""
        return self.scale if self.is_weighted else None

    def count(self, observed: Observed) -> Floats:
        """Return the weighted number of events (B, bins) for labels (B, U)."""
        return np.asarray(loops.event_counts(observed, self.weight, self.bins))

    def bin_sums(self, values: AnyArray | None = None) -> Floats:
        """Sum values of the rows (n,), as they are given, over each bin; by default ones."""
        cell, count = self.numbers
        return np.bincount(cell, values, count).astype(np.float64)

    @cached_property
    def event_sums(self) -> Floats:
        """Weight, event probability, observed events and squared weight in each bin, (4, bins)."""
        p = self.predictions
        event, weight = event_column(p), p.sample_weight
        if self.measure.binning == "uniform":
            sums = loops.uniform_sums(event, p.labels, weight, self.measure.bins)
            return sums[sums[:, 0] > 0].T
        weight = row_weights(p)  # as the rows are given
        every = (1.0, event, p.labels, weight)
        return np.stack([self.bin_sums(weight * values) for values in every])

    def counts(self) -> list[Counts]:
        """Return for each class events, expected events and rows of each bin; of two, the second.

        Rows count whatever their weight.
        """
        p, size = self.predictions, self.bin_sums()
        return [
            (self.bin_sums(p.labels == k), self.bin_sums(p.probs[:, k]), size)
            for k in range(1 if p.m == 2 else 0, p.m)
        ]


class BinnedCells(CellUnits):
    """Cells, of which the bins of each group are unions."""

    by_event = True

    def __init__(self, units: CellUnits, measure: BinErrors) -> None:
        super().__init__(units.cells, units.start)
        self.measure = measure
        is_first = np.append(True, np.diff(self.cells.bins[measure.bins]) != 0)
        is_first[self.start[:-1]] = True
        self.bins = np.append(np.flatnonzero(is_first), is_first.size)
        self.first = np.searchsorted(self.bins, self.start[:-1])

    def bin_sums(self, values: Floats) -> Floats:
        """Sum values of the cells (..., U) over each bin."""
        return np.add.reduceat(values, self.bins[:-1], axis=-1)

    count = bin_sums

    @cached_property
    def event_sums(self) -> Floats:
        """Weight, event probability, observed events and squared weight in each bin, (4, bins)."""
        squares = self.cells.squares.astype(np.float64)
        return self.bin_sums(np.stack([self.mass, self.shift, self.observed, squares]))

    def counts(self) -> list[Counts]:
        """Return events, expected events and mass of each bin."""
        mass, expected, events, _ = self.event_sums
        return [(events, expected, mass)]


class Bins(UnitSums):
    """The distances (B, S) of bins: by the number of an event in each, or of each class."""

    units: BinnedRows | BinnedCells

    @cached_property
    def mean(self) -> BinMean:
        units = self.units
        if units.by_event or isinstance(units, BinnedCells):
            mass, expected, _, squares = units.event_sums
            sums = expected[:, None]
        else:
            mass, sums = table_sums(units.predictions, units.codes, units.first, units.numbers[1])
            weight = units.predictions.sample_weight
            squares = mass if weight is None else units.bin_sums(np.square(weight))
        return units.measure.mean(mass, squares, sums / mass[:, None], units.first)

    def redrawn(self, observed: Observed) -> Floats:
        of, units = self.mean, self.units
        if units.by_event or isinstance(units, BinnedCells):
            return of.event_distances(units.count(observed))
        if callable(of.distance):
            classes, weight = of.mean.shape[1], units.weight
            at = np.repeat(np.arange(of.mass.size) * classes, np.diff(units.bins))
            found = []
            for labels in observed:
                sums = np.bincount(at + labels, weight, of.mean.size).reshape(of.mean.shape)
                found.append(row_distances(of.distance, of.mean, sums / of.mass[:, None]))
            return np.stack(found)
        none = of.lengths(of.mean) - of.correction
        given = (units.weight, units.bins, of.mass, of.mean, of.correction, none, of.unit)
        lengths = loops.class_lengths(observed, *given, is_square=not of.is_norm)
        return lengths if of.is_debiased else np.maximum(lengths, 0.0)  # rounding

    def observed(self) -> Any:
        if self.units.by_event:
            return self.mean.event_distances(self.units.event_sums[2][None])
        return super().observed()


def row_distances(
    distance: Callable[[Floats, Floats], float], mean: Floats, label: Floats
) -> Floats:
    """Call a distance for every pair of rows."""
    both = zip(mean, label, strict=True)
    values = np.array([as_number(distance(p, y), "distance") for p, y in both])
    bad = ~((values >= 0) & (values < np.inf))
    if bad.any():
        at = int(np.argmax(bad))
        rule = "distance must return finite numbers of at least 0"
        raise invalid(rule, f"{values[at]} for bin {at}", "correct the function")
    return values
