"""Kuiper calibration error, Arrieta-Ibarra et al. 2022."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.cumulative.brownian import range_sf
from caltest.measures.cumulative.partial_sums import PartialSumMeasure

__all__ = ["KuiperError", "kuiper_error"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class KuiperError(PartialSumMeasure):
    """The Kuiper error, scaled or not; see `kuiper_error`."""

    key: ClassVar[str] = "kuiper"
    largest: ClassVar[float] = 1.0
    function: ClassVar[str] = "kuiper_error"
    title: ClassVar[str] = "Kuiper calibration error"

    @property
    def symbol(self) -> str:
        return "scaled Kuiper" if self.scaled else "Kuiper"

    @staticmethod
    def functional(high: Floats, low: Floats) -> Floats:
        return high - low

    @staticmethod
    def span(sums: Floats) -> tuple[int, int, float]:
        low, high = int(np.argmin(sums)), int(np.argmax(sums))
        return min(low, high), max(low, high), float(np.sign(high - low))

    @staticmethod
    def brownian_sf(x: float) -> float:
        return range_sf(x)


def kuiper_error(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    scaled: bool = False,
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the Kuiper calibration error, the range of the cumulative deviations.

    With the scores p in ascending order and equal scores as one step,

    .. math:: \max_{0 \le i \le n} C_i - \min_{0 \le i \le n} C_i, \quad
        C_i = \frac{1}{n} \sum_{j \le i} (y_j - p_j), \quad C_0 = 0,

    the largest deviation of any interval of scores. It is the same for both classes, and at least
    as large as the KS error.

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
        the ECCE-R of Arrieta-Ibarra et al. over its scale. Of the order of 1 under calibration at
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
    Arrieta-Ibarra et al. (2022), Metrics of calibration for probabilistic predictions, JMLR 23,
    where it is called ECCE-R; Tygert (2021), Cumulative deviation of a subpopulation from the full
    population, Journal of Big Data 8.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.kuiper_error([0.25, 0.5, 0.75], [1, 0, 0])  # sums 0, 0.75, 0.25, -0.5 over 3
    0.41666...
    """
    return KuiperError(scaled=scaled).evaluate(probs, labels, lens, n_jobs)
