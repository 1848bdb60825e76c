"""The expected and the maximum calibration error (ECE, MCE), and the ECE of each class."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Unpack, cast

import numpy as np

from caltest import checks
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.binning import Cells, event_cuts, quantile_cells, split_cells, uniform_cells
from caltest.measures.bins import errors
from caltest.measures.bins.errors import BinMean, BinnedCells, BinnedRows, Bins, Distance
from caltest.measures.bound import BoundMeasure, RowStatistic
from caltest.measures.fits import fitted
from caltest.measures.outcome import Gaps
from caltest.measures.residual_sums import Flippable
from caltest.numerics.bins import power_means, uniform_bins
from caltest.numerics.event_tails import rate_limits
from caltest.numerics.labels import label_dtype
from caltest.numerics.loops import frozen, njit
from caltest.predictions import Measured, Predictions, check_names
from caltest.types import Floats, Ints, Labels
from caltest.units import CellUnits, Norm, RowUnits, Statistic, Units
from caltest.units.units import SortedRowUnits, check_one_dimension, check_unweighted

__all__ = ["ECE", "confidence_ece", "ece", "ClasswiseECE", "classwise_ece", "MCE", "mce"]  # noqa: RUF022

BINNINGS = ("uniform", "quantile", "median-variance")
NAMES = {
    "tv": "total variation",
    "cityblock": "city-block distance",
    "sqeuclidean": "squared Euclidean distance",
}
OF_VECTORS = (
    "it is the error of whole vectors, all classes together; that of most papers, of the "
    "confidence, is lens='confidence'"
)
WORST = (
    "the error is that of the worst bin: where that has few rows, the interval reaches as far as "
    "these allow; a bin without rows is not counted"
)


@dataclass(frozen=True, kw_only=True)
class BinErrors(Measure):
    """A power mean over bins of a distance of labels to predictions; see `ece` for the options."""

    binning: str = checks.option("uniform", checks.one_of(BINNINGS))
    bins: int = checks.option(15, checks.check_count)
    min_size: int = checks.option(10, checks.check_integer)
    max_bins: int | None = checks.option(None, checks.optional(checks.check_integer))

    drawn_as: ClassVar[str] = "reliability"
    p: ClassVar[float] = 1.0  # the power of the mean over bins
    root: ClassVar[bool] = False  # whether the error is the root of the mean
    parameters: ClassVar[Mapping[str, object]] = {}  # options printed besides those of the bins

    @property
    @abstractmethod
    def distance(self) -> Distance:
        """The distance of the mean label of a bin to its mean prediction."""

    @property
    def binning_parameters(self) -> Mapping[str, object]:
        """The options of the binning that is used."""
        own = {"bins": self.bins}
        if self.binning == "median-variance":
            limits = {"min_size": self.min_size, "max_bins": self.max_bins}
            own = {name: limit for name, limit in limits.items() if limit is not None}
        return {"binning": self.binning, **own}

    @property
    def cell_bins(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.bins,) if self.binning == "uniform" else ()

    def cells(self, predictions: Predictions) -> Cells:
        """Return the number of the bin of each row, and how many bins are occupied."""
        if self.binning == "uniform":
            return uniform_cells(predictions, self.bins)
        if self.binning == "quantile":
            return quantile_cells(predictions, self.bins)
        return split_cells(predictions, self.min_size, self.max_bins)

    def mean(self, mass: Floats, squares: Floats, mean: Floats, first: Ints) -> BinMean:
        """Return the mean over tables of bins with these weights, squares and predictions."""
        given = mass, squares, mean, self.distance, float(self.p), first
        return BinMean(*given, is_root=self.root)

    def bin_notes(self, mean: BinMean) -> tuple[str, ...]:
        """Return what a reader should know of the bins."""
        return ()

    def unseen(self, bins: Bins, a: float) -> float:
        """Return how much larger the error of the bins may be unseen; see `unseen_reach`."""
        return 0.0

    def takes(self, form: str) -> bool:
        only_rows = self.binning != "uniform" if form == "cells" else self.binning == "sweep"
        return form == "rows" or not (only_rows or callable(self.distance))

    def rows(self, predictions: Predictions) -> BinnedRows:
        return BinnedRows(counted(predictions), self)

    def statistic(self, units: Units) -> Statistic:
        sums = self.sums(units)
        mean, norm = sums.mean, None
        if isinstance(sums.units, BinnedCells) and mean.is_norm:  # of rows, see `gaps`
            each = sums.units.bin_sums
            norm = Norm(lambda gaps, mass: mean.gaps(each(mass), each(gaps)), mean.norm)
        bins, classes = mean.mean.shape
        occupied = {"occupied bins": bins} if classes > 2 else {}
        return Statistic(
            sums=sums,
            value=mean.errors,
            scale=units.rounding,
            parameters={**self.binning_parameters, **occupied, **self.parameters},
            notes=self.bin_notes(mean) if units.is_alone else (),
            error=lambda: 0.0,
            norm=norm,
            unseen=partial(self.unseen, sums),
            blind=np.add.reduceat(mean.share != 0, mean.first) == 0,
        )

    def sums(self, units: Units) -> Bins:
        """Return the bins of units, which do not depend on the labels."""
        if isinstance(units, CellUnits):
            return Bins(BinnedCells(units, self))
        return Bins(units)

    def residual_statistics(self, predictions: Predictions) -> Flippable:
        """Return the error over the bins as a function of their sums of residuals."""
        if not self.takes("clusters"):
            return super().residual_statistics(predictions)
        sums, weight = self.sums(self.rows(predictions)), predictions.sample_weight
        self.bin_notes(sums.mean)
        codes = np.zeros((predictions.n, 1), np.int64)
        codes[slice(None) if weight is None else weight > 0] = cast("BinnedRows", sums.units).codes
        return [errors.flipped_bins(predictions, codes, sums.mean)]

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the gaps of the bins, which are held fixed."""
        sums = self.sums(BinnedRows(predictions, self))
        return errors.row_gaps(predictions, cast("BinnedRows", sums.units).codes, sums.mean)

    def unseen_reach(self, predictions: Predictions, a: float) -> float:
        return self.unseen(self.sums(self.rows(predictions)), a)


def counted(predictions: Predictions) -> Predictions:
    """Return the rows that count: others take no part in the choice of the bins either."""
    weight = predictions.sample_weight
    if weight is None or weight.all():
        return predictions
    return predictions.without(weight == 0)


def check_distance(distance: object, name: str) -> object:
    """Check a distance: one that has a name here, or a function."""
    return distance if callable(distance) else checks.check_choice(distance, tuple(NAMES), name)


@dataclass(frozen=True, kw_only=True)
class DistanceErrors(BinErrors):
    """A power mean over bins of a distance of the user's choice."""

    binning: str = checks.option("uniform", checks.one_of((*BINNINGS, "sweep")))
    distance: Distance = checks.option("tv", check_distance)

    convex_notes: ClassVar[tuple[str, ...]] = (errors.BINS,)
    largest: ClassVar[float] = 1.0

    @property
    def parameters(self) -> Mapping[str, object]:  # type: ignore[override]
        if callable(self.distance):
            return {"distance": getattr(self.distance, "__name__", "custom distance")}
        return {"distance": NAMES[self.distance]}

    def bin_notes(self, mean: BinMean) -> tuple[str, ...]:
        """Return which error of several classes it is."""
        return (OF_VECTORS,) if mean.mean.shape[1] > 2 else ()

    def statistic(self, units: Units) -> Statistic:
        if self.binning == "sweep":
            predictions = cast("RowUnits", units).predictions
            check_one_dimension(predictions, "binning='sweep'")
            check_unweighted(units, "binning='sweep'", "use binning='quantile'")
            return sweep_statistic(self, SortedRowUnits(predictions))
        return super().statistic(units)

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the error in one bin, which too few rows for two bins of the least size are."""
        return replace(self, binning="uniform", bins=1)

    @property
    def intervals(self) -> tuple[str, ...]:
        # The bins of a sweep depend on the labels, so that they are others for other rows.
        is_norm = self.binning != "sweep" and self.distance in errors.NORMS
        return ("convex", *super().intervals) if is_norm else super().intervals


def sweep_statistic(measure: DistanceErrors, units: SortedRowUnits) -> Statistic:
    """Return the error in bins of equal mass, as many as keep the mean labels monotone.

    They are found anew for any labels.
    """
    starts, ends = tie_runs(units.mean)

    def values(labels: Labels) -> Floats:
        """Return the errors (B,)."""
        bins = sweep_counts(labels, starts, ends)
        size, expected, events = sweep_sums(labels, bins, ends, units.mean)
        inside = np.maximum(size, 1.0)
        y, p = (sums[..., None] / inside[..., None] for sums in (events, expected))
        of = measure.mean(size[0], size[0], p[0], np.zeros(1, np.int64))
        if callable(of.distance):
            lengths, both = np.zeros_like(size), [np.append(1.0 - q, q, axis=-1) for q in (p, y)]
            for row, used, *means in zip(lengths, size > 0.0, *both, strict=True):
                row[used] = errors.row_distances(of.distance, *(mean[used] for mean in means))
        else:
            lengths = of.lengths(y - p)
        return power_means(lengths, size / units.rows, of.power, of.first)[:, 0]

    bins = int(sweep_counts(units.observed[None], starts, ends)[0])
    parameters = {"binning": "sweep", "bins": bins, **measure.parameters}
    return fitted(units, values, scale=1.0, parameters=parameters)


def tie_runs(values: Floats) -> tuple[Ints, Ints]:
    """Return, for each of the sorted `values`, where the run of equal values starts and ends."""
    first = np.append(True, values[1:] != values[:-1])
    bounds = np.append(np.flatnonzero(first), values.size)
    run = np.cumsum(first) - 1
    return bounds[run], bounds[run + 1]


@njit(inline="always")
def cut(k: int, bins: int, ends: Ints) -> int:
    """Return where the first k of `bins` bins of equal mass end; ties stay in the lower bin."""
    if k == 0:
        return 0
    return int(ends[-(-k * ends.size // bins) - 1])


@njit()
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


@njit()
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


@njit()
def sweep_sums(labels: Labels, bins: Ints, ends: Ints, event: Floats) -> Floats:
    """Return the rows, expected events and events (3, B, K) of as many bins as `bins` (B,) tells.

    Bins that ties leave empty, and those from `bins` on, have no rows.
    """
    out = np.zeros((3, labels.shape[0], bins.max()))
    for b in range(labels.shape[0]):
        start = 0
        for k in range(1, bins[b] + 1):
            end = cut(k, bins[b], ends)
            events, expected = np.int64(0), 0.0
            for i in range(start, end):
                events += np.int64(labels[b, i])
                expected += event[i]
            out[0, b, k - 1], out[1, b, k - 1], out[2, b, k - 1] = end - start, expected, events
            start = end
    return out


@dataclass(frozen=True, kw_only=True)
class ECE(DistanceErrors):
    """The ECE with its bins and distance; see `ece` for the parameters."""

    p: float = checks.option(1, checks.check_power)  # type: ignore[misc]  # an option here

    key, title = "ece", "expected calibration error"

    @property
    def symbol(self) -> str:
        return "ECE" if self.p == 1 else f"ECE_{self.p:g}"

    @property
    def bounds_mean_gap(self) -> bool:  # type: ignore[override]
        return self.distance in errors.NORMS

    def mean_gap_tables(self, predictions: Predictions) -> Sequence[Floats]:
        if predictions.m == 2 or not self.bounds_mean_gap:
            return super().mean_gap_tables(predictions)
        rows, scale = BinnedRows(predictions, self), errors.NORMS[str(self.distance)]
        return errors.gap_tables(predictions, rows.codes, self.sums(rows).mean, scale)


def ece(
    probs: object,
    labels: object = None,
    *,
    binning: str = "uniform",
    bins: int = 15,
    min_size: int = 10,
    max_bins: int | None = None,
    distance: Distance = "tv",
    p: float = 1,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute the ECE of whole vectors, all classes together; most papers mean `confidence_ece`.

    It is the mean distance of labels to predictions in bins.

    With the mean prediction :math:`\bar p_b` and the mean unit vector of the labels
    :math:`\bar y_b` of the :math:`n_b` observations in bin b,

    .. math:: ECE_p = \Big(\sum_b \frac{n_b}{n} d(\bar y_b, \bar p_b)^p\Big)^{1/p}.

    For two classes it is that of P(class 1). For more, the confidence-ECE of the machine-learning
    papers, the mean of `|accuracy - confidence|`, is another and most often smaller number:
    `confidence_ece`, or lens="confidence" (the total variation distance of two binary distributions
    is the distance of their events). Class-j-ECE is lens=Classwise(j), and "classwise" gives all of
    them.

    A calibrated model has a positive ECE too, which grows with the number of bins; the test "ece"
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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

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
    return measure.evaluate(probs, labels, **rows)


def confidence_ece(
    probs: object,
    labels: object = None,
    *,
    binning: str = "uniform",
    bins: int = 15,
    p: float = 1,
    **rows: Unpack[Measured],
) -> float | Floats:
    r"""Compute the ECE of most papers, the mean of `|accuracy - confidence|` in bins of confidence.

    .. math:: ECE = \sum_b \frac{n_b}{n} |acc_b - conf_b|

    with the share :math:`acc_b` of right predictions in bin b and their mean confidence
    :math:`conf_b`, the largest probability of a row: `ece` with lens="confidence".

    Parameters
    ----------
    probs, labels : array_like
        As for `ece`. Of two classes, too, the confidence is the larger probability.
    binning, bins, p : optional
        As for `ece`.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger (2017), On calibration of modern neural networks, ICML, equations 2
    and 3; Naeini, Cooper, Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI (of two classes).

    Examples
    --------
    >>> import caltest as ct
    >>> probs, labels = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], [0, 1]
    >>> float(round(ct.measures.confidence_ece(probs, labels), 3))  # (|1 - 0.7| + |0 - 0.6|) / 2
    0.45
    """
    check_names(rows, Measured, confidence_ece)
    measure = ECE(binning=binning, bins=bins, p=p)
    return measure.evaluate(probs, labels, lens="confidence", **rows)


@dataclass(frozen=True, kw_only=True)
class MCE(DistanceErrors):
    """The MCE with its bins and distance; see `mce` for the parameters."""

    key, title, symbol = "mce", "maximum calibration error", "MCE"
    p: ClassVar[float] = math.inf
    convex_notes: ClassVar[tuple[str, ...]] = (errors.BINS, WORST)

    def unseen(self, bins: Bins, a: float) -> float:
        if self.distance != "tv" or self.binning == "sweep":
            return 0.0
        farthest = max(  # of the differences of mean prediction and rate that a bin allows
            float(np.abs(limit - expected / size).max())
            for events, expected, size in bins.units.counts()
            for limit in rate_limits(events, size, a)
        )
        return max(farthest - float(bins.mean.errors(bins.observed())[0, 0]), 0.0)


def mce(
    probs: object,
    labels: object = None,
    *,
    binning: str = "uniform",
    bins: int = 15,
    min_size: int = 10,
    max_bins: int | None = None,
    distance: Distance = "tv",
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute the MCE of whole vectors, all classes together; most papers mean lens="confidence".

    It is the largest distance of labels to predictions in bins.

    .. math:: MCE = \max_b d(\bar y_b, \bar p_b),

    over the occupied bins: `ece` with an infinite power. A bin with few observations can decide it,
    so that it means little without its null distribution (the test "mce").

    Parameters
    ----------
    probs, labels : array_like
        As for `ece`.
    lens : str or Lens
        As for `ece`.
    binning, bins, min_size, max_bins, distance : optional
        As for `ece`.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of the distance.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If "quantile" or "sweep" meet more than two classes, or there are fewer than `min_size`
        observations.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI; Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for
    classification, AISTATS, equation 1 with p infinite.

    Examples
    --------
    >>> import caltest as ct
    >>> float(round(ct.measures.mce([0.1, 0.3, 0.7, 0.9], [0, 1, 1, 1], bins=2), 3))
    0.3
    """
    measure = MCE(
        binning=binning, bins=bins, min_size=min_size, max_bins=max_bins, distance=distance
    )
    return measure.evaluate(probs, labels, **rows)


@njit()
def class_counts(labels: Labels, weight: Floats, codes: Labels, bins: int) -> Floats:
    """Return the weighted labels in each class and bin for each row of `labels`, (B, m, bins).

    The labels of a row are redrawn together and counted one by one: the classes share them.
    """
    counts = np.zeros((labels.shape[0], codes.shape[1], bins))
    for b in range(labels.shape[0]):
        for i in range(labels.shape[1]):
            j = labels[b, i]
            counts[b, j, codes[i, j]] += weight[i]
    return counts


@dataclass(frozen=True, kw_only=True)
class ClasswiseECE(Measure):
    """The classwise ECE with its bins; see `classwise_ece` for the parameters."""

    binning: str = checks.option("uniform", checks.one_of(BINNINGS[:2]))
    bins: int = checks.option(15, checks.check_count)
    p: float = checks.option(1, checks.check_power)

    key, title = "classwise-ece", "classwise expected calibration error"
    largest: ClassVar[float] = 1.0
    bounds_mean_gap: ClassVar[bool] = True
    intervals: ClassVar[tuple[str, ...]] = ("convex", "plug-in", "bca")
    drawn_as: ClassVar[str] = "reliability"
    convex_notes: ClassVar[tuple[str, ...]] = (errors.BINS,)

    @property
    def symbol(self) -> str:
        return "classwise ECE" if self.p == 1 else f"classwise ECE_{self.p:g}"

    needs_rows: ClassVar[str] = (
        "the classes share the label of a row, and cells of several classes do not tell which "
        "rows they share; test='ece' with lens='classwise' tests each class"
    )

    def bind(self, predictions: Predictions) -> BoundMeasure:
        units, (codes, mean) = RowUnits(predictions), class_bins(predictions, self)
        bins = mean.mass.size // predictions.m

        def values(labels: Labels) -> Floats:
            """Return the mean over the classes of their errors, (B,)."""
            counts = class_counts(labels, units.scale, codes, bins).reshape(len(labels), -1)
            distances = mean.event_distances(counts)
            return np.asarray(mean.errors(distances).mean(axis=1))

        parameters = {"binning": self.binning, "bins": self.bins}
        return RowStatistic(fitted(units, values, scale=1.0, parameters=parameters))

    def residual_statistics(self, predictions: Predictions) -> Flippable:
        """Return the mean over classes of the errors, a function of the sums in their bins."""
        return [errors.flipped_bins(predictions, *class_bins(predictions, self))]

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the gaps of the bins of each class, which are held fixed."""
        return errors.row_gaps(predictions, *class_bins(predictions, self))

    def mean_gap_tables(self, predictions: Predictions) -> Sequence[Floats]:
        if predictions.m == 2:
            return super().mean_gap_tables(predictions)
        return errors.gap_tables(predictions, *class_bins(predictions, self), 1.0 / predictions.m)


def class_bins(predictions: Predictions, measure: ClasswiseECE) -> tuple[Labels, BinMean]:
    """Return the bin of every probability, (n, m), and the power means, a table for each class."""
    probs, bins, weight = predictions.probs, measure.bins, predictions.sample_weight
    codes, first = np.empty(probs.shape, label_dtype(bins)), bins * np.arange(predictions.m)
    if measure.binning == "uniform":
        uniform_bins(frozen(probs), bins, codes)
    else:
        for j, column in enumerate(probs.T):
            codes[:, j] = np.searchsorted(event_cuts(column, weight, bins), column)
    mass, sums = errors.table_sums(predictions, codes, first, bins * first.size)
    mean = sums / np.where(mass > 0.0, mass, 1.0)[:, None]
    return codes, BinMean(mass, mass, mean, "tv", float(measure.p), first)


def classwise_ece(
    probs: object,
    labels: object = None,
    *,
    binning: str = "uniform",
    bins: int = 15,
    p: float = 1,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute the classwise expected calibration error, the mean of the ECE of every class.

    With B_ij the observations whose probability of class j lies in bin i,

    .. math:: \frac{1}{m} \sum_j \Big(\sum_i \frac{|B_{ij}|}{n}
        |y_j(B_{ij}) - \hat p_j(B_{ij})|^p\Big)^{1/p},

    where :math:`y_j` is the part of class j and :math:`\hat p_j` the mean of its probabilities.
    Class-j-ECE itself is `ece` with lens=Classwise(j), all of them lens="classwise".

    p-cw-ECE of Kull et al. is the exact null of the test "classwise-ece" with
    n_resamples=10_000: the part of the resamples whose classwise ECE is as large. The values that
    they print are sums over classes, of bins [k/14, (k + 1)/14) and one for p = 1
    (numpy.digitize(p, numpy.linspace(0, 1, 15))): m times those with bins=14 here, up to
    probabilities that are on an edge.

    Parameters
    ----------
    probs, labels : array_like
        As for `ece`.
    lens : str or Lens
        As for `ece`.
    binning : {"uniform", "quantile"}
        Bins of equal width ((k - 1)/B, k/B], 0 in the first; or of equal mass in each class, where
        ties are never split.
    bins : int, default 15
        B, the number of bins for each class.
    p : float, default 1
        At least 1; infinity gives the mean over classes of the maximum over bins.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability. Sample weights count an observation w_i times.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: Obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration, NeurIPS 32, equation 4.

    Examples
    --------
    >>> import caltest as ct
    >>> probs = [[0.6, 0.4, 0.0], [0.2, 0.3, 0.5]]
    >>> float(round(ct.measures.classwise_ece(probs, [0, 1], bins=1), 3))  # (0.1 + 0.15 + 0.25) / 3
    0.167
    """
    measure = ClasswiseECE(binning=binning, bins=bins, p=p)
    return measure.evaluate(probs, labels, **rows)
