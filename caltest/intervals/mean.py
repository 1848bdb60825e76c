"""Intervals of means of scores: the bootstrap of Student's t, and events that rows may lack."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from caltest.errors import NotApplicable
from caltest.intervals.base import Method, label_counts, resample, resample_cells, rows_to_draw
from caltest.measures import Measure
from caltest.measures.bins.ece import counted
from caltest.measures.outcome import Ends
from caltest.nulls.base import AT_A_TIME, Draws, drawn_values
from caltest.numerics.class_sums import times_drawn
from caltest.predictions import Predictions
from caltest.sources import Cells
from caltest.types import Floats, SmallInts
from caltest.units import row_weights

MANY = 1000.0  # rows that carry the variance of a mean, from which on none is missed
ENOUGH = 250.0  # the same where the mean is the least that an error can be
SMALLEST = float(np.finfo(np.float64).tiny)
LEAST_STANDARD_ERROR = 0.1  # of the standard error, for resamples

Evaluate = Callable[[Floats], Floats]  # numbers of rows of each kind (B, K) -> (B,)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScoredRows:
    """Kinds of rows with a score: each row by itself, or the rows of a cell with equal labels.

    Attributes
    ----------
    weighted, weight : (K,) array
        The score of a row times its weight, and the weight.
    counts : (K,) array
        How many rows there are.
    n : int
        The number of all rows.
    table, probs : (U, m) array
        Scores of all labels, times the weights of single rows, and the probabilities of the labels.
    mass : (U,) array
        The weights of rows, or how many a cell has.
    least : float
        The least value that a score can have.
    cells : Cells, optional
        The cells.
    in_tail : bool
        Whether a label that was not seen is one of the most extreme of all rows, and not the most
        extreme of its row, which of several classes is next to impossible.
    """

    weighted: Floats
    weight: Floats
    counts: Floats
    n: int
    table: Floats
    probs: Floats
    mass: Floats
    least: float = 0.0
    cells: Cells | None = None
    in_tail: bool = False

    @classmethod
    def of_rows(
        cls, predictions: Predictions, table: Floats, weighted: Floats, least: float = 0.0
    ) -> ScoredRows:
        """Return those of rows with these scores, and scores of all their labels, both weighted."""
        weight = np.array(row_weights(predictions))
        return cls(
            weighted=weighted,
            weight=weight,
            counts=np.ones(predictions.n),
            n=predictions.n,
            table=table,
            probs=predictions.probs,
            mass=weight,
            least=least,
        )

    @classmethod
    def of_cells(cls, cells: Cells, scores: Floats) -> ScoredRows:
        """Return those of the rows of cells; scores (2, C) are those without and with the event."""
        counts = label_counts(cells)
        return cls(
            weighted=np.where(counts > 0, scores.ravel(), 0.0),
            weight=np.ones(counts.size),
            counts=counts,
            n=cells.rows,
            table=scores.T,
            probs=np.column_stack([1.0 - cells.mean, cells.mean]),
            mass=cells.n.astype(np.float64),
            cells=cells,
        )

    @cached_property
    def mean(self) -> float:
        """The mean of the scores."""
        return float(self.counts @ self.weighted / (self.counts @ self.weight))

    @cached_property
    def residual(self) -> Floats:
        """Deviations from the mean, so that no sum is a difference of large numbers."""
        return np.asarray(self.weighted - self.mean * self.weight)

    @cached_property
    def carriers(self) -> float:
        """How many rows carry the variance, (sum d^2)^2 / sum d^4 of their deviations."""
        squares = np.square(self.residual)
        fourth = float(self.counts @ np.square(squares))
        return float(self.counts @ squares) ** 2 / fourth if fourth > 0 else 0.0

    @property
    def are_many(self) -> bool:
        """Whether so many rows carry the variance that none is missed."""
        return self.carriers >= MANY

    def resampled(self, evaluate: Evaluate, draws: Draws) -> Floats:
        """Return what `evaluate` gives for resampled numbers of rows of each kind, (B,)."""
        if self.cells is not None:
            return resample_cells(evaluate, self.cells, draws)

        def of(rows: SmallInts) -> float:
            return float(evaluate(times_drawn(rows, self.n).astype(np.float64)[np.newaxis])[0])

        return resample(of, self.n, draws)

    # ---- Student's t ----------------------------------------------------------------------------

    def studentized(self, measure: Measure, level: float, draws: Draws) -> Ends:
        """Bound the mean by resampled values of t; see `studentized_interval`.

        Where many rows of cells carry the variance, the quantiles are those of its expansion in the
        skewness of the scores (Hall 1988, section 3), which the bootstrap takes them from.
        """
        if not np.isfinite(self.weighted).all():
            reason = f"the {measure.symbol} is infinite for these rows"
            raise NotApplicable(reason, "clip the probabilities, as the log loss does with eps=")
        mass = float(self.counts @ self.weight)
        variance = float(self.counts @ np.square(self.residual))
        error = math.sqrt(variance * self.n / (self.n - 1)) / mass
        if error <= 1e-14 * max(1.0, abs(self.mean)):
            raise NotApplicable(f"the {measure.symbol} is the same for all rows", "report it alone")
        a, text = (1.0 - level) / 2.0, "bootstrap of Student's t"
        if self.cells is not None and self.are_many:
            skew = float(self.counts @ self.residual**3) / variance**1.5
            z = float(scipy.special.ndtri(1.0 - a))
            shift = skew * (2.0 * z * z + 1.0) / 6.0
            high_t, low_t = z - shift, -z - shift
            text = "quantiles of Student's t by the skewness of the scores"
        else:
            high_t, low_t = np.nanquantile(self._t(error, draws), [1.0 - a, a]).tolist()
        low = max(self.mean - high_t * error, self.least)
        notes = measure.interval_notes(STUDENTIZED.key, self.n)
        return Ends(low, self.mean - low_t * error, self.mean, text, notes)

    def _t(self, error: float, draws: Draws) -> Floats:
        """Return resampled values of t; not a number with an error below a tenth of the own."""
        residual, weight = self.residual, self.weight
        products = (np.square(residual), residual * weight, np.square(weight))
        parts = np.stack([weight, residual, *products], axis=1)
        more = 1.0 if self.cells is not None else self.n / (self.n - 1)

        def t(counts: Floats) -> Floats:
            mass, total, squares, cross, weights = (counts @ parts).T
            mass = np.where(mass > 0, mass, 1.0)
            shift = total / mass
            left = np.maximum(squares - shift * (2.0 * cross - shift * weights), 0.0)
            own = np.sqrt(left * more) / mass
            known = own >= LEAST_STANDARD_ERROR * error
            return np.where(known, shift / np.where(known, own, 1.0), np.nan)

        return self.resampled(t, draws)

    # ---- a row that has not been seen -----------------------------------------------------------

    def upper_limit(self, a: float, draws: Draws) -> float:
        """Return the upper limit with an unseen row; minus infinity where enough rows carry it."""
        return -math.inf if self.carriers >= ENOUGH else self.limit(1.0, a, draws)

    def limit(self, side: float, a: float, draws: Draws) -> float:
        """Return the limit of the mean on one side, with a row that has not been seen.

        The rows of a kind have exponential weights, whose sum is a gamma number.
        """
        extreme, chance = self._tail(side, a) if self.in_tail else self._unseen(side)
        some = self.counts > 0
        sizes, own, weight = self.counts[some], self.weighted[some], self.weight[some]
        step = max(1, AT_A_TIME // sizes.size)
        typical = float(sizes @ np.square(weight) / (sizes @ weight))  # of a row, by weight

        def batch(rng: np.random.Generator, size: int) -> Floats:
            found = []
            for first in range(0, size, step):
                shape = (min(step, size - first), sizes.size)
                single = self.cells is None
                g = rng.standard_exponential(shape) if single else rng.standard_gamma(sizes, shape)
                total, mass = g @ own, g @ weight
                more = typical * rng.standard_exponential(len(g))
                if extreme.size:
                    total += more * rng.choice(extreme, len(g), p=chance)
                    mass += more
                found.append(total / mass)
            return np.concatenate(found)

        return side * float(np.quantile(side * drawn_values(batch, draws), 1.0 - a))

    def _unseen(self, side: float) -> tuple[Floats, Floats]:
        """Return the extreme scores of rows whose labels are not certain, and their chances."""
        possible = (self.probs > 0) & (self.mass > 0)[:, None]
        label = np.where(possible, side * self.table, -np.inf).argmax(axis=1)[:, None]
        chance = self.mass * np.take_along_axis(self.probs, label, axis=1)[:, 0]
        kept = (chance > 0) & (self.probs < 1).all(axis=1) & (np.ptp(self.table, axis=1) > 0)
        extreme = np.take_along_axis(self.table, label, axis=1)[kept, 0]
        if self.cells is None:
            extreme /= self.mass[kept]
        return extreme, chance[kept] / max(float(chance[kept].sum()), SMALLEST)

    def _tail(self, side: float, a: float) -> tuple[Floats, Floats]:
        """Return the most extreme scores of all labels, and their chances.

        Labels that are expected -log(a) times together are all missed with probability a.
        """
        possible = (self.probs > 0) & (self.mass > 0)[:, None]
        possible &= ((self.probs < 1).all(axis=1) & (np.ptp(self.table, axis=1) > 0))[:, None]
        extreme = (self.table / np.maximum(self.mass, SMALLEST)[:, None])[possible]
        chance = (self.mass[:, None] * self.probs)[possible]
        order = np.argsort(-side * extreme, kind="stable")
        chance = chance[order]
        before = np.cumsum(chance) - chance
        chance = np.minimum(chance, np.maximum(-math.log(a) - before, 0.0))
        kept = chance > 0
        return extreme[order][kept], chance[kept] / max(float(chance.sum()), SMALLEST)

    def with_row_unseen(self, ends: Ends, level: float, draws: Draws) -> Ends:
        """Return ends that reach as far as those with an unseen row, where rows are not many."""
        if self.are_many:
            return ends
        a = (1.0 - level) / 2.0
        low, high = (self.limit(side, a, draws) for side in (-1.0, 1.0))
        low, high = max(min(ends.low, low), self.least), max(ends.high, high)
        return replace(ends, low=low, high=high, method_text=UNSEEN_EVENTS.title)


def studentized_interval(
    measure: Measure, predictions: Predictions, level: float, draws: Draws
) -> Ends:
    r"""Interval of a mean by its standard error and the quantiles of resampled values of t.

    With the mean T, its standard error, and the same of resampled rows,
    :math:`t^* = (T^* - T) / se^*`, the ends are :math:`T - se \, q_{1-a}(t^*)` and
    :math:`T - se \, q_a(t^*)`, :math:`a = (1 - level) / 2`. Scores are skew, and Student's own
    quantiles and BCa stop short of the large ones. A resample without the few rows that matter has
    almost no standard error, and its t is no number; below a tenth of se it is left out.

    References
    ----------
    Hall (1988), Theoretical comparison of bootstrap confidence intervals, Ann. Stat. 16; Efron,
    Tibshirani (1993), An introduction to the bootstrap, section 12.5.
    """
    return scored_rows(measure, rows_to_draw(predictions)).studentized(measure, level, draws)


def scored_rows(measure: Measure, predictions: Predictions) -> ScoredRows:
    """Return the rows with the scores of which the measure is the mean."""
    if measure.least_score is None:
        reason = f"{measure.description} is no mean over rows"
        raise NotApplicable(reason, f"use method={measure.intervals[0]!r}")
    table = measure.score_table(predictions)
    own = np.take_along_axis(table, predictions.labels[:, None], axis=1)[:, 0]
    return ScoredRows.of_rows(predictions, table, own, measure.least_score)


def unseen_events_interval(
    measure: Measure, predictions: Predictions, level: float, draws: Draws
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
    rows = scored_rows(measure, rows_to_draw(predictions))
    if not np.isfinite(rows.weighted).all():
        return rows.studentized(measure, level, draws)
    try:
        ends = rows.studentized(measure, level, draws)
    except NotApplicable:  # the same score in all rows
        ends = Ends(rows.mean, rows.mean, rows.mean, "")
    return rows.with_row_unseen(ends, level, draws)


def cells_interval(
    measure: Measure, cells: Cells, scores: Floats, level: float, draws: Draws
) -> tuple[Ends, bool]:
    """Bound a mean of scores (2, C) of the rows of cells; tell whether resamples were drawn."""
    rows = ScoredRows.of_cells(cells, scores)
    ends = rows.with_row_unseen(rows.studentized(measure, level, draws), level, draws)
    return replace(ends, method_text=f"{ends.method_text}, of cells"), not rows.are_many


def upper_limit(measure: Measure, predictions: Predictions, a: float, draws: Draws) -> float:
    """Return the largest upper end, each missed with probability a, of the error's mean gaps.

    Minus infinity where the error has none, or many rows carry the variance; see
    `Measure.mean_gap_tables`.
    """
    predictions = counted(predictions)
    limits, weight = [-math.inf], np.array(row_weights(predictions))[:, None]
    for table in measure.mean_gap_tables(predictions):
        weighted = weight * table
        own = np.take_along_axis(weighted, predictions.labels[:, None], axis=1)[:, 0]
        limits.append(ScoredRows.of_rows(predictions, weighted, own).upper_limit(a, draws))
    return max(limits)


STUDENTIZED = Method(
    "studentized", "bootstrap of Student's t", studentized_interval, resamples=True
)
UNSEEN_EVENTS = Method(
    "unseen-events",
    "bootstrap of Student's t, or with a row not yet seen",
    unseen_events_interval,
    resamples=True,
)
