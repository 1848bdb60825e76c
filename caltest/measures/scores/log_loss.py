"""Log loss, Good 1952."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.lenses import Lens
from caltest.measures.base import RowScores, RowTerms
from caltest.measures.label_scores import MeanScore, TabledScore, row_weights
from caltest.predictions import Predictions

__all__ = ["LogLoss", "log_loss"]

FEW_OBSERVATIONS = 100
SKEW = (
    f"with fewer than {FEW_OBSERVATIONS} observations a log loss of rare and large terms can have "
    "an interval that is too short; that of the Brier score is less so"
)


@dataclass(frozen=True, kw_only=True)
class LogLoss(MeanScore):
    """The log loss with its clipping; see `log_loss`."""

    eps: float | None = None

    key: ClassVar[str] = "log-loss"
    title: ClassVar[str] = "log loss"
    is_proper_score: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.eps is not None:
            validation.check_level(self.eps, "eps")

    def support(self, m: int) -> tuple[float, float]:
        return 0.0, math.inf

    @property
    def symbol(self) -> str:
        return "log loss"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> TabledScore:
        probs = predictions.probs
        if self.eps is not None:
            probs = np.maximum(probs, self.eps)
        with np.errstate(divide="ignore"):  # a log of 0 is reported below
            bound = TabledScore(predictions, -np.log(probs))
        bound.parameters = {} if self.eps is None else {"eps": self.eps}
        bound.degenerate = _impossible(predictions) if self.eps is None else ()
        return bound

    def row_scores(self, predictions: Predictions) -> RowScores:
        return self.bind(predictions).row_scores()

    def row_terms(self, predictions: Predictions) -> RowTerms:
        return self.bind(predictions).row_terms()

    def interval_notes(self, method: str, n: int) -> tuple[str, ...]:
        return (SKEW,) if method == "studentized" and n < FEW_OBSERVATIONS else ()


def _impossible(predictions: Predictions) -> tuple[str, ...]:
    """Say where an observed class has probability 0."""
    observed = np.take_along_axis(predictions.probs, predictions.labels[:, None], axis=1)[:, 0]
    rows = np.flatnonzero((observed == 0) & (row_weights(predictions) > 0))
    if not rows.size:
        return ()
    message = (
        f"the log loss is infinite: the observed class has probability 0 in {rows.size} of "
        f"{predictions.n} rows, first in row {rows[0]}; pass eps= to clip the probabilities"
    )
    return (message,)


def log_loss(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    eps: float | None = None,
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
    r"""Compute the log loss, the mean negative log probability of the observed class.

    .. math:: -\frac{1}{n} \sum_i \log p_{i, y_i}.

    Its test is two-sided: far from its mean under calibration either way it speaks against
    calibration.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    eps : float, optional
        Raise probabilities below `eps`, in (0, 1), to it; by default nothing is clipped.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        In nats, at least 0; infinite, with a DegenerateDataWarning, where an observed class has
        probability 0. With sample weights a weighted mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Good (1952), Rational decisions; Gneiting, Raftery (2007), Strictly proper scoring rules,
    prediction, and estimation, section 3.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.log_loss([0.5, 0.25], [1, 1])  # log(8) / 2
    1.03972...
    >>> ct.measures.log_loss([0.0], [1], eps=1e-15)
    34.53877...
    """
    return LogLoss(eps=eps).evaluate(probs, labels, lens, n_jobs)
