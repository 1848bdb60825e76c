"""The ranked probability score of ordered classes, Epstein 1969."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Unpack

import numpy as np

from caltest.lenses import Lens
from caltest.measures.scores.scores import BrierScore
from caltest.predictions import Measured
from caltest.types import Floats

__all__ = ["RankedProbabilityScore", "ranked_probability_score"]


@dataclass(frozen=True, kw_only=True)
class RankedProbabilityScore(BrierScore):
    """The ranked probability score; see `ranked_probability_score`."""

    key: ClassVar[str] = "rps"
    function: ClassVar[str] = "ranked_probability_score"
    title: ClassVar[str] = "ranked probability score"
    symbol: ClassVar[str] = "RPS"

    def support(self, m: int) -> tuple[float, float]:
        return 0.0, m - 1.0

    @staticmethod
    def distances(probs: Floats) -> Floats:
        """Return the sum of the Brier scores of all P(Y <= k), of each label, (n, m)."""
        upto = np.cumsum(probs[:, :-1], axis=1)
        above = np.cumsum(probs[:, :0:-1], axis=1)[:, ::-1]
        out = np.zeros(probs.shape)
        np.cumsum(np.square(upto), axis=1, out=out[:, 1:])
        out[:, :-1] += np.cumsum(np.square(above)[:, ::-1], axis=1)[:, ::-1]
        return out


def ranked_probability_score(
    probs: object, labels: object = None, *, lens: str | Lens = "strong", **rows: Unpack[Measured]
) -> float | Floats:
    r"""Compute the ranked probability score, the sum of the Brier scores of all P(Y <= k).

    With the classes in the order of their columns,

    .. math:: \frac{1}{n} \sum_i \sum_{k=1}^{m-1} (P_{ik} - 1[y_i \le k])^2, \quad
        P_{ik} = p_{i1} + \dots + p_{ik}.

    It is smaller for better predictions, and a class far from the label costs more than one beside
    it. Its test is two-sided, as those of the other scores: far from its mean under calibration
    either way it speaks against calibration. For two classes it is the Brier score.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits`, `renormalize` and `ordinal`, as for
        `Predictions`, and `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In squared units of probability, in [0, m - 1]: not divided by m - 1. With sample weights a
        weighted mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Epstein (1969), A scoring system for probability forecasts of ranked categories, J. Appl.
    Meteorol. 8; `rps_score` of scoringrules is that of one row.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.ranked_probability_score([[0.5, 0.25, 0.25]], [2])  # .5^2 + .75^2
    0.8125
    """
    return RankedProbabilityScore().evaluate(probs, labels, lens, **rows)
