"""Scores that are a mean over rows: Brier, spherical and ranked probability score, log loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Unpack, cast

import numpy as np

from caltest.checks import check_level, option, optional
from caltest.lenses.base import Evaluated
from caltest.measures.base import MeanScore, OfOrderedClasses
from caltest.numerics.class_sums import binary_brier_sums, brier_table
from caltest.render import rows_in_words
from caltest.types import Floats
from caltest.units import CellUnits, ScoreSums, Statistic, Units

__all__ = [  # noqa: RUF022
    "BrierScore",
    "SphericalScore",
    "brier_score",
    "spherical_score",
    "LogLoss",
    "log_loss",
    "RankedProbabilityScore",
    "ranked_probability_score",
]


FEW_OBSERVATIONS = 100
SKEW = (
    f"with fewer than {FEW_OBSERVATIONS} observations a log loss of rare and large terms can have "
    "an interval that is too short; that of the Brier score is less so"
)


@dataclass(frozen=True, kw_only=True)
class BrierScore(MeanScore):
    """The Brier score; see `brier_score`."""

    key, title, symbol = "brier", "Brier score", "Brier"
    function: ClassVar[str] = "brier_score"
    is_proper_score: ClassVar[bool] = True

    def support(self, m: int) -> tuple[float, float]:
        return 0.0, 1.0 if m == 2 else 2.0

    def scores(self, units: Units) -> ScoreSums:
        # The expected scores have the squares of the rows of cells.
        return ScoreSums(
            units,
            self.distances,
            terms=lambda u: u.cells.variance,
            fused=lambda y: binary_brier_sums(y, units.mean, units.scale),
        )

    @staticmethod
    def distances(probs: Floats) -> Floats:
        """Return the score of each label, (n, m); of two classes the squares of 1 - p."""
        if probs.shape[1] == 2:
            return np.square(np.column_stack([probs[:, 1], 1.0 - probs[:, 1]]))
        return brier_table(probs)

    def statistic(self, units: Units) -> Statistic:
        return self.mean(self.scores(units), error=lambda: _error(units))


def _error(units: Units) -> float:
    """Bound 2 sum y (p - mean of its cell) / n."""
    cells = cast("CellUnits", units).cells
    return 2.0 * float((units.sums(cells.events * cells.reach) / units.total).max())


def brier_score(probs: object, labels: object = None, **rows: Unpack[Evaluated]) -> float | Floats:
    r"""Compute the Brier score, the mean squared Euclidean distance to the one-hot label.

    .. math:: \frac{1}{n} \sum_i \lVert p_i - e_{y_i} \rVert^2,

    halved for two classes, where it is the mean of :math:`(p_i - y_i)^2`. It is smaller for better
    predictions, but far from its mean under calibration either way it speaks against calibration;
    so its test is two-sided.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In squared units of probability: in [0, 1] for two classes, else in [0, 2]. With sample
        weights a weighted mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability; the halving is that
    of scikit-learn's `brier_score_loss`.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.brier_score([0.5, 0.75], [1, 1])  # (1/4 + 1/16) / 2
    0.15625
    """
    return BrierScore().evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class SphericalScore(MeanScore):
    """The spherical score; see `spherical_score`."""

    key, title, symbol = "spherical", "spherical score", "spherical score"
    function: ClassVar[str] = "spherical_score"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    is_proper_score: ClassVar[bool] = True

    def scores(self, units: Units) -> ScoreSums:
        return ScoreSums(units, lambda p: p / np.linalg.norm(p, axis=1, keepdims=True))


def spherical_score(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the spherical score, the mean cosine of prediction and one-hot label.

    .. math:: \frac{1}{n} \sum_i \frac{p_{i, y_i}}{\lVert p_i \rVert_2}.

    It is larger for better predictions. Its test is two-sided, as those of the other scores.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        Without unit, in [0, 1]. With sample weights a weighted mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Good (1971), comment on Buehler, in: Foundations of statistical inference; Gneiting, Raftery
    (2007), Strictly proper scoring rules, prediction, and estimation, section 3.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.spherical_score([[0.5, 0.25, 0.25]], [0])  # 2 / sqrt(6)
    0.81649...
    """
    return SphericalScore().evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class LogLoss(MeanScore):
    """The log loss with its clipping; see `log_loss`."""

    eps: float | None = option(None, optional(check_level))

    key, title, symbol = "log-loss", "log loss", "log loss"
    is_proper_score: ClassVar[bool] = True

    def support(self, m: int) -> tuple[float, float]:
        return 0.0, math.inf

    def scores(self, units: Units) -> ScoreSums:
        return ScoreSums(units, self._losses)

    def statistic(self, units: Units) -> Statistic:
        sums = self.scores(units)
        return self.mean(
            sums,
            parameters={} if self.eps is None else {"eps": self.eps},
            degenerate=() if self.eps is not None else _impossible(sums),
            error=lambda: self._error(sums),
        )

    def _losses(self, probs: Floats) -> Floats:
        with np.errstate(divide="ignore"):  # a log of 0 is reported
            return np.asarray(-np.log(probs if self.eps is None else np.maximum(probs, self.eps)))

    def _error(self, sums: ScoreSums) -> float:
        """Bound the sum over cells of the largest change of the loss of a row."""
        units, cells = sums.units, cast("CellUnits", sums.units).cells
        ends = (self._losses(np.column_stack([1.0 - p, p])) for p in (cells.least, cells.most))
        with np.errstate(invalid="ignore"):
            change = np.maximum(*(np.abs(loss - sums.table) for loss in ends))
        change[np.isinf(sums.table).any(axis=1)] = 0.0
        of_rows = change[:, 1] * cells.events + change[:, 0] * (cells.n - cells.events)
        return float((units.sums(of_rows) / units.total).max())

    def interval_notes(self, method: str, n: int) -> tuple[str, ...]:
        return (SKEW,) if method == "studentized" and n < FEW_OBSERVATIONS else ()


def _impossible(sums: ScoreSums) -> tuple[str, ...]:
    """Say where an observed class has probability 0."""
    units = sums.units
    if isinstance(units, CellUnits):
        hits, counts = units.cells.hits, units.cells.counts
        without, event = np.isinf(sums.table.T)
        wrong, first = int(hits[event].sum() + (counts - hits)[without].sum()), ""
    else:
        own = np.take_along_axis(units.probs, units.observed[:, np.newaxis], axis=1)[:, 0]
        rows = np.flatnonzero((own == 0) & (units.scale > 0))
        wrong, first = rows.size, f", first in row {rows[0]}" if rows.size else ""
    message = (
        f"the log loss is infinite: the observed class has probability 0 in {wrong} of "
        f"{rows_in_words(units.rows)}{first}; pass eps= to clip the probabilities"
    )
    return (message,) if wrong else ()


def log_loss(
    probs: object, labels: object = None, *, eps: float | None = None, **rows: Unpack[Evaluated]
) -> float | Floats:
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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

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
    return LogLoss(eps=eps).evaluate(probs, labels, **rows)


# ---- the ranked probability score of ordered classes, Epstein 1969 -------------------------------


@dataclass(frozen=True, kw_only=True)
class RankedProbabilityScore(OfOrderedClasses, BrierScore):
    """The ranked probability score; see `ranked_probability_score`."""

    key, title, symbol = "rps", "ranked probability score", "RPS"
    function: ClassVar[str] = "ranked_probability_score"

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
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
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
    return RankedProbabilityScore().evaluate(probs, labels, **rows)
