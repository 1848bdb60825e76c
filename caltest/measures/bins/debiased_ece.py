"""The debiased ECE: the squared error over bins without its bias, with a jackknife variance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Unpack

import numpy as np

from caltest.checks import check_flag, option
from caltest.errors import NotApplicable
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.bins.ece import ECE, BinErrors
from caltest.measures.bins.errors import DEBIASED, BinMean, BinnedRows, Bins
from caltest.measures.outcome import Outcome
from caltest.measures.residual_sums import Flippable
from caltest.measures.tolerance import (
    Deviation,
    Tolerance,
    ToleranceTest,
    designated_labels,
    unseen_chance,
)
from caltest.numerics.bins import sort_by_cell
from caltest.numerics.event_tails import FewEvents, both_sides, hidden_deviation, largest_tail
from caltest.predictions import Predictions
from caltest.types import Floats, Ints, Order

__all__ = ["DebiasedECE", "debiased_ece"]


def binned_deviation(units: BinnedRows, *, equivalence: bool) -> Deviation:
    r"""Return the unbiased estimate of the squared error over the bins as they are.

    With :math:`\delta = y - p` it is the mean over the bins, weighted by their rows, of

    .. math:: \frac{1}{n_b (n_b - 1)} \sum_{i \ne j \in b} \delta_i' \delta_j.

    The printed estimate takes away the variance of y; this one that of y - p, so that it is without
    bias where predictions vary within a bin. Its jackknife includes the random sizes of the bins. A
    bin of one row tells nothing: it counts 0 against the hypothesis that the error is small, and
    the square of its residual, at least the error on average, against the one that it is large.

    References
    ----------
    Lee, Huang, Hassani, Dobriban (2023), T-Cal, JMLR 24, equation 7 (the estimator); Efron, Stein
    (1981), The jackknife estimate of variance, Ann. Stat. 9.
    """
    n, delta = units.rows, units.in_order(units.predictions.residuals)
    if units.predictions.m == 2:
        delta = delta[:, 1:]
    value, without, largest = unbiased_bin_errors(delta, units.bins, float(equivalence))
    return Deviation(
        value=value,
        variance=(n - 1) ** 2 / n * float(without.var(ddof=1)),
        degenerate=spread_at_zero(delta, units.bins),
        largest=4.0 * largest / n,
    )


def unseen_in_a_bin(rows: Ints, squared: float, m: int) -> float:
    """Return the largest chance that an error of the tolerance in one of the bins is unseen.

    A share s of labels that ignore the predictions has a squared error of s^2 at most, for more
    than two classes 2 s^2; a bin in which that is too little for the tolerance is passed over.
    """
    largest = 1.0 if m == 2 else 2.0
    shares = np.sqrt(squared * rows.sum() / (largest * rows))
    some = zip(shares, rows, strict=True)
    return max((unseen_chance(float(s), int(n)) for s, n in some if s <= 1), default=0.0)


def _cases_in_bins(
    predictions: Predictions, order: Order, start: Ints, squared: float
) -> Iterator[FewEvents]:
    """Yield too few and too many labels of one kind in all bins, and in each that can have it all.

    A gap g between the mean label and the mean prediction of a share w of the rows is a squared
    error of :math:`w g^2`.
    """
    excess = math.sqrt(squared) * predictions.n
    for own, hits in designated_labels(predictions, excess):
        yield from both_sides(own, hits, excess)
    probs, labels = predictions.probs[order], predictions.labels[order]
    classes = (1,) if predictions.m == 2 else range(predictions.m)
    for first, last in itertools.pairwise(start.tolist()):
        rows = last - first
        gap = math.sqrt(squared * predictions.n / rows)
        for k in classes if gap <= 1 else ():
            own = probs[first:last, k]
            yield from both_sides(own, labels[first:last] == k, rows * gap)


@dataclass(frozen=True, kw_only=True)
class DebiasedECE(ToleranceTest, BinErrors):
    """The debiased squared ECE with its bins; see `debiased_ece` for the parameters."""

    root: bool = option(default=False, check=check_flag)  # type: ignore[misc]  # an option here

    key, title = "debiased-ece", "debiased squared calibration error"
    distance: ClassVar[str] = DEBIASED
    # A resample with its repeated rows is not unbiased.
    intervals: ClassVar[tuple[str, ...]] = ("jackknife", "plug-in", "bca")

    @property
    def symbol(self) -> str:
        return "debiased ECE_2" if self.root else "debiased ECE_2^2"

    @property
    def description(self) -> str:
        return f"root of the {self.title}" if self.root else self.title

    def bin_notes(self, mean: BinMean) -> tuple[str, ...]:
        """Return a note on bins with one observation, which have no share in the mean."""
        singles = np.count_nonzero(mean.share == 0)
        if singles == mean.share.size:
            reason = f"{self.description} needs a bin with two observations, and there is none"
            raise NotApplicable(reason, "use fewer bins, or the test 'ece'")
        if not singles:
            return ()
        left_out = f"{singles} of {mean.share.size} occupied ones"
        return (f"bins with one observation are left out: {left_out}",)

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the plug-in error in the same bins, which needs no second observation."""
        return ECE(**{f.name: getattr(self, f.name) for f in fields(BinErrors)})

    def residual_statistics(self, predictions: Predictions) -> Flippable:
        """Return the squared error over the bins, whose bias flipped signs leave as it is."""
        (statistic,) = super().residual_statistics(predictions)
        statistic.symbol = "ECE_2^2"
        return [statistic]

    @property
    def unrooted(self) -> Measure:
        return replace(self, root=False) if self.root else self

    @property
    def is_squared(self) -> bool:  # type: ignore[override]
        return not self.root

    def unseen(self, bins: Bins, a: float) -> float:
        units = bins.units
        return max(hidden_deviation(*some, units.rows, a) for some in units.counts())

    def tolerance_test(self, predictions: Predictions, tolerance: Tolerance) -> Outcome:
        """Return the normal limit of the error over the bins that are used, seen as given."""
        bound = self.bind(predictions)
        estimate = bound.value()
        rows = self.rows(predictions)
        deviation = binned_deviation(rows, equivalence=tolerance.equivalence)
        squared = tolerance.value**2 if self.root else tolerance.value
        outcome = deviation.limit(bound, tolerance, squared, estimate)
        m, occupied = predictions.m, rows.bins.size - 1
        is_full = self.binning != "uniform" or (m == 2 and occupied == self.bins)
        share = squared / (1.0 if m == 2 else 2.0)
        chance = unseen_chance(share, predictions.n)
        if not tolerance.equivalence or is_full or chance <= outcome.pvalue:
            return outcome
        note = (
            "it is the error of bins that have rows: in a bin that has none, wrong predictions of "
            f"{100 * share:.2g} % of all are unseen with probability {chance:.2g}"
        )
        return replace(outcome, notes=(*outcome.notes, note))

    def boundary_tail(self, predictions: Predictions, tolerance: Tolerance) -> float:
        """Return the largest tail of numbers of labels with the error in one bin, or in all."""
        squared = tolerance.value**2 if self.root else tolerance.value
        order, start = sort_by_cell(*self.cells(predictions))
        largest = 1.0 if predictions.m == 2 else 2.0
        cases = _cases_in_bins(predictions, order, start, squared / largest)
        unseen = unseen_in_a_bin(np.diff(start), squared, predictions.m)
        return max(unseen, largest_tail(cases))


def debiased_ece(
    probs: object,
    labels: object = None,
    *,
    binning: str = "uniform",
    bins: int = 15,
    min_size: int = 10,
    max_bins: int | None = None,
    root: bool = False,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Estimate the squared calibration error in bins with the bias of the plug-in removed.

    The mean label :math:`\bar y_b` of the :math:`n_b` observations of bin b is off by a variance
    that adds to the squared error; its unbiased estimate is taken away:

    .. math:: \sum_b \frac{n_b}{n} \Big[(\bar y_b - \bar p_b)^2
        - \frac{\bar y_b (1 - \bar y_b)}{n_b - 1}\Big],

    summed over classes where there are more than two. Bins with one observation are left out. Under
    calibration it is about 0, and as often negative as not.

    Parameters
    ----------
    probs, labels : array_like
        As for `ece`.
    lens : str or Lens
        As for `ece`.
    binning : {"uniform", "quantile", "median-variance"}
        As for `ece`. Kumar et al. and Roelofs et al. take "quantile".
    bins, min_size, max_bins : optional
        As for `ece`.
    root : bool, default False
        Give the square root, in units of probability; it is 0 where the estimate is negative, as in
        Kumar et al.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In squared units of probability, possibly negative; with `root`, in units of probability.
        For two classes it is that of one of them. With sample weights the effective size of a bin,
        (sum w)^2 / sum w^2, stands for its number of observations.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If no bin has two observations, "quantile" meets more than two classes, or there are fewer
        than `min_size` observations.

    References
    ----------
    Broecker (2012), Estimating reliability and resolution of probability forecasts through
    decomposition of the empirical score, Climate Dynamics 39; Ferro, Fricker (2012), A
    bias-corrected decomposition of the Brier score, Q. J. R. Meteorol. Soc. 138; Kumar, Liang, Ma
    (2019), Verified uncertainty calibration, NeurIPS 32, section 5.

    Examples
    --------
    >>> import caltest as ct
    >>> probs, labels = [0.1, 0.3, 0.7, 0.9], [0, 1, 1, 1]
    >>> float(round(ct.measures.debiased_ece(probs, labels, bins=2), 3))  # (0.09 - 0.25 + 0.04) / 2
    -0.06
    """
    measure = DebiasedECE(
        binning=binning, bins=bins, min_size=min_size, max_bins=max_bins, root=root
    )
    return measure.evaluate(probs, labels, **rows)


def unbiased_bin_errors(delta: Floats, start: Ints, single: float) -> tuple[float, Floats, float]:
    r"""Return the estimate, the n estimates without one row, and the largest mean square of a cell.

    With S the sum and Q the sum of squares of the n_b rows of `delta` (n, m) in cell b, a cell adds

    .. math:: c_b = (|S|^2 - Q) / (n_b - 1), \quad
        (|S|^2 - 2 S \delta_i + 2 |\delta_i|^2 - Q) / (n_b - 2) \text{ without row i},

    and the estimate is their sum over n. A cell of one row adds `single` times its square.
    """
    n, count, own = len(delta), np.diff(start), np.square(delta).sum(axis=1)
    sums, square = (np.add.reduceat(values, start[:-1]) for values in (delta, own))
    pairs = np.square(sums).sum(axis=1) - square
    errors = np.where(count > 1, pairs / np.maximum(count - 1, 1), single * square)
    each, size = np.repeat(np.arange(count.size), count), np.repeat(count, count)
    rest = pairs[each] - 2.0 * np.einsum("ik,ik->i", sums[each], delta) + 2.0 * own
    others = single * (square[each] - own)  # of the one that stays of two, or of none
    without = np.where(size > 2, rest / np.maximum(size - 2, 1), others)
    total, largest = float(errors.sum()), (square / count)[count > 1].max(initial=0.0)
    return total / n, (total + without - errors[each]) / (n - 1), float(largest)


def spread_at_zero(delta: Floats, start: Ints) -> float:
    r"""Return the variance of the estimate where all cells have mean 0.

    .. math:: \frac{2}{n^2} \sum_b \frac{1}{(n_b - 1)^2} \sum_{i \ne j \in b}
        (\delta_i \cdot \delta_j)^2,

    over all pairs of a cell, by the products of its rows or of its columns, whichever are fewer.
    """
    total = 0.0
    for first, last in itertools.pairwise(start.tolist()):
        cell, count = delta[first:last], last - first
        if count > 1:
            gram = cell.T @ cell if count > cell.shape[1] else cell @ cell.T
            own = np.square(np.einsum("ik,ik->i", cell, cell)).sum()
            total += max(float(np.vdot(gram, gram) - own), 0.0) / (count - 1) ** 2
    return 2.0 * total / len(delta) ** 2
