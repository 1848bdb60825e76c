"""The p-value of an honest confidence band as a measure, Dimitriadis et al. 2023."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure, Labels, Measure, Order
from caltest.measures.isotonic.confidence_band_curve import BandBlocks, BandOptions
from caltest.measures.one_dimension import score_order
from caltest.measures.outcome import Outcome
from caltest.predictions import Predictions

__all__ = ["ConfidenceBand", "confidence_band"]

Floats = NDArray[np.float64]

BOUNDS = {
    "standard": "Clopper-Pearson limits of all blocks",
    "round": "Clopper-Pearson limits of all blocks of rounded predictions",
    "yang-barber": "Hoeffding limits of all blocks",
}


@dataclass(frozen=True, kw_only=True)
class ConfidenceBand(Measure):
    """How far the diagonal is outside of the band; see `confidence_band`."""

    method: str | None = None
    digits: int | None = None

    key: ClassVar[str] = "confidence-band"
    title: ClassVar[str] = "honest confidence band"

    def __post_init__(self) -> None:
        BandOptions(self.method, self.digits)

    @property
    def symbol(self) -> str:
        return "-log10 p"

    @property
    def interval_instead(self) -> str:
        return "test='ks', or the band itself, measures.confidence_band"

    def plot_kind(self, m: int) -> str:
        return "confidence-band"

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("closed-form", "exact", "consistency")

    @property
    def needs_rows(self) -> str:
        return "its limits are those of all blocks of distinct predictions"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundBand:
        return BoundBand(predictions, BandOptions(self.method, self.digits))

    def closed_form(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the smallest level at which the diagonal leaves the band."""
        bound = self.bind(predictions, n_jobs)
        value = bound.value(n_jobs)
        return Outcome(
            statistic_name=self.symbol,
            statistic=value,
            pvalue=min(1.0, 10.0**-value),
            estimate=value,
            alternative="greater",
            null_text=BOUNDS[bound.blocks.method],
            parameters=bound.parameters,
            notes=("the band that it inverts holds any non-decreasing P(Y = 1 | p)",),
            is_bound=True,
        )


class BoundBand(BoundMeasure):
    """The smallest tail of a block over rows in the order of their predictions."""

    def __init__(self, predictions: Predictions, options: BandOptions) -> None:
        super().__init__(predictions)
        self.blocks = BandBlocks(predictions, options)
        self.parameters = {"method": self.blocks.method}
        if self.blocks.digits is not None:
            self.parameters["digits"] = self.blocks.digits

    @cached_property
    def order(self) -> Order:
        return score_order(self.predictions)

    @property
    def observed(self) -> Labels:
        return self.blocks.labels

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return self.blocks.log_pvalues(labels) / -math.log(10.0)


def confidence_band(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    method: str | None = None,
    digits: int | None = None,
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute -log10 of the smallest level at which the diagonal leaves the confidence band.

    With the distinct predictions :math:`x_1 < ... < x_M`, and for each block of neighbours j to k
    the number n of its observations and y of its events, the band of `confidence_band_curve` leaves
    out the diagonal at level :math:`\alpha` if and only if :math:`p \le \alpha`, where

    .. math:: p = (M^2 + M) \min_{j \le k} \min \{P(Bin(n, x_k) \ge y), P(Bin(n, x_j) \le y)\}.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    method : {"standard", "round", "yang-barber"}, optional
        As in `confidence_band_curve`.
    digits : int, optional
        As in `confidence_band_curve`.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        Negative where p, a sum of error probabilities, is above 1; infinite where the labels are
        impossible.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, sample weights, or too many distinct predictions for a
        method that is asked for.

    References
    ----------
    Dimitriadis, Duembgen, Henzi, Puke, Ziegel (2023), Honest calibration assessment for binary
    outcome predictions, Biometrika 110, theorem 1.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.confidence_band([0.5] * 10, [1] * 10)  # p = 2 / 2^10
    2.70926...
    """
    measure = ConfidenceBand(method=method, digits=digits)
    return measure.evaluate(probs, labels, lens, n_jobs)
