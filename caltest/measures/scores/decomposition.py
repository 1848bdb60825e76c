"""Decompositions of a score into miscalibration, discrimination and uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from scipy.special import xlogy

from caltest import checks
from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.lenses.base import Seen
from caltest.measures.binning import Cells, quantile_cells, uniform_cells
from caltest.measures.fits import IMPOSSIBLE, by_member
from caltest.numerics.isotonic import recalibrated_scores
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions
from caltest.render import rows_in_words
from caltest.sources import Cells as RowCells
from caltest.types import AnyArray, Flags, Floats, Ints
from caltest.units import check_one_dimension, row_weights, sorted_columns

__all__ = ["ScoreDecomposition", "score_decomposition"]


SCORES = ("brier", "log-loss")
METHODS = ("corp", "bins", "grades")
BINNINGS = ("uniform", "quantile", "groups")


@dataclass(frozen=True)
class ScoreDecomposition:
    """A score as miscalibration - discrimination + uncertainty, and what bins leave over.

    Attributes
    ----------
    score : float
        The score itself.
    miscalibration : float
        What recalibration would gain, at least 0; the reliability of Murphy.
    discrimination : float
        What the recalibrated predictions gain on the share of events, at least 0; the resolution
        of Murphy.
    uncertainty : float
        The score of the share of events as the prediction.
    within_bin_variance, within_bin_covariance : float
        Of the predictions, and twice theirs with the labels, within bins; 0 unless there are bins
        in which predictions vary.
        score = miscalibration - discrimination + uncertainty + variance - covariance.

    Examples
    --------
    >>> ScoreDecomposition(0.25, 0.0, 0.0, 0.25).miscalibration
    0.0
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    within_bin_variance: float = 0.0
    within_bin_covariance: float = 0.0


def score_decomposition(
    probs: object,
    labels: object = None,
    *,
    score: str = "brier",
    method: str = "corp",
    binning: str = "uniform",
    bins: int = 15,
    **rows: Unpack[Seen],
) -> ScoreDecomposition | list[ScoreDecomposition]:
    r"""Decompose a score into miscalibration, discrimination and uncertainty.

    - "corp": with c the isotonic fit of labels to predictions and r the share of events,

      .. math:: S = MCB - DSC + UNC, \quad MCB = S(p) - S(c), \quad DSC = S(r) - S(c), \quad
          UNC = S(r).

      There is nothing to tune, and MCB and DSC are never negative.
    - "bins": with the means :math:`\bar p_b, \bar y_b` of bins of :math:`n_b` rows,

      .. math:: REL = \sum_b \frac{n_b}{n} (\bar p_b - \bar y_b)^2, \quad
          RES = \sum_b \frac{n_b}{n} (\bar y_b - \bar y)^2, \quad UNC = \bar y (1 - \bar y),

      and the within-bin parts that make the sum exact where predictions vary within bins.
    - "grades": the same with one bin for each distinct prediction, such as the default rates of a
      master scale. This is Murphy's decomposition, REL - RES + UNC; nothing is left within bins.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives a list.
    score : {"brier", "log-loss"}
        The log loss is decomposed by "corp" only.
    method : {"corp", "bins", "grades"}
    binning : {"uniform", "quantile", "groups"}
        Bins of equal width, right-closed, of equal mass, or the groups of the Predictions, such as
        rating grades; used by "bins" only.
    bins : int, default 15
        Used by "bins" only.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

    Returns
    -------
    ScoreDecomposition
        The score and its parts, in the units of the score. Sample weights count an observation
        w_i times. Where the log loss is infinite, so is its miscalibration, with a
        DegenerateDataWarning.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, the log loss is to be decomposed by bins or grades, or
        the Predictions have no groups that could be bins.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
    PNAS 118, equation 4; Murphy (1973), A new vector partition of the probability score;
    Stephenson, Coelho, Jolliffe (2008), Two extra components in the Brier score decomposition,
    equation 5.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.score_decomposition([0.25, 0.75], [0, 1])
    ScoreDecomposition(score=0.0625, miscalibration=0.0625, discrimination=0.25, uncertainty=0.25,
                       within_bin_variance=0.0, within_bin_covariance=0.0)
    """
    checks.check_choice(score, SCORES, "score")
    checks.check_choice(method, METHODS, "method")
    checks.check_choice(binning, BINNINGS, "binning")
    checks.check_count(bins)
    if method != "corp" and score != "brier":
        reason = f"method={method!r} decomposes the Brier score only"
        raise NotApplicable(reason, "use method='corp'")

    def decomposed(seen: Predictions) -> ScoreDecomposition:
        check_one_dimension(seen, "the score decomposition")
        if method == "corp":
            return parts_of_rows(seen, score)
        return _by_cells(seen, *_bins(seen, method, binning, bins))

    return by_member(probs, labels, decomposed, score_decomposition, rows)


def parts_of_rows(predictions: Predictions, score: str = "brier") -> ScoreDecomposition:
    """Decompose a score of predictions of two classes by "corp"; see `score_decomposition`."""
    event, labels, weight = sorted_columns(predictions)
    losses, rows = np.square(labels - event), 0
    if score == "log-loss":
        observed = np.where(labels, event, 1.0 - event)
        with np.errstate(divide="ignore"):  # a log of 0 is reported
            losses, rows = -np.log(observed), int(np.count_nonzero(observed == 0))
    if rows:
        checks.warn_caller(IMPOSSIBLE.format(rows=rows_in_words(rows)), DegenerateDataWarning)
    value = float(weight @ losses) / float(weight.sum())
    return _parts(value, labels, weight, step_ends(event), score)


def _parts(
    value: float, shares: AnyArray, mass: Floats, ends: Flags, score: str
) -> ScoreDecomposition:
    """Decompose a score by that of the recalibrated predictions."""
    is_log, total, rate = score == "log-loss", mass.sum(), float(mass @ shares / mass.sum())
    recalibrated = float(recalibrated_scores(shares[None], mass, ends, is_log)[0] / total)
    uncertainty = rate * (1.0 - rate)
    if is_log:  # the entropy
        uncertainty = -sum(x * math.log(x) for x in (rate, 1.0 - rate) if x > 0)
    # In exact arithmetic neither is negative.
    gains = max(0.0, value - recalibrated), max(0.0, uncertainty - recalibrated)
    return ScoreDecomposition(value, *gains, uncertainty)


def parts_of_cells(cells: RowCells, score: str = "brier") -> ScoreDecomposition:
    """Decompose a score of the rows of cells by "corp"; see `score_decomposition`.

    Rows of a cell are fitted as one. The score itself takes the predictions of an event, for the
    log loss of all rows, to be at the mean of their cell.
    """
    size, n = cells.n.astype(np.float64), cells.mass
    if score == "log-loss":
        information = xlogy(cells.events, cells.mean) + xlogy(size - cells.events, 1.0 - cells.mean)
        value = -float(information.sum()) / n
    else:
        excess = (cells.events - cells.expected) @ (1.0 - 2.0 * cells.mean)
        value = (float(cells.variance.sum()) + float(excess)) / n
    return _parts(value, cells.events / size, size, np.ones(len(cells), dtype=bool), score)


def _bins(predictions: Predictions, method: str, binning: str, bins: int) -> Cells:
    """Number the distinct predictions, the bins along P(class 1), or the groups."""
    values: AnyArray | None = predictions.groups
    if method == "grades":
        values = predictions.probs[:, 1]
    elif binning == "uniform":
        return uniform_cells(predictions, bins)
    elif binning == "quantile":
        return quantile_cells(predictions, bins)
    if values is None:
        reason = "binning='groups' takes the groups of the Predictions, and there are none"
        remedy = "use Predictions(..., groups=), or method='grades' for the distinct predictions"
        raise NotApplicable(reason, remedy)
    found, number = np.unique(values, return_inverse=True)
    return number, found.size


def _by_cells(predictions: Predictions, number: Ints, count: int) -> ScoreDecomposition:
    p, y, w = predictions.probs[:, 1], predictions.labels, row_weights(predictions)
    w = w / w.sum()
    mass = np.bincount(number, w, count)
    filled = np.where(mass > 0, mass, 1.0)
    mean, rate = (np.bincount(number, w * x, count) / filled for x in (p, y))
    base = float(w @ y)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, number, p)
    np.maximum.at(high, number, p)
    # What is left of the predictions is exactly 0 where those of a bin are equal.
    left_p, left_y = np.where((low == high)[number], 0.0, p - mean[number]), y - rate[number]
    return ScoreDecomposition(
        score=float(w @ np.square(p - y)),
        miscalibration=float(mass @ np.square(mean - rate)),
        discrimination=float(mass @ np.square(rate - base)),
        uncertainty=base * (1.0 - base),
        within_bin_variance=float(w @ np.square(left_p)),
        within_bin_covariance=2.0 * float(w @ (left_p * left_y)),
    )
