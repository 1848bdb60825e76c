"""Maximum calibration error (MCE) over bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.measures.bins.ece import BinErrors, BinnedError, Distance
from caltest.numerics.unseen import farthest_gap

if TYPE_CHECKING:
    from caltest.lenses import Lens
    from caltest.predictions import Predictions

__all__ = ["MCE", "mce"]


WORST = (
    "the error is that of the worst bin: where that has few rows, the interval reaches as far as "
    "these allow; a bin without rows is not counted"
)


@dataclass(frozen=True, kw_only=True)
class MCE(BinErrors):
    """The MCE with its bins and distance; see `mce` for the parameters."""

    key: ClassVar[str] = "mce"
    largest: ClassVar[float] = 1.0
    title: ClassVar[str] = "maximum calibration error"

    @property
    def symbol(self) -> str:
        return "MCE"

    @property
    def power(self) -> float:
        return math.inf

    def unseen_reach(self, predictions: Predictions, a: float) -> float:
        if self.distance != "tv":
            return 0.0
        bound = self.bind(predictions)
        if not isinstance(bound, BinnedError):
            return 0.0
        farthest = max(farthest_gap(*some, a) for some in bound.counts())
        return max(farthest - bound.value(), 0.0)

    def interval_notes(self, method: str, n: int) -> tuple[str, ...]:
        return (*super().interval_notes(method, n), *(WORST,) * (method == "convex"))


def mce(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    binning: str = "uniform",
    bins: int = 15,
    min_size: int = 10,
    max_bins: int | None = None,
    distance: Distance = "tv",
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
    r"""Compute the maximum calibration error, the largest distance of labels to predictions.

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
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    return measure.evaluate(probs, labels, lens, n_jobs)
