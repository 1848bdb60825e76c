"""Histogram binning, Zadrozny, Elkan 2001."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from caltest.calibrators.base import BinaryCalibrator, Coefficient
from caltest.calibrators.inputs import Inputs
from caltest.checks import check_choice, check_integer
from caltest.numerics.bins import bin_of, quantile_cuts, uniform_sums
from caltest.numerics.loops import njit
from caltest.numerics.ordered import distinct_scores, moderate_weight
from caltest.types import Flags, Floats

__all__ = ["HistogramBinning"]

BINNINGS = ("uniform", "quantile")


EMPTY = ("midpoint", "zero")


@dataclass(kw_only=True, eq=False, repr=False)
class HistogramBinning(BinaryCalibrator):
    r"""Histogram binning: the frequency of the event in bins of the score.

    .. math:: \hat\mu(p) = \frac{\sum_{i: p_i \in I_k} w_i y_i}{\sum_{i: p_i \in I_k} w_i}
        \quad \text{for } p \in I_k,

    with bins right-closed and 0 in the first. Bins of equal width are
    :math:`I_k = ((k - 1) / B, k / B]`. Bins of equal mass are cut at the smallest scores up to
    which k / B of the weight lies, so that ties are never split and there may be fewer of them.
    Frequencies of 0 and 1 stay as they are. The map need not be monotone.

    Parameters
    ----------
    bins : int, default 15
        Number of bins B.
    binning : {"uniform", "quantile"}, default "uniform"
        Bins of equal width or of equal mass.
    empty : {"midpoint", "zero"}, default "midpoint"
        Value of a bin without observations: the middle of the bin, which is about what the model
        predicted, or 0 as in the programs of Kull et al. (2019). Only bins of equal width can be
        empty.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length 2, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 and 1.

    Attributes
    ----------
    edges_ : (B + 1,) array
        Ends of the bins, from 0 to 1.
    values_ : (B,) array
        Calibrated probability in each bin.
    counts_ : (B,) array
        Sum of the weights in each bin, without weights the number of observations. Weights of
        which the largest is beyond 1e60 or below 1e-60 are scaled to that size.

    References
    ----------
    Zadrozny, Elkan (2001), Obtaining calibrated probability estimates from decision trees and naive
    Bayesian classifiers, ICML, section 4.2.

    Examples
    --------
    >>> from caltest.calibrators import HistogramBinning
    >>> binning = HistogramBinning(bins=2).fit([0.1, 0.2, 0.3, 0.6, 0.8], [0, 0, 1, 1, 1])
    >>> binning.values_
    array([0.33333333, 1.        ])
    """

    key: ClassVar[str] = "histogram"
    title: ClassVar[str] = "Histogram binning"

    bins: int = 15
    binning: str = "uniform"
    empty: str = "midpoint"

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        bins = check_integer(self.bins, "bins")
        binning = check_choice(self.binning, BINNINGS, "binning")
        empty = check_choice(self.empty, EMPTY, "empty")
        if binning == "uniform":
            edges = np.arange(bins + 1) / bins
            mass, events = uniform_bin_sums(inputs.event, event, weight, bins)
        else:
            cuts, mass, events = quantile_bin_sums(inputs.event, event, weight, bins)
            edges = np.concatenate([[0.0], cuts, [1.0]])
        blank = (edges[1:] + edges[:-1]) / 2 if empty == "midpoint" else np.zeros(len(mass))
        self.edges_ = edges
        self.values_ = np.divide(events, mass, out=blank, where=mass > 0)
        self.counts_ = mass

    def _event(self, inputs: Inputs) -> Floats:
        bins = len(self.values_)
        if np.array_equal(self.edges_, np.arange(bins + 1) / bins):
            return look_up_uniform(inputs.event, self.values_)
        return look_up(inputs.event, self.edges_[1:-1], self.values_)

    def coefficients(self) -> Sequence[Coefficient]:
        """Return the value of each bin, with its binomial standard error where it is not 0 or 1.

        Returns
        -------
        sequence of Coefficient
            Named by the bins; those without observations have no standard error.
        """
        ends = _distinct_texts(self.edges_)
        names = [f"({low}, {high}]" for low, high in pairwise(ends)]
        names[0] = f"[0, {ends[1]}]"
        free = (self.counts_ > 0) & (self.values_ > 0) & (self.values_ < 1)
        variance = self.values_ * (1 - self.values_)
        errors = np.sqrt(np.divide(variance, self.counts_, out=variance, where=free)).tolist()
        counts = [n if has else None for n, has in zip(self.counts_.tolist(), free, strict=True)]
        rows = zip(names, self.values_.tolist(), errors, counts, strict=True)
        return [Coefficient(name, v, err if n else None, n=n) for name, v, err, n in rows]


def _distinct_texts(values: Floats) -> list[str]:
    """Write numbers with as many digits as tell them apart, at least 4."""
    for digits in (4, 8, 12):
        texts = [f"{value:.{digits}g}" for value in values]
        if len(set(texts)) == len(np.unique(values)):
            return texts
    return [f"{value:.17g}" for value in values]


def uniform_bin_sums(
    score: Floats, event: Flags, weight: Floats | None, bins: int
) -> tuple[Floats, Floats]:
    """Return the weight of the rows and of the events in each of `bins` bins of equal width."""
    scaled = None if weight is None else moderate_weight(weight)
    sums = uniform_sums(score, event.astype(np.int64), scaled, bins)
    return sums[:, 0], sums[:, 2]


def quantile_bin_sums(
    score: Floats, event: Flags, weight: Floats | None, bins: int
) -> tuple[Floats, Floats, Floats]:
    """Return the cuts between at most `bins` bins of equal mass, and the sums in the bins."""
    values, mass, events = distinct_scores(score, event, weight)
    cuts = quantile_cuts(values, mass, bins)
    starts = np.concatenate([[0], np.searchsorted(values, cuts, side="right")])
    return cuts, np.add.reduceat(mass, starts), np.add.reduceat(events, starts)


@njit()
def look_up_uniform(score: Floats, values: Floats) -> Floats:
    """Return the value of the bin of equal width in which each score lies."""
    out = np.empty(score.size)
    for i in range(score.size):
        out[i] = values[bin_of(score[i], float(values.size))]
    return out


def look_up(score: Floats, cuts: Floats, values: Floats) -> Floats:
    """Return values[k] for scores in (cuts[k - 1], cuts[k]]; there are len(cuts) + 1 values."""
    return np.asarray(values[np.searchsorted(cuts, score)])
