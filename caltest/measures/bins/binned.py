"""Measures bound to bins: rows sorted by bin, and the distances of the bins for any labels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable, invalid
from caltest.measures.base import BoundMeasure
from caltest.measures.binning import BinnedMeasure, Cells
from caltest.measures.one_dimension import check_one_dimension
from caltest.numerics import bin_errors
from caltest.numerics.bin_errors import add_power, event_distance, power_root
from caltest.numerics.bins import sort_by_cell
from caltest.numerics.labels import cumulative_probs, draw_events, draw_labels, event_table
from caltest.validation.options import check_choice

if TYPE_CHECKING:
    from caltest.predictions import Predictions


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.unsignedinteger]
Distance = str | Callable[[Floats, Floats], float]
DEBIASED = "debiased"  # squared Euclidean less its bias; halved for two classes, as the Brier score
KINDS = {
    "tv": bin_errors.TV,
    "cityblock": bin_errors.CITYBLOCK,
    "sqeuclidean": bin_errors.SQEUCLIDEAN,
    DEBIASED: bin_errors.DEBIASED,
}
NAMES = {
    "tv": "total variation",
    "cityblock": "city-block distance",
    "sqeuclidean": "squared Euclidean distance",
}
DISTANCES = ("tv", "cityblock", "sqeuclidean")


def distance_name(distance: Distance) -> str:
    """Return the distance in words."""
    if callable(distance):
        return getattr(distance, "__name__", "custom distance")
    return NAMES[distance]


def bind_error(
    measure: BinnedMeasure, predictions: Predictions, distance: Distance, power: float
) -> BoundMeasure:
    """Bind the power mean over the bins of a measure of the distance of labels to predictions."""
    if measure.binning == "sweep":
        bound: BoundMeasure = SweepError(predictions, distance, power)
    else:
        bound = bind_bins(measure, predictions, distance, power)
    bound.parameters = {**bound.parameters, "distance": distance_name(distance)}
    return bound


def bind_bins(
    measure: BinnedMeasure, predictions: Predictions, distance: Distance, power: float
) -> BinnedError:
    """Bind it over bins that do not depend on the labels."""
    kind: type[BinnedError] = EventError if predictions.m == 2 else SimplexError
    bound = (CustomError if callable(distance) else kind)(measure, predictions, distance, power)
    bound.parameters = measure.binning_parameters
    if predictions.m > 2:
        bound.parameters = {**bound.parameters, "occupied bins": bound.cells[1]}
    return bound


class BinnedError(BoundMeasure):
    """The power mean over bins of the distance between mean label and mean prediction.

    The rows are kept in the order of their bins. Sorting them waits until labels are redrawn.
    """

    def __init__(
        self, measure: BinnedMeasure, predictions: Predictions, distance: Distance, power: float
    ) -> None:
        super().__init__(predictions)
        self.measure, self.distance, self.power = measure, distance, power

    @property
    @abstractmethod
    def parts(self) -> tuple[Floats, Floats]:
        """Share of each bin in the mean, and factor of its bias."""

    @property
    def observed(self) -> Labels:
        return super().observed[self.order]

    @property
    def label_probs(self) -> Floats:
        return self.predictions.probs[self.order]

    @cached_property
    def cells(self) -> Cells:
        """The bin of each row, and the number of occupied bins."""
        return self.measure.cells(self.predictions)

    @cached_property
    def _sorting(self) -> tuple[Ints, Ints]:
        order, start = sort_by_cell(*self.cells)
        return order, start

    @property
    def order(self) -> Ints:
        """The rows, sorted by bin."""
        return self._sorting[0]

    @property
    def start(self) -> Ints:
        """Where each bin starts, and where the last one ends."""
        return self._sorting[1]

    @cached_property
    def weight(self) -> Floats | None:
        """The sample weights in the order of the bins."""
        weight = self.predictions.sample_weight
        return None if weight is None else weight[self.order]


def bin_parts(mass: Floats, squares: Floats, *, debiased: bool) -> tuple[Floats, Floats]:
    """Return the share of each bin in the mean, and what its variance of labels is multiplied by.

    With s the sum of the squared weights over the square of their sum, 1/n for equal weights, the
    mean label of a bin has variance s / (1 - s) times the mean of y (1 - y): unbiased where there
    are two rows. A bin with one row tells nothing and has no share in the debiased mean.
    """
    share = mass / mass.sum()
    if not debiased:
        return share, np.zeros_like(share)
    s = squares / np.square(mass)
    single = s > 1 - 1e-9
    return np.where(single, 0.0, share), s / np.where(single, 1.0, 1.0 - s)


class EventError(BinnedError):
    """Bins of predictions of two classes: all there is to know is the number of events in each."""

    @cached_property
    def sums(self) -> Floats:
        """Weight, event probability, observed events and squared weight in each bin, (4, bins)."""
        p = self.predictions
        rows = (p.probs[:, 1], p.labels, p.sample_weight)
        if self.measure.binning == "uniform":
            sums = bin_errors.uniform_sums(*rows, self.measure.bins)
            sums = sums[sums[:, 0] > 0]
        else:
            sums = bin_errors.event_sums(*rows, *self.cells)
        return np.ascontiguousarray(sums.T)

    @cached_property
    def parts(self) -> tuple[Floats, Floats]:
        return bin_parts(self.sums[0], self.sums[3], debiased=self.distance == DEBIASED)

    def value(self, n_jobs: int | None = None) -> float:
        return float(self._errors(self.sums[2][None])[0])

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return self._errors(bin_errors.event_counts(labels, self.weight, self.start))

    def redraw(self, rng: np.random.Generator, size: int) -> Labels:
        return draw_events(self._event, rng, size)

    def _errors(self, counts: Floats) -> Floats:
        mass, event = self.sums[:2]
        kind = KINDS[str(self.distance)]
        return np.asarray(
            bin_errors.event_errors(counts, mass, event / mass, *self.parts, kind, self.power)
        )

    @cached_property
    def _event(self) -> Floats:
        return np.ascontiguousarray(self.predictions.probs[self.order, 1])


class SimplexError(BinnedError):
    """Bins of predictions of any number of classes."""

    @cached_property
    def probs(self) -> Floats:
        """The predictions in the order of the bins."""
        return self.predictions.probs[self.order]

    @cached_property
    def mass(self) -> Floats:
        """The weight of each bin."""
        return self._bin_sums(self.weight)

    @cached_property
    def mean(self) -> Floats:
        """The mean prediction of each bin, (bins, m)."""
        sums = bin_errors.cell_sums(self.probs, self.weight, self.start)
        return np.asarray(sums / self.mass[:, None])

    @cached_property
    def parts(self) -> tuple[Floats, Floats]:
        squares = self._bin_sums(None if self.weight is None else np.square(self.weight))
        return bin_parts(self.mass, squares, debiased=self.distance == DEBIASED)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        bins = (self.weight, self.start, self.mass, self.mean, *self.parts)
        kind = KINDS[str(self.distance)]
        return np.asarray(bin_errors.simplex_errors(labels, *bins, kind, self.power))

    def redraw(self, rng: np.random.Generator, size: int) -> Labels:
        return draw_labels(self._cumulative, rng, size)

    def _bin_sums(self, values: Floats | None) -> Floats:
        """Sum over each bin, in the order of the bins; None stands for ones."""
        if values is None:
            return np.diff(self.start).astype(np.float64)
        return np.add.reduceat(values, self.start[:-1])

    @cached_property
    def _cumulative(self) -> Floats:
        return cumulative_probs(self.probs)


class CustomError(SimplexError):
    """A distance that is a function of mean prediction and mean label, called for every bin."""

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return np.array([self._value(row) for row in labels])

    def _value(self, labels: Labels) -> float:
        m = self.predictions.m
        at = np.repeat(np.arange(self.mass.size) * m, np.diff(self.start)) + labels
        sums = np.bincount(at, self.weight, self.mass.size * m).reshape(-1, m)
        distances = row_distances(self.distance, self.mean, sums / self.mass[:, None])
        return power_mean(distances, self.parts[0], self.power)


def row_distances(distance: Distance, mean: Floats, label: Floats) -> Floats:
    """Call a distance for every pair of rows."""
    if not callable(distance):
        raise TypeError(distance)
    rows = zip(mean, label, strict=True)
    return check_distances(np.array([float(distance(p, y)) for p, y in rows]))


def power_mean(values: Floats, share: Floats, power: float) -> float:
    """Return (sum share value^power)^(1/power), the maximum for an infinite power."""
    largest = float(values.max())
    if power == np.inf or largest == 0.0:
        return largest
    return largest * float((share @ (values / largest) ** power) ** (1.0 / power))


class SweepError(BoundMeasure):
    """Bins of equal mass, as many as keep the mean labels monotone; anew for any labels."""

    def __init__(self, predictions: Predictions, distance: Distance, power: float) -> None:
        super().__init__(predictions)
        check_sweep(predictions)
        self.distance, self.power = distance, power
        self._order = np.argsort(predictions.probs[:, 1])
        self.event = predictions.probs[self._order, 1]
        self.starts, self.ends = tie_runs(self.event)
        bins = sweep_counts(self.observed[None], self.starts, self.ends)
        self.parameters = {"binning": "sweep", "bins": int(bins[0])}

    @property
    def observed(self) -> Labels:
        return super().observed[self._order]

    @property
    def label_probs(self) -> Floats:
        return event_table(self.event)

    def redraw(self, rng: np.random.Generator, size: int) -> Labels:
        return draw_events(self.event, rng, size)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        bins = sweep_counts(labels, self.starts, self.ends)
        if callable(self.distance):
            return np.array([self._custom(*pair) for pair in zip(labels, bins, strict=True)])
        kind = KINDS[self.distance]
        return np.asarray(sweep_errors(labels, bins, self.ends, self.event, kind, self.power))

    def _custom(self, labels: Labels, bins: int) -> float:
        cuts = np.unique([cut(k, bins, self.ends) for k in range(bins + 1)])
        size = np.diff(cuts)
        sums = np.add.reduceat(np.stack([self.event, labels], axis=1), cuts[:-1]) / size[:, None]
        mean, label = (np.stack([1.0 - column, column], axis=1) for column in sums.T)
        return power_mean(row_distances(self.distance, mean, label), size / size.sum(), self.power)


def check_sweep(predictions: Predictions) -> None:
    """Raise NotApplicable where the sweep is not defined."""
    check_one_dimension(predictions, "binning='sweep'")
    if predictions.sample_weight is not None:
        raise NotApplicable("binning='sweep' takes no sample weights; use binning='quantile'")


@numba.njit(nogil=True, cache=True)
def tie_runs(values: Floats) -> tuple[Ints, Ints]:
    """Return, for each of the sorted `values`, where the run of equal values starts and ends."""
    n = values.size
    starts, ends = np.zeros(n, np.int64), np.full(n, n)
    for i in range(1, n):
        starts[i] = starts[i - 1] if values[i] == values[i - 1] else i
    for i in range(n - 2, -1, -1):
        ends[i] = ends[i + 1] if values[i] == values[i + 1] else i + 1
    return starts, ends


@numba.njit(nogil=True, cache=True, inline="always")
def cut(k: int, bins: int, ends: Ints) -> int:
    """Return where the first k of `bins` bins of equal mass end; ties stay in the lower bin."""
    if k == 0:
        return 0
    return int(ends[-(-k * ends.size // bins) - 1])


@numba.njit(nogil=True, cache=True)
def sweep_counts(labels: Labels, starts: Ints, ends: Ints) -> Ints:
    """Return the number of bins for each row of `labels` (B, n), sorted by prediction.

    It grows from 1 until the mean labels of the bins are not monotone. Bins before the first event
    and after the last non-event are monotone whatever their number, and are passed over.
    """
    n = ends.size
    out = np.ones(labels.shape[0], np.int64)
    sums = np.zeros(n + 1, np.int64)
    for b in range(labels.shape[0]):
        first, last = n, -1
        for i in range(n):
            sums[i + 1] = sums[i] + labels[b, i]
            if labels[b, i] == 0:
                last = starts[i]
            elif first == n:
                first = starts[i]
        while out[b] < n and _is_monotone(out[b] + 1, first, last, sums, ends):
            out[b] += 1
    return out


@numba.njit(nogil=True, cache=True)
def _is_monotone(bins: int, first: int, last: int, sums: Ints, ends: Ints) -> bool:
    """Tell whether mean labels grow from the bin that holds row `first` to that of row `last`."""
    n = ends.size
    k = first * bins // n
    start = cut(k, bins, ends)
    events, size = 0, 1
    while k < bins and start <= last:
        k += 1
        end = cut(k, bins, ends)
        if end > start:
            now = sums[end] - sums[start]
            if events * (end - start) > now * size:
                return False
            events, size, start = now, end - start, end
    return True


@numba.njit(nogil=True, cache=True)
def sweep_errors(
    labels: Labels, bins: Ints, ends: Ints, event: Floats, kind: int, power: float
) -> Floats:
    """Return the power mean of the distances for each row of `labels` and its number of bins."""
    n = ends.size
    out = np.empty(labels.shape[0])
    for b in range(labels.shape[0]):
        start, total, largest = 0, 0.0, 0.0
        for k in range(1, bins[b] + 1):
            end = cut(k, bins[b], ends)
            if end == start:
                continue
            events, expected = np.int64(0), 0.0
            for i in range(start, end):
                events += np.int64(labels[b, i])
                expected += event[i]
            d = event_distance(events / (end - start), expected / (end - start), 0.0, kind)
            total, largest = add_power(total, largest, (end - start) / n, d, power)
            start = end
        out[b] = power_root(total, largest, power)
    return out


def check_distance(distance: object) -> str | Callable[..., Any]:
    """Check the name of a distance, or a function of two rows."""
    return distance if callable(distance) else check_choice(distance, DISTANCES, "distance")


def check_distances(values: Floats) -> Floats:
    """Check the values of a distance that was given as a function, one for each bin."""
    bad = ~((values >= 0) & (values < np.inf))
    if bad.any():
        at = int(np.argmax(bad))
        rule = "distance must return finite numbers of at least 0"
        raise invalid(rule, f"{values[at]} for bin {at}", "correct the function")
    return values
