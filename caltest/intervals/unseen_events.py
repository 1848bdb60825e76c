"""Intervals for means of a score of each row that know the events which the rows may lack."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Unpack

import numpy as np

from caltest.errors import NotApplicable
from caltest.intervals import studentized
from caltest.intervals.base import Draws, Method, check_rows
from caltest.measures import Measure
from caltest.measures.outcome import Ends, RowScores
from caltest.nulls.base import AT_A_TIME, batch_seeds
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions
from caltest.types import Floats
from caltest.units.units import row_weights

MANY = 1000.0  # rows that carry the variance of the mean, from which on none is missed


def compute(
    measure: Measure, predictions: Predictions, *, level: float, **draws: Unpack[Draws]
) -> Ends:
    r"""Interval of a mean by the bootstrap of Student's t, or with unseen rows where that is wider.

    Among few events, or none, a bootstrap of the rows cannot show how their mean varies. So the
    rows get random weights :math:`g_i \sim Exp(1)`, as in the Bayesian bootstrap, and one more row
    is added that has not been seen, for the upper end with the label that has the largest score,

    .. math:: T^* = \frac{\sum_i g_i s_i + g_0 s^+}{\sum_i g_i + g_0}, \quad
        s^+ = \max_k s_j(k) \text{ with probability } \propto p_j(k),

    and for the lower end with the label that has the least. The ends are the quantiles at
    :math:`1 - a` and a, :math:`a = (1 - level) / 2`, or those of "studentized" where they reach
    farther. For d events of score 1 among n rows of score 0 they are the quantiles of Beta(d + 1,
    n - d) and of Beta(d, n - d + 1), the exact limits of a binomial share.

    References
    ----------
    Rubin (1981), The Bayesian bootstrap, Ann. Stat. 9; Gaffke (2005), Three test statistics for a
    nonparametric one-sided hypothesis on the mean of a nonnegative variable, Math. Methods Stat.
    14: the upper end with the largest possible score; Clopper, Pearson (1934), Biometrika 26.
    """
    check_rows(predictions)
    scores = measure.row_scores(predictions)
    table = measure.score_table(predictions)
    if scores is None or not np.isfinite(scores.weighted).all():
        return studentized.compute(measure, predictions, level=level, **draws)
    mean = float(scores.weighted.sum() / scores.weight.sum())
    try:
        ends = studentized.compute(measure, predictions, level=level, **draws)
    except NotApplicable:  # the same score in all rows
        ends = Ends(mean, mean, mean, "")
    if _effective_number(scores, mean) >= MANY:
        return ends
    a = (1.0 - level) / 2.0
    low, high = (limit(predictions, scores, table, side, a, **draws) for side in (-1.0, 1.0))
    text = "bootstrap of Student's t, or with a row not yet seen"
    low, high = max(min(ends.low, low), scores.least), max(ends.high, high)
    return replace(ends, low=low, high=high, method_text=text)


def upper_limit(
    measure: Measure, predictions: Predictions, a: float, **draws: Unpack[Draws]
) -> float:
    """Return the largest upper end, each missed with probability a, of the error's mean gaps.

    Minus infinity where the error has none, or many rows carry the variance; see
    `Measure.mean_gap_tables`.
    """
    tables = measure.mean_gap_tables(predictions)
    return max((_upper_limit_of(predictions, one, a, draws) for one in tables), default=-math.inf)


def _upper_limit_of(predictions: Predictions, table: Floats, a: float, draws: Draws) -> float:
    weight = np.array(row_weights(predictions))
    own = np.take_along_axis(table, predictions.labels[:, None], axis=1)[:, 0]
    scores = RowScores(weight * own, weight)
    mean = float(scores.weighted.sum() / weight.sum())
    if _effective_number(scores, mean) >= MANY:
        return -math.inf
    return limit(predictions, scores, weight[:, None] * table, 1.0, a, **draws)


def limit(
    predictions: Predictions,
    scores: RowScores,
    table: Floats,
    side: float,
    a: float,
    **draws: Unpack[Draws],
) -> float:
    """Return the limit of a mean on one side, with a row that has not been seen."""
    drawn = _drawn(predictions, scores, table, side, draws)
    return side * float(np.quantile(side * drawn, 1.0 - a))


def _drawn(
    predictions: Predictions, scores: RowScores, table: Floats, side: float, draws: Draws
) -> Floats:
    """Return means of the rows, and of one with the most extreme label, with random weights."""
    extreme, chance = _unseen(predictions, scores, table, side)
    weight = np.array(scores.weight)
    typical = float(weight.mean())

    def batch_means(child: np.random.SeedSequence, size: int) -> Floats:
        rng = np.random.default_rng(child)
        found, step = [], max(1, AT_A_TIME // predictions.n)
        for first in range(0, size, step):
            g = rng.standard_exponential((min(step, size - first), predictions.n))
            own = typical * rng.standard_exponential(len(g))
            other = rng.choice(extreme, len(g), p=chance) if extreme.size else np.zeros(len(g))
            mass = own if extreme.size else 0.0
            found.append((g @ scores.weighted + mass * other) / (g @ weight + mass))
        return np.concatenate(found)

    batches = batch_seeds(draws["seed"], draws["n_resamples"])
    return np.concatenate(list(map_threads(batch_means, batches, draws["n_jobs"])))


def _unseen(
    predictions: Predictions, scores: RowScores, table: Floats, side: float
) -> tuple[Floats, Floats]:
    """Return the extreme scores of rows whose labels are not certain, and their chances."""
    probs, weight = predictions.probs, np.array(scores.weight)
    possible = (probs > 0) & (weight > 0)[:, None]
    ranked = np.where(possible, side * table, -np.inf)
    label = ranked.argmax(axis=1)[:, None]
    chance = weight * np.take_along_axis(probs, label, axis=1)[:, 0]
    kept = (chance > 0) & (probs < 1).all(axis=1) & (np.ptp(table, axis=1) > 0)
    extreme = np.take_along_axis(table, label, axis=1)[kept, 0] / weight[kept]
    return extreme, chance[kept] / chance[kept].sum() if kept.any() else chance[kept]


def _effective_number(scores: RowScores, mean: float) -> float:
    """Return (sum d^2)^2 / sum d^4 of the deviations: how many rows carry the variance."""
    squares = np.square(scores.weighted - mean * scores.weight)
    fourth = float(np.square(squares).sum())
    return float(squares.sum() ** 2 / fourth) if fourth > 0 else 0.0


METHOD = Method(
    "unseen-events", "bootstrap of Student's t, or with a row not yet seen", compute, resamples=True
)
