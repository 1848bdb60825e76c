"""Overconfidence, Wenger et al. 2020."""

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
class Overconfidence(Measure):
    """The overconfidence; see `overconfidence`."""

    key: ClassVar[str] = "overconfidence"
    title: ClassVar[str] = "overconfidence"
    alternative: ClassVar[str] = "two-sided"

    @property
    def symbol(self) -> str:
        return "o(f)"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        bound = BoundConfidence(
            predictions, lambda sums: mean_or_zero(sums.confidence_on_wrong, sums.wrong)
        )
        if bound.sums(bound.observed[None]).wrong[0] == 0:
            bound.degenerate = ("no prediction is wrong, so overconfidence is taken as 0",)
        return bound


def overconfidence(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the overconfidence, the mean confidence of the wrong predictions.

    .. math:: o(f) = E[\max_k p_k \mid \arg\max_k p_k \ne Y].

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
        In units of probability, in [1/m, 1]; where no prediction is wrong 0, with a
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
    >>> ct.measures.overconfidence([0.75, 0.5, 0.875], [0, 0, 1])  # wrong with confidence 0.75
    0.75
    """
    return Overconfidence().evaluate(probs, labels, lens, n_jobs)
