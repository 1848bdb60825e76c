"""The lower bound of the calibration error by over- and underconfidence, Wenger et al. 2020."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure, Measure
from caltest.measures.confidence_sums import BoundConfidence, ConfidenceSums
from caltest.predictions import Predictions

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ECELowerBound(Measure):
    """The lower bound; see `ece_lower_bound`."""

    key: ClassVar[str] = "ece_lower_bound"
    title: ClassVar[str] = "lower bound of the confidence ECE"

    @property
    def symbol(self) -> str:
        return "|conf - acc|"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        return BoundConfidence(predictions, _difference)


def _difference(sums: ConfidenceSums) -> Floats:
    difference = np.abs(sums.confidence_on_wrong - sums.doubt_on_right)
    return np.asarray(difference / (sums.wrong + sums.right))


def ece_lower_bound(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute how far over- and underconfidence are from balance, which bounds the ECE from below.

    With the over- and underconfidence o(f) and u(f),

    .. math:: \bigl| o(f) P(\hat y \ne y) - u(f) P(\hat y = y) \bigr| \le ECE_p(f) \le ECE_q(f),
        \quad 1 \le p \le q \le \infty.

    The left side is the mean confidence less the accuracy, in absolute value: the residuals
    confidence - right are the confidence on wrong predictions and less than the doubt on right
    ones. It bounds the confidence ECE over any bins with the mean confidence of each, since the
    mean of absolute values is not below the absolute mean (Jensen). The inequality need not hold
    for bins with their midpoint in place of the mean confidence.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is judged. A family of lenses gives an array.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        In units of probability, in [0, 1]. With sample weights, of weighted means.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    theorem 1.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.ece_lower_bound([0.75, 0.5, 0.875, 0.875], [0, 0, 1, 1])  # 3/4 - 3/4
    0.0
    """
    return ECELowerBound().evaluate(probs, labels, lens, n_jobs)
