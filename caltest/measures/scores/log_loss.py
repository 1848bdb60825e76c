"""Log loss, Good 1952."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.lenses import Lens
from caltest.measures.cells import BoundCells, Counts, LinearCells, ResampledGroups
from caltest.measures.label_scores import MeanScore, TabledScore, row_weights
from caltest.measures.outcome import RowScores, RowTerms
from caltest.predictions import Predictions
from caltest.scale import Cells, ManyCells

__all__ = ["LogLoss", "log_loss"]

Floats = NDArray[np.float64]
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

    def bind_cells(self, cells: Cells) -> BoundCells:
        return CellLogLoss(cells, self.eps)

    def bind_groups(self, many: ManyCells) -> ResampledGroups:
        cells = CellLogLoss(many.cells, self.eps)
        constant = many.sums(np.where(cells.is_impossible, np.inf, cells.terms))
        n = many.n.astype(np.float64)
        bound = ResampledGroups.linear(many, cells.slope, constant, n)
        bound.parameters = cells.parameters
        return bound

    def row_scores(self, predictions: Predictions) -> RowScores:
        return self.bind(predictions).row_scores()

    def row_terms(self, predictions: Predictions) -> RowTerms:
        return self.bind(predictions).row_terms()

    def interval_notes(self, method: str, n: int) -> tuple[str, ...]:
        return (SKEW,) if method == "studentized" and n < FEW_OBSERVATIONS else ()


class CellLogLoss(LinearCells):
    """The log loss of cells at their mean predictions."""

    def __init__(self, cells: Cells, eps: float | None) -> None:
        self.eps = eps
        loss = self._losses(cells.mean)
        certain = np.isinf(loss).any(axis=0)
        without, event = np.where(certain, 0.0, loss)
        self.terms: Floats = cells.n * without + cells.expected * (event - without)
        super().__init__(cells, event - without, float(self.terms.sum()), cells.mass)
        self._never, self._always = np.isinf(loss[1]), np.isinf(loss[0])
        happened, did_not = cells.hits > 0, cells.hits < cells.counts
        self.is_impossible = (self._never & happened) | (self._always & did_not)
        self.parameters = {} if eps is None else {"eps": eps}
        wrong = int(self._impossible(cells.hits[None], cells.counts)[0])
        if wrong:
            message = (
                f"the log loss is infinite: the observed class has probability 0 in {wrong} of "
                f"{cells.rows} rows; pass eps= to clip the probabilities"
            )
            self.degenerate = (message,)

    def _losses(self, p: Floats) -> Floats:
        """Return the losses (2, C) without and with the event."""
        both = np.stack([1.0 - p, p])
        if self.eps is not None:
            both = np.maximum(both, self.eps)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(both))

    def _impossible(self, counts: Counts, size: NDArray[Any]) -> Floats:
        rest = size - counts
        return np.asarray(counts[:, self._never].sum(axis=1) + rest[:, self._always].sum(axis=1))

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        impossible = self._impossible(labels, self.cells.n) > 0
        return np.where(impossible, math.inf, super().values(labels, n_jobs))

    def score_table(self) -> Floats:
        return self._losses(self.cells.mean)

    def error(self) -> float:
        """Bound the sum over cells of the largest change of the loss of a row."""
        cells = self.cells
        open_ = ~(self._never | self._always)
        at, low, high = (self._losses(p[open_]) for p in (cells.mean, cells.least, cells.most))
        change = np.maximum(np.abs(low - at), np.abs(high - at))
        events = cells.events[open_]
        return float(change[1] @ events + change[0] @ (cells.n[open_] - events)) / self.unit


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
