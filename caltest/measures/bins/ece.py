"""The expected calibration error (ECE), and what errors over bins share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable, invalid
from caltest.measures.base import BoundMeasure, Measure, Order
from caltest.measures.binning import BinnedMeasure, Cells, check_power
from caltest.measures.bins.gaps import BINS, NORMS, bin_gaps, scaled_gaps
from caltest.measures.bins.sweep import cut, sweep_counts, sweep_errors, tie_runs
from caltest.measures.cells import BoundCells, CellGaps, Counts, ResampledGroups
from caltest.measures.one_dimension import check_one_dimension
from caltest.measures.outcome import Gaps
from caltest.measures.residual_sums import CellSums, ResidualStatistic, residuals
from caltest.numerics import bins as bin_errors
from caltest.numerics.bins import sort_by_cell
from caltest.numerics.unseen import farthest_gap
from caltest.predictions import event_column
from caltest.validation.options import check_choice

if TYPE_CHECKING:
    from caltest.lenses import Lens
    from caltest.predictions import Predictions
    from caltest.scale import Cells as RowCells
    from caltest.scale import ManyCells

__all__ = ["ECE", "ece"]


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


@dataclass(frozen=True, kw_only=True)
class BinErrors(BinnedMeasure):
    """A power mean over bins of a distance of labels to predictions."""

    distance: Distance = "tv"

    binnings: ClassVar[tuple[str, ...]] = ("uniform", "quantile", "median-variance", "sweep")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distance(self.distance)

    @property
    @abstractmethod
    def power(self) -> float:
        """The power of the mean; infinity for the maximum."""

    def bind_weighted(self, predictions: Predictions) -> BoundMeasure:
        return bind_error(self, predictions, self.distance, self.power)

    def bind_cells(self, cells: RowCells) -> BoundCells:
        if self.binning != "uniform" or callable(self.distance):
            return Measure.bind_cells(self, cells)
        bound = CellErrors(cells, self.bins, self.distance, self.power)
        bound.is_norm = self.distance in NORMS
        bound.parameters = {
            **self.binning_parameters,
            "distance": distance_name(self.distance),
        }
        return bound

    def bind_groups(self, many: ManyCells) -> ResampledGroups:
        if self.binning != "uniform" or callable(self.distance):
            return Measure.bind_groups(self, many)  # type: ignore[return-value]  # it raises
        bound = ResampledGroups.binned(many, self.bins, KINDS[self.distance], self.power)
        bound.error = 0.0
        bound.parameters = {
            **self.binning_parameters,
            "distance": distance_name(self.distance),
        }
        return bound

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the error in one bin, which too few rows for two bins of the least size are."""
        return replace(self, binning="uniform", bins=1)

    @property
    def intervals(self) -> tuple[str, ...]:
        # The bins of a sweep depend on the labels, so that they are others for other rows.
        is_norm = self.binning != "sweep" and self.distance in NORMS
        return ("convex", *super().intervals) if is_norm else super().intervals

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the gaps of the bins, which are held fixed."""
        return bin_gaps(predictions, self.cells(predictions), str(self.distance), self.power)

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> Sequence[ResidualStatistic]:
        """Return the error over the bins as a function of their sums of residuals."""
        if self.binning == "sweep" or callable(self.distance):
            return super().residual_statistics(predictions, n_jobs)
        bound = bind_bins(self, predictions, self.distance, self.power)
        return [bound.residual_statistic()]

    def interval_notes(self, method: str, n: int) -> tuple[str, ...]:
        return (BINS,) if method == "convex" else ()


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

    @cached_property
    def cells(self) -> Cells:
        """The bin of each row, and the number of occupied bins."""
        return self.measure.cells(self.predictions)

    def residual_statistic(self) -> CellSums:
        """Return the power mean over bins as a function of their sums of residuals.

        The debiased error is compared without its bias, which is the same for flipped signs.
        """
        p, (cell, count) = self.predictions, self.cells
        columns = slice(1, 2) if p.m == 2 else slice(0, p.m)
        gaps = residuals(p)[:, columns]
        width = gaps.shape[1]
        weight = np.ones(p.n) if p.sample_weight is None else p.sample_weight
        mass = np.bincount(cell, weight, count)
        used = mass > 0
        share = mass / mass.sum()
        if self.distance == DEBIASED:
            share = np.where(np.bincount(cell, np.square(weight), count) < mass**2, share, 0.0)

        def function(sums: Floats) -> Floats:
            mean = sums.reshape(len(sums), count, width)[:, used] / mass[used, None]
            return power_means(lengths(mean, str(self.distance)), share[used], self.power)

        def square_lengths(sums: Floats) -> Floats:
            squares = np.square(sums.reshape(len(sums), count, width)[:, used]).sum(axis=2)
            return np.asarray(squares @ (1.0 / mass[used]))

        cells = np.asarray(cell)[:, None] * width + np.arange(width)
        found = CellSums(cells, gaps, count * width, function)
        if self.power < np.inf:
            found.quadratic = replace(found, function=square_lengths)
        return found

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

    def counts(self) -> list[tuple[Floats, Floats, Floats]]:
        """Return for each class events, expected events and rows of each bin; of two, the second.

        Rows count whatever their weight.
        """
        first, m = self.start[:-1], self.predictions.m
        labels, probs = self.predictions.labels[self.order], self.predictions.probs[self.order]
        size = np.diff(self.start).astype(np.float64)
        return [
            (
                np.add.reduceat((labels == k).astype(np.float64), first),
                np.add.reduceat(probs[:, k], first),
                size,
            )
            for k in range(1 if m == 2 else 0, m)
        ]

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
        rows = (event_column(p), p.labels, p.sample_weight)
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

    def _errors(self, counts: Floats) -> Floats:
        mass, event = self.sums[:2]
        kind = KINDS[str(self.distance)]
        return np.asarray(
            bin_errors.event_errors(counts, mass, event / mass, *self.parts, kind, self.power)
        )


class CellErrors(BoundCells):
    """The power mean over bins that are unions of cells: that of the rows."""

    is_norm = False

    def __init__(self, cells: RowCells, bins: int, distance: str, power: float) -> None:
        super().__init__(cells)
        self.distance, self.kind, self.power = distance, KINDS[distance], power
        place = cells.bins[bins]
        self.start = np.flatnonzero(np.append(True, np.diff(place) != 0))
        mass, squares = (
            np.add.reduceat(sums.astype(np.float64), self.start)
            for sums in (cells.n, cells.squares)
        )
        self.mass, self.mean = mass, np.add.reduceat(cells.expected, self.start) / mass
        self.parts = bin_parts(mass, squares, debiased=distance == DEBIASED)

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        counts = np.add.reduceat(labels, self.start, axis=1)
        bins = (self.mass, self.mean, *self.parts)
        return np.asarray(bin_errors.event_errors(counts, *bins, self.kind, self.power))

    def error(self) -> float:
        return 0.0

    def gaps(self) -> CellGaps | None:
        if not self.is_norm:
            return None
        mean, power, unit = self.cells.mean, self.power, 2.0 * NORMS[self.distance]

        def vector(events: Floats, others: Floats) -> Floats:
            sums = np.add.reduceat(events * (1.0 - mean) - others * mean, self.start, axis=1)
            mass = np.add.reduceat(events + others, self.start, axis=1)
            return scaled_gaps(mass, sums, power)

        def norm(gaps: Floats) -> Floats:
            return np.asarray(unit * np.linalg.norm(gaps, power, axis=1))

        return CellGaps(vector, norm)

    def unseen_reach(self, a: float) -> float:
        if self.power != np.inf or self.distance != "tv":
            return 0.0
        events = np.add.reduceat(self.cells.events, self.start).astype(np.float64)
        farthest = farthest_gap(events, self.mass * self.mean, self.mass, a)
        return max(farthest - self.value(), 0.0)


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

    def _bin_sums(self, values: Floats | None) -> Floats:
        """Sum over each bin, in the order of the bins; None stands for ones."""
        if values is None:
            return np.diff(self.start).astype(np.float64)
        return np.add.reduceat(values, self.start[:-1])


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


def lengths(gaps: Floats, distance: str) -> Floats:
    """Return the distances that gaps (..., m) stand for; one column is that of two classes."""
    both = 2.0 if gaps.shape[-1] == 1 else 1.0
    if distance in NORMS:
        return np.asarray(both * NORMS[distance] * np.abs(gaps).sum(axis=-1))
    half = 0.5 if distance == DEBIASED and both == 2.0 else 1.0
    return np.asarray(half * both * np.square(gaps).sum(axis=-1))


def power_means(values: Floats, share: Floats, power: float) -> Floats:
    """Return the power mean (B,) of each row of values (B, bins)."""
    if power == np.inf:
        return np.asarray(values.max(axis=1))
    return np.asarray((values**power @ share) ** (1.0 / power))


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
        self.event = predictions.probs[self.order, 1]
        self.starts, self.ends = tie_runs(self.event)
        bins = sweep_counts(self.observed[None], self.starts, self.ends)
        self.parameters = {"binning": "sweep", "bins": int(bins[0])}

    @cached_property
    def order(self) -> Order:
        return np.argsort(self.predictions.probs[:, 1])

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
        raise NotApplicable("binning='sweep' takes no sample weights", "use binning='quantile'")


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


@dataclass(frozen=True, kw_only=True)
class ECE(BinErrors):
    """The ECE with its bins and distance; see `ece` for the parameters."""

    p: float = 1

    key: ClassVar[str] = "ece"
    largest: ClassVar[float] = 1.0
    title: ClassVar[str] = "expected calibration error"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_power(self.p)

    @property
    def symbol(self) -> str:
        return "ECE" if self.p == 1 else f"ECE_{self.p:g}"

    @property
    def power(self) -> float:
        return float(self.p)


def ece(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    binning: str = "uniform",
    bins: int = 15,
    min_size: int = 10,
    max_bins: int | None = None,
    distance: Distance = "tv",
    p: float = 1,
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
    r"""Compute the expected calibration error, the mean distance of labels to predictions in bins.

    With the mean prediction :math:`\bar p_b` and the mean unit vector of the labels
    :math:`\bar y_b` of the :math:`n_b` observations in bin b,

    .. math:: ECE_p = \Big(\sum_b \frac{n_b}{n} d(\bar y_b, \bar p_b)^p\Big)^{1/p}.

    The confidence-ECE of the machine-learning papers, the mean of `|accuracy - confidence|`, is
    lens="confidence": the total variation distance of two binary distributions is the distance of
    their events. Class-j-ECE is lens=Classwise(j), and "classwise" gives all of them.

    A calibrated model has a positive ECE too, that grows with the number of bins; the test "ece"
    of `test_calibration` tells what is to be expected. p-conf-ECE of Kull et al. is its exact null
    with lens="confidence", bins=15 (the default) and n_resamples=10_000, but for the 1 that
    (1 + #) / (1 + B) adds. The null redraws labels and not the counts of the bins, since a count
    is a sum of unequal Bernoullis and not binomial.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    binning : {"uniform", "quantile", "median-variance", "sweep"}
        - "uniform": bins of equal width ((k - 1)/B, k/B], 0 in the first; a grid over all classes,
          for two classes over P(class 1) alone.
        - "quantile": bins of equal mass along P(class 1), for two classes; ties are never split.
        - "median-variance": the bin with the largest variance of a component is split at the median
          of that component, until its halves would have less than `min_size` observations.
        - "sweep": bins of equal mass as many as keep the mean labels monotone, for two classes; the
          number grows from 1 until they are not.
    bins : int, default 15
        B, for "uniform" and "quantile".
    min_size : int, default 10
        Smallest size of a bin, for "median-variance"; sample weights count relative to their mean.
    max_bins : int, optional
        Largest number of bins, for "median-variance".
    distance : {"tv", "cityblock", "sqeuclidean"} or callable
        Total variation is half the city-block distance. A callable takes a mean prediction and a
        mean label, both (m,), returns a number of at least 0, and is meant for few bins.
    p : float, default 1
        At least 1; infinity gives the maximum, see `mce`.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        In units of the distance. Sample weights count an observation w_i times ("sweep" takes
        none). Bins of equal width on one-dimensional predictions take one pass.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If "quantile" or "sweep" meet more than two classes, or there are fewer than `min_size`
        observations.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    equation 1 (ECE_p); Widmann et al. (2019), Calibration tests in multi-class classification,
    section 3 and Vaicenavicius et al. (2019) (bins over the simplex, median-variance bins);
    Kull et al. (2019), Beyond temperature scaling, NeurIPS 32, section 2; Roelofs et al. (2022),
    Mitigating bias in calibration error estimation, AISTATS, section 4 (sweep).

    Examples
    --------
    >>> import caltest as ct
    >>> probs, labels = [0.1, 0.3, 0.7, 0.9], [0, 1, 1, 1]
    >>> float(round(ct.measures.ece(probs, labels, bins=2), 3))  # |1/2 - 0.2| / 2 + |1 - 0.8| / 2
    0.25
    """
    measure = ECE(
        binning=binning, bins=bins, min_size=min_size, max_bins=max_bins, distance=distance, p=p
    )
    return measure.evaluate(probs, labels, lens, n_jobs)
