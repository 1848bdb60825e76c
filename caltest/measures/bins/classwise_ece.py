"""Classwise expected calibration error, Kull et al. 2019."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.measures.base import BoundMeasure, Measure
from caltest.measures.binning import check_power, event_cuts
from caltest.measures.bins.gaps import BINS, class_gaps
from caltest.measures.outcome import Gaps
from caltest.measures.residual_sums import CellSums, ResidualStatistic, residuals
from caltest.numerics.bins import add_power, bin_of, power_root, uniform_bins
from caltest.numerics.labels import label_dtype
from caltest.numerics.loops import njit

if TYPE_CHECKING:
    from caltest.lenses import Lens
    from caltest.predictions import Predictions

__all__ = ["ClasswiseECE", "classwise_ece"]


Floats = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger]
Labels = NDArray[np.unsignedinteger]
BINNINGS = ("uniform", "quantile")


@njit()
def uniform_class_sums(probs: Floats, weight: Floats | None, bins: int) -> tuple[Floats, Floats]:
    """Return weight and weighted probability in each class and bin of equal width, (m, bins)."""
    n, m = probs.shape
    sums = np.zeros((m, bins, 2))  # side by side, so that a probability touches one cache line
    for i in range(n):
        w = 1.0
        if weight is not None:
            w = weight[i]
        for j in range(m):
            k = np.uint64(bin_of(probs[i, j], float(bins)))
            sums[j, k, 0] += w
            sums[j, k, 1] += w * probs[i, j]
    return sums[:, :, 0].copy(), sums[:, :, 1].copy()


@njit()
def coded_class_sums(
    probs: Floats, weight: Floats | None, codes: Codes, bins: int
) -> tuple[Floats, Floats]:
    """Return the same for bins that `codes` (n, m) tells."""
    n, m = probs.shape
    mass, event = np.zeros((m, bins)), np.zeros((m, bins))
    for i in range(n):
        w = 1.0
        if weight is not None:
            w = weight[i]
        for j in range(m):
            mass[j, codes[i, j]] += w
            event[j, codes[i, j]] += w * probs[i, j]
    return mass, event


@njit()
def class_errors(
    labels: Labels, weight: Floats | None, codes: Codes, mass: Floats, event: Floats, power: float
) -> Floats:
    """Return the mean over classes of the power means over bins, for each row of `labels` (B, n).

    The labels of a row are redrawn together and counted one by one: the classes share them.
    """
    out = np.empty(labels.shape[0])
    for b in range(labels.shape[0]):
        counts = np.zeros(mass.shape)
        for i in range(labels.shape[1]):
            j = labels[b, i]
            if weight is None:
                counts[j, codes[i, j]] += 1.0
            else:
                counts[j, codes[i, j]] += weight[i]
        out[b] = mean_class_error(counts, mass, event, power)
    return out


@njit()
def mean_class_error(counts: Floats, mass: Floats, event: Floats, power: float) -> float:
    """Return the mean over classes of (sum_k share_k |label - prediction|^power)^(1/power).

    `counts` (m, bins) are the weighted labels in each class and bin.
    """
    m, bins = mass.shape
    n = float(mass[0].sum())
    total = 0.0
    for j in range(m):
        error = largest = 0.0
        for k in range(bins):
            if mass[j, k] > 0.0:
                gap = abs(counts[j, k] - event[j, k]) / mass[j, k]
                error, largest = add_power(error, largest, mass[j, k] / n, gap, power)
        total += power_root(error, largest, power)
    return float(total / m)


@njit()
def uniform_label_counts(probs: Floats, labels: Labels, weight: Floats | None, bins: int) -> Floats:
    """Return the weighted labels in each class and bin of equal width, (m, bins)."""
    counts = np.zeros((probs.shape[1], bins))
    for i in range(labels.size):
        j = labels[i]
        w = 1.0
        if weight is not None:
            w = weight[i]
        counts[j, bin_of(probs[i, j], float(bins))] += w
    return counts


@dataclass(frozen=True, kw_only=True)
class ClasswiseECE(Measure):
    """The classwise ECE with its bins; see `classwise_ece` for the parameters."""

    binning: str = "uniform"
    bins: int = 15
    p: float = 1

    key: ClassVar[str] = "classwise-ece"
    largest: ClassVar[float] = 1.0
    title: ClassVar[str] = "classwise expected calibration error"

    def __post_init__(self) -> None:
        validation.check_choice(self.binning, BINNINGS, "binning")
        validation.check_integer(self.bins, "bins")
        check_power(self.p)

    @property
    def symbol(self) -> str:
        return "classwise ECE" if self.p == 1 else f"classwise ECE_{self.p:g}"

    @property
    def needs_rows(self) -> str:
        return (
            "the classes share the label of a row, and cells of several classes do not tell which "
            "rows they share; test='ece' with lens='classwise' tests each class"
        )

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        return ClasswiseError(self, predictions)

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the mean over classes of the errors, a function of the sums in their bins."""
        bound = ClasswiseError(self, predictions)
        mass, m = bound.sums[0], predictions.m
        share, inside = mass / mass[0].sum(), np.where(mass > 0, mass, 1.0)

        def function(sums: Floats) -> Floats:
            means = np.abs(sums.reshape(-1, m, self.bins)) / inside
            if bound.power == np.inf:
                return np.asarray(means.max(axis=2).mean(axis=1))
            powers = np.einsum("bmk,mk->bm", means**bound.power, share)
            return np.asarray((powers ** (1.0 / bound.power)).mean(axis=1))

        def squares(sums: Floats) -> Floats:
            return np.asarray(np.square(sums) @ (1.0 / inside.ravel()))

        cells = bound.codes.astype(np.int64) + np.arange(m) * self.bins
        found = CellSums(cells, residuals(predictions), m * self.bins, function)
        if bound.power < np.inf:
            found.quadratic = replace(found, function=squares)
        return [found]

    @property
    def intervals(self) -> tuple[str, ...]:
        return ("convex", *super().intervals)

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the gaps of the bins of each class, which are held fixed."""
        codes = ClasswiseError(self, predictions).codes
        return class_gaps(predictions, codes, self.bins, float(self.p))

    def interval_notes(self, method: str, n: int) -> tuple[str, ...]:
        return (BINS,) if method == "convex" else ()

    def plot_kind(self, m: int) -> str:
        return "reliability"


class ClasswiseError(BoundMeasure):
    """The mean of the ECE of each class against the rest."""

    def __init__(self, measure: ClasswiseECE, predictions: Predictions) -> None:
        super().__init__(predictions)
        self.measure, self.power = measure, float(measure.p)
        self.weight = predictions.sample_weight
        self.parameters = {"binning": measure.binning, "bins": measure.bins}

    @cached_property
    def codes(self) -> Codes:
        """The bin of every probability, (n, m)."""
        probs, bins = self.predictions.probs, self.measure.bins
        codes = np.empty(probs.shape, label_dtype(bins))
        if self.measure.binning == "uniform":
            uniform_bins(probs, bins, codes)
            return codes
        for j, column in enumerate(probs.T):
            codes[:, j] = np.searchsorted(event_cuts(column, self.weight, bins), column)
        return codes

    @cached_property
    def sums(self) -> tuple[Floats, Floats]:
        """Weight and weighted probability in each class and bin, (m, bins)."""
        probs, bins = self.predictions.probs, self.measure.bins
        if self.measure.binning == "uniform":
            sums = uniform_class_sums(probs, self.weight, bins)
        else:
            sums = coded_class_sums(probs, self.weight, self.codes, bins)
        return sums[0], sums[1]

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        bins = (self.codes, *self.sums, self.power)
        return np.asarray(class_errors(labels, self.weight, *bins))

    def value(self, n_jobs: int | None = None) -> float:
        """Return the error; where bins have equal width, without a table of bins."""
        if self.measure.binning != "uniform":
            return super().value(n_jobs)
        p = self.predictions
        rows = (p.probs, self.observed, self.weight)
        counts = uniform_label_counts(*rows, self.measure.bins)
        return float(mean_class_error(counts, *self.sums, self.power))


def classwise_ece(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    binning: str = "uniform",
    bins: int = 15,
    p: float = 1,
    n_jobs: int | None = None,
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
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    return ClasswiseECE(binning=binning, bins=bins, p=p).evaluate(probs, labels, lens, n_jobs)
