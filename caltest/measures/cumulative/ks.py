"""Kolmogorov-Smirnov calibration error, Gupta et al. 2021."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.cumulative.brownian import modulus_sf
from caltest.measures.cumulative.partial_sums import PartialSumMeasure

__all__ = ["KSError", "ks_error"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class KSError(PartialSumMeasure):
    """The KS error, scaled or not; see `ks_error`."""

    key: ClassVar[str] = "ks"
    function: ClassVar[str] = "ks_error"
    title: ClassVar[str] = "Kolmogorov-Smirnov calibration error"

    @property
    def symbol(self) -> str:
        return "scaled KS" if self.scaled else "KS"

    @staticmethod
    def functional(high: Floats, low: Floats) -> Floats:
        return np.maximum(high, 0.0 - low)  # no negative zero

    @staticmethod
    def brownian_sf(x: float) -> float:
        return modulus_sf(x)


def ks_error(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    scaled: bool = False,
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the Kolmogorov-Smirnov calibration error, the largest cumulative deviation.

    With the scores p in ascending order, it compares the cumulative shares of events and of scores,

    .. math:: KS = \max_i |h_i - \tilde h_i|, \quad
        h_i = \frac{1}{n} \sum_{j \le i} y_j, \quad \tilde h_i = \frac{1}{n} \sum_{j \le i} p_j,

    where equal scores form one step, so that their order does not matter. There are no bins. The
    score is the probability of class 1 under the lens: the confidence, that of class k, of one of
    the r largest, ... Starting from the other class can give another value; `kuiper_error` is the
    same from both.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    scaled : bool, default False
        Divide by :math:`\sqrt{\sum_i p_i (1 - p_i)} / n`, the standard deviation of the whole sum:
        the ECCE-MAD of Arrieta-Ibarra et al. over its scale. Of the order of 1 under calibration at
        every n.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        In units of probability, in [0, 1], or in standard deviations. Sample weights count an
        observation w_i times; the standard deviation is that of the weighted sum. Takes
        O(n log n).

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or `scaled` and all predictions are 0 or 1.

    References
    ----------
    Gupta et al. (2021), Calibration of neural networks using splines, ICLR, equations 11 and 12;
    Arrieta-Ibarra et al. (2022), Metrics of calibration for probabilistic predictions, JMLR 23.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.ks_error([0.25, 0.5, 0.75], [1, 0, 1])  # sums 0.75, 0.25, 0.5 over 3
    0.25
    """
    return KSError(scaled=scaled).evaluate(probs, labels, lens, n_jobs)
