"""Underconfidence, Wenger et al. 2020."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure, Measure
from caltest.measures.confidence_sums import BoundConfidence, mean_or_zero
from caltest.predictions import Predictions

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Underconfidence(Measure):
    """The underconfidence; see `underconfidence`."""

    key: ClassVar[str] = "underconfidence"
    title: ClassVar[str] = "underconfidence"
    alternative: ClassVar[str] = "two-sided"

    @property
    def symbol(self) -> str:
        return "u(f)"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        bound = BoundConfidence(
            predictions, lambda sums: mean_or_zero(sums.doubt_on_right, sums.right)
        )
        if bound.sums(bound.observed[None]).right[0] == 0:
            bound.degenerate = ("no prediction is right, so underconfidence is taken as 0",)
        return bound


def underconfidence(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the underconfidence, the mean of 1 less the confidence of the right predictions.

    .. math:: u(f) = E[1 - \max_k p_k \mid \arg\max_k p_k = Y].

    A calibrated model has a positive one too. Ties are broken by the order of the classes.

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
        In units of probability, in [0, 1 - 1/m]; where no prediction is right 0, with a
        DegenerateDataWarning. With sample weights a weighted mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    section 2.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.underconfidence([0.75, 0.5, 0.875], [0, 0, 1])  # right at 0.5 and 0.875
    0.3125
    """
    return Underconfidence().evaluate(probs, labels, lens, n_jobs)
