"""CORP, Dimitriadis et al. 2021: miscalibration, curve of a diagram, and its consistency band."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Unpack

import numpy as np

from caltest import checks
from caltest.lenses.base import Evaluated, Seen
from caltest.measures.base import REGISTRY, Measure
from caltest.measures.fits import IMPOSSIBLE, ReadOnly, by_member, fitted
from caltest.numerics.event_tails import end_cells, hidden_deviation, hidden_information
from caltest.numerics.isotonic import pool_steps, recalibrated_scores
from caltest.numerics.labels import resample_keys
from caltest.numerics.loops import map_threads, njit, threads
from caltest.predictions import Predictions
from caltest.render import rows_in_words
from caltest.types import Flags, Floats, Ints, Labels
from caltest.units import CellUnits, Observed, RowUnits, Statistic, Units, score_order

__all__ = [
    "CorpBand",
    "CorpCurve",
    "CorpMiscalibration",
    "corp_band",
    "corp_curve",
    "corp_miscalibration",
]


NAME = "the CORP curve"
POINTS = 256  # at equal distances, and as many at equal ranks
BATCH = 32  # resamples drawn from one seed, so that the band does not depend on n_jobs
LEAST_RESAMPLES = 99
SCORES = ("brier", "log-loss")
PRINTED = {"brier": "Brier score", "log-loss": "log loss"}


@dataclass(frozen=True, kw_only=True)
class CorpMiscalibration(Measure):
    """The miscalibration of a score; see `corp_miscalibration`."""

    score: str = checks.option("brier", checks.one_of(SCORES))

    key, title, symbol = "corp", "CORP miscalibration", "MCB"
    function: ClassVar[str] = "corp_miscalibration"
    drawn_as: ClassVar[str] = "corp"
    is_squared: ClassVar[bool] = True
    forms: ClassVar[tuple[str, ...]] = ("rows", "cells")

    @property
    def description(self) -> str:
        return f"{self.title} of the {PRINTED[self.score]}"

    def unseen_reach(self, predictions: Predictions, a: float) -> float:
        cells = end_cells(predictions.probs[:, 1], predictions.labels)
        if self.score == "brier":
            return hidden_deviation(*cells, predictions.n, a)
        return hidden_information(*cells, predictions.n, a) / math.sqrt(2.0)

    def statistic(self, units: Units) -> Statistic:
        units = units.ordered("the CORP measure")
        scored, logarithmic = REGISTRY[self.score]().statistic(units), self.score == "log-loss"
        degenerate = scored.degenerate
        if degenerate and isinstance(units, RowUnits):
            impossible = int(np.count_nonzero(units.mean == 1 - units.observed))
            degenerate = (IMPOSSIBLE.format(rows=rows_in_words(impossible)),)

        def values(observed: Observed) -> Floats:
            """Return scores less those of the isotonic fit, over the weight."""
            shares = shares_of(units, observed)
            fit = recalibrated_scores(shares, units.mass, units.ends, logarithmic)
            # In exact arithmetic it is not negative.
            excess = np.maximum(scored.sums.redrawn(observed)[:, 0] - fit, 0.0)
            return np.asarray(excess / units.total)

        return fitted(
            units,
            values,
            caution="the isotonic fit has no steps within cells",
            parameters={"score": PRINTED[self.score]},
            degenerate=degenerate,
        )


def shares_of(units: Units, observed: Observed) -> Observed:
    """Return the shares of events among the rows of units, of rows their labels."""
    return observed / units.size if isinstance(units, CellUnits) else observed


def corp_miscalibration(
    probs: object, labels: object = None, *, score: str = "brier", **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the miscalibration of the CORP decomposition, what isotonic recalibration gains.

    .. math:: MCB = \frac{1}{n} \sum_i S(p_i, y_i) - \frac{1}{n} \sum_i S(c_i, y_i),

    with c the isotonic fit of the labels to the predictions. There is nothing to tune. It finds
    predictions too high or too low anywhere as long as their order is right; its test redraws the
    labels and fits anew.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    score : {"brier", "log-loss"}
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of the score, at least 0; infinite, with a DegenerateDataWarning, where the log
        loss is. Sample weights count an observation w_i times. Takes O(n log n).

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
    PNAS 118, equation 4 and the test of calibration in its supplement.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.corp_miscalibration([0.25, 0.75], [0, 1])
    0.0625
    """
    return CorpMiscalibration(score=score).evaluate(probs, labels, **rows)


@dataclass(frozen=True, eq=False)
class CorpCurve(ReadOnly):
    """The isotonic fit of the labels to the predictions, in blocks of one value.

    Attributes
    ----------
    left, right : (blocks,) array
        The smallest and the largest prediction of each block, in ascending order.
    probability : (blocks,) array
        The fitted probability of the event, ascending.
    mass : (blocks,) array
        Sum of the weights of its rows, over the mean weight; without weights, their number.
    n : int

    Examples
    --------
    >>> import caltest as ct
    >>> curve = ct.measures.corp_curve([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1])
    >>> curve.probability, curve.at([0.25, 0.6])
    (array([0. , 0.5, 1. ]), array([0.5 , 0.75]))
    """

    left: Floats
    right: Floats
    probability: Floats
    mass: Floats
    n: int

    @property
    def points(self) -> tuple[Floats, Floats]:
        """The corners of the curve, (predictions, probabilities)."""
        x = np.column_stack([self.left, self.right]).ravel()
        y = np.repeat(self.probability, 2)
        kept = np.append(True, np.diff(x) > 0)  # blocks of one prediction have one corner
        return x[kept], y[kept]

    def at(self, probs: object) -> Floats:
        """Return the curve at any predictions; between two blocks it is a straight line."""
        return np.interp(np.asarray(probs, dtype=np.float64), *self.points)


@dataclass(frozen=True, eq=False)
class CorpBand(ReadOnly):
    """Limits between which the CORP curve of a calibrated model lies, at each point by itself.

    Attributes
    ----------
    x : (points,) array
        Predictions in ascending order.
    lower, upper : (points,) array
        The limits there.
    level : float
        Their probability.
    n, n_resamples, seed : int

    Examples
    --------
    >>> import caltest as ct
    >>> band = ct.measures.corp_band([0.5] * 100, [1] * 100, rng=1)
    >>> bool(band.lower[0] < 0.5 < band.upper[0] < 1)
    True
    """

    x: Floats
    lower: Floats
    upper: Floats
    level: float
    n: int
    n_resamples: int
    seed: int


def corp_curve(
    probs: object, labels: object = None, **rows: Unpack[Seen]
) -> CorpCurve | list[CorpCurve]:
    """Fit the curve of a CORP reliability diagram: isotonic regression of labels on predictions.

    There are no bins to choose: the labels do, by pooling adjacent violators.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives a list.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

    Returns
    -------
    CorpCurve
        Sample weights count an observation w_i times.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the lens leaves more than two classes.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
    PNAS 118.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.corp_curve([0.2, 0.4, 0.6, 0.8], [1, 0, 1, 1]).probability
    array([0.5, 1. ])
    """
    return by_member(probs, labels, lambda p: curve_of_units(RowUnits(p)), corp_curve, rows)


def curve_of_units(units: Units) -> CorpCurve:
    """Fit the curve to rows, or to cells, whose predictions count as equal; see `corp_curve`."""
    units = units.ordered(NAME)
    shares = shares_of(units, units.observed)
    mass, events, last = pool_steps(shares, units.mass, units.ends)
    first = np.append(0, last[:-1] + 1)
    return CorpCurve(units.least[first], units.most[last], events / mass, mass, units.rows)


def corp_band(
    probs: object,
    labels: object = None,
    *,
    confidence: float = 0.95,
    n_resamples: int = 999,
    rng: object = None,
    n_jobs: int | None = None,
    **rows: Unpack[Seen],
) -> CorpBand | list[CorpBand]:
    """Compute the consistency band of the CORP curve: where that of a calibrated model lies.

    The predictions are held fixed and labels redrawn from them, as in the exact null; the band
    holds the quantiles of the isotonic fits of those labels at each prediction by itself. A curve
    that leaves the band somewhere is no test: with many predictions some do. test="corp" is one.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes; they decide about a lens, and not otherwise about the band.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives a list.
    confidence : float, default 0.95
        Probability of the limits.
    n_resamples : int, default 999
        Number of redrawn label vectors, at least 99.
    rng : None, int, Generator or SeedSequence
        The seed.
    n_jobs : int, optional
        Threads, as in joblib; the band does not depend on it.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

    Returns
    -------
    CorpBand
        At up to 512 of the predictions.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the lens leaves more than two classes.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
    PNAS 118, supplement, section 4; Broecker, Smith (2007), Increasing the reliability of
    reliability diagrams, Weather and Forecasting 22.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=300, m=2, alpha=1.0, rng=2)
    >>> band = ct.measures.corp_band(data, n_resamples=99, rng=1)
    >>> band.x.size, bool((band.lower <= band.upper).all())
    (300, True)
    """
    level = checks.check_confidence(confidence)
    checks.check_fixed_resamples(n_resamples, "a band", LEAST_RESAMPLES)
    band = partial(_band, level=level, n_resamples=n_resamples, seed=checks.check_seed(rng))
    with threads(checks.check_jobs(n_jobs)):
        return by_member(probs, labels, band, corp_band, rows)


def _band(predictions: Predictions, level: float, n_resamples: int, seed: int) -> CorpBand:
    units = RowUnits(predictions).ordered("the band of " + NAME)
    rows, redrawing = _places(units.mean), predictions.redrawing.taken(score_order(predictions))
    keys, given = resample_keys(seed, n_resamples), (units.mass, units.ends, rows)
    batches = [(keys[i : i + BATCH],) for i in range(0, n_resamples, BATCH)]
    fits = map_threads(lambda some: fits_at(redrawing.labels(some), *given), batches)
    drawn = np.concatenate(list(fits))
    lower, upper = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return CorpBand(units.mean[rows], lower, upper, level, predictions.n, n_resamples, seed)


def _places(event: Floats) -> Ints:
    """Return ascending rows of distinct predictions, the first and the last among them."""
    firsts = np.flatnonzero(np.append(True, event[1:] > event[:-1]))
    if firsts.size <= 2 * POINTS:
        return firsts
    by_rank = np.linspace(0, firsts.size - 1, POINTS).round().astype(np.int64)
    distinct = event[firsts]
    targets = np.linspace(distinct[0], distinct[-1], POINTS)
    by_value = np.minimum(np.searchsorted(distinct, targets), firsts.size - 1)
    return np.asarray(firsts[np.union1d(by_rank, by_value)])


@njit()
def fits_at(labels: Labels, weight: Floats, ends: Flags, rows: Ints) -> Floats:
    """Return the isotonic fit of each row of `labels` (B, n) at the ascending `rows`, (B, rows).

    `labels`, `weight` and `ends` are those of `pool_steps`.
    """
    out = np.empty((labels.shape[0], rows.size))
    for b in range(labels.shape[0]):
        mass, events, last = pool_steps(labels[b], weight, ends)
        k = 0
        for j in range(rows.size):
            while last[k] < rows[j]:
                k += 1
            out[b, j] = events[k] / mass[k]
    return out
