"""Squared calibration error over bins with the bias removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.base import BoundMeasure, Limit
from caltest.measures.binned import DEBIASED, BinnedError, bind_bins
from caltest.measures.binned_deviation import binned_deviation, unseen_in_a_bin
from caltest.measures.binning import BinnedMeasure
from caltest.measures.tolerance import Tolerance, deviation_limit

if TYPE_CHECKING:
    from caltest.lenses import Lens
    from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]


@dataclass(frozen=True, kw_only=True)
class DebiasedECE(BinnedMeasure):
    """The debiased squared ECE with its bins; see `debiased_ece` for the parameters."""

    root: bool = False

    key: ClassVar[str] = "debiased_ece"
    title: ClassVar[str] = "debiased squared calibration error"

    @property
    def symbol(self) -> str:
        return "debiased ECE_2" if self.root else "debiased ECE_2^2"

    @property
    def description(self) -> str:
        return f"root of the {self.title}" if self.root else self.title

    def bind_weighted(self, predictions: Predictions) -> BoundMeasure:
        bound = bind_bins(self, predictions, DEBIASED, 1.0)
        share = bound.parts[0]
        singles = np.count_nonzero(share == 0)
        if singles == share.size:
            raise NotApplicable(
                f"{self.description} needs a bin with two observations, and there is none; "
                "use fewer bins, or the test 'ece'"
            )
        if singles:
            left_out = f"{singles} of {share.size} occupied bins"
            bound.notes = (f"{left_out} hold one observation and are left out",)
        return RootError(bound) if self.root else bound

    def tolerance_limit(
        self, predictions: Predictions, tolerance: Tolerance, n_jobs: int | None = None
    ) -> Limit:
        """Return the normal limit of the error over the bins that are used, seen as given."""
        bound = self.bind(predictions, n_jobs)
        estimate = bound.value(n_jobs)
        binned = bound.squared if isinstance(bound, RootError) else bound
        if not isinstance(binned, BinnedError):
            return super().tolerance_limit(predictions, tolerance, n_jobs)
        deviation = binned_deviation(binned, equivalence=tolerance.equivalence)
        squared = tolerance.value**2 if self.root else tolerance.value
        unseen = unseen_in_a_bin(np.diff(binned.start), squared, predictions.m)
        return deviation_limit(
            bound, deviation, tolerance, squared=squared, estimate=estimate, unseen=unseen
        )


class RootError(BoundMeasure):
    """The square root of a binned error; a negative one counts as 0."""

    def __init__(self, squared: BinnedError) -> None:
        super().__init__(squared.predictions)
        self.squared = squared
        self.parameters, self.notes = squared.parameters, squared.notes

    @property
    def observed(self) -> Labels:
        return self.squared.observed

    @property
    def label_probs(self) -> Floats:
        return self.squared.label_probs

    def redraw(self, rng: np.random.Generator, size: int) -> Labels:
        return self.squared.redraw(rng, size)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return np.sqrt(np.maximum(self.squared.values(labels, n_jobs), 0.0))

    def value(self, n_jobs: int | None = None) -> float:
        return float(np.sqrt(max(self.squared.value(n_jobs), 0.0)))


def debiased_ece(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    binning: str = "uniform",
    bins: int = 15,
    min_size: int = 10,
    max_bins: int | None = None,
    root: bool = False,
    n_jobs: int | None = None,
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
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    return measure.evaluate(probs, labels, lens, n_jobs)
