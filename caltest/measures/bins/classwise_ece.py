"""Classwise expected calibration error, Kull et al. 2019."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from caltest import checks
from caltest.measures.base import Measure
from caltest.measures.binning import check_power, event_cuts
from caltest.measures.bins.errors import BINS, BinMean, flipped_bins, row_gaps, table_sums
from caltest.measures.bound import BoundMeasure
from caltest.measures.of_units import RowStatistic
from caltest.measures.outcome import Gaps
from caltest.measures.residual_sums import Flippable
from caltest.numerics.bins import uniform_bins
from caltest.numerics.labels import label_dtype
from caltest.numerics.loops import njit
from caltest.predictions.options import Measured
from caltest.types import Floats, Labels
from caltest.units import RowUnits, Statistic, UnitSums

if TYPE_CHECKING:
    from caltest.lenses import Lens
    from caltest.predictions import Predictions

__all__ = ["ClasswiseECE", "classwise_ece"]


BINNINGS = ("uniform", "quantile")


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

    binning: str = "uniform"
    bins: int = 15
    p: float = 1

    key: ClassVar[str] = "classwise-ece"
    largest: ClassVar[float] = 1.0
    title: ClassVar[str] = "classwise expected calibration error"
    drawn_as: ClassVar[str] = "reliability"
    convex_notes: ClassVar[tuple[str, ...]] = (BINS,)

    def __post_init__(self) -> None:
        checks.check_choice(self.binning, BINNINGS, "binning")
        checks.check_integer(self.bins, "bins")
        check_power(self.p)

    @property
    def symbol(self) -> str:
        return "classwise ECE" if self.p == 1 else f"classwise ECE_{self.p:g}"

    needs_rows: ClassVar[str] = (
        "the classes share the label of a row, and cells of several classes do not tell which "
        "rows they share; test='ece' with lens='classwise' tests each class"
    )

    def bind(self, predictions: Predictions) -> BoundMeasure:
        sums = ClasswiseBins(predictions, self)
        parameters = {"binning": self.binning, "bins": self.bins}
        found = Statistic(units=sums.units, sums=sums, value=np.asarray, parameters=parameters)
        return RowStatistic(found)

    def residual_statistics(self, predictions: Predictions) -> Flippable:
        """Return the mean over classes of the errors, a function of the sums in their bins."""
        return [flipped_bins(predictions, *ClasswiseBins(predictions, self).bins)]

    @property
    def intervals(self) -> tuple[str, ...]:
        return ("convex", *super().intervals)

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the gaps of the bins of each class, which are held fixed."""
        return row_gaps(predictions, *ClasswiseBins(predictions, self).bins)


class ClasswiseBins(UnitSums):
    """Bins of the probabilities of each class, a table for each."""

    def __init__(self, predictions: Predictions, measure: ClasswiseECE) -> None:
        super().__init__(RowUnits(predictions))
        probs, bins, weight = predictions.probs, measure.bins, predictions.sample_weight
        codes, first = np.empty(probs.shape, label_dtype(bins)), bins * np.arange(predictions.m)
        if measure.binning == "uniform":
            uniform_bins(probs, bins, codes)
        else:
            for j, column in enumerate(probs.T):
                codes[:, j] = np.searchsorted(event_cuts(column, weight, bins), column)
        mass, sums = table_sums(predictions, codes, first, bins * first.size)
        mean = sums / np.where(mass > 0.0, mass, 1.0)[:, None]
        # The bin of every probability, (n, m), and the power means of each class.
        self.bins = codes, BinMean(mass, mass, mean, "tv", float(measure.p), first)

    def redrawn(self, observed: Labels) -> Floats:
        """Return the mean over the classes of their errors, (B, 1)."""
        codes, mean = self.bins
        counts = class_counts(observed, self.units.scale, codes, mean.mass.size // mean.first.size)
        distances = mean.event_distances(counts.reshape(len(observed), -1))
        return np.asarray(mean.errors(distances).mean(axis=1, keepdims=True))


def classwise_ece(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    binning: str = "uniform",
    bins: int = 15,
    p: float = 1,
    **rows: Unpack[Measured],
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
    return measure.evaluate(probs, labels, lens, **rows)
