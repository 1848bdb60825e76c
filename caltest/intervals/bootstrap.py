"""Intervals of any measure from resampled or left out rows: BCa, jackknife, biased errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy

from caltest.errors import NotApplicable
from caltest.intervals import base
from caltest.intervals.mean import ScoredRows, scored_rows, upper_limit
from caltest.measures import Measure
from caltest.measures.bins.ece import counted
from caltest.measures.bound import BoundCells
from caltest.measures.outcome import Ends
from caltest.nulls.base import Draws, redrawn_values
from caltest.numerics.class_sums import times_drawn
from caltest.numerics.tails import student_isf
from caltest.predictions import Predictions
from caltest.types import Floats, Ints, SmallInts
from caltest.units import Norm

GROUPS = 200  # as many values show the skewness of a sum as well as all rows do
EDGE_NOTE = (
    "the estimate lies at the edge of its bootstrap distribution, as a biased one does: the "
    "interval is unreliable"
)


# ---- measures of the rows that are drawn or left out --------------------------------------------


def of_rows(measure: Measure, predictions: Predictions) -> Callable[[SmallInts], float]:
    """Return the measure as a function of rows, to which it is bound anew."""

    def value(rows: SmallInts) -> float:
        bound = measure.bind(predictions.subset(rows))
        return bound.estimate(bound.value())

    return value


def row_function(measure: Measure, predictions: Predictions) -> Callable[[SmallInts], float]:
    """Return the same, by the scores of rows where it is a mean of these."""
    if measure.least_score is None:
        return of_rows(measure, predictions)
    scores = scored_rows(measure, predictions)
    weighted, weight = scores.weighted, scores.weight

    def mean(rows: SmallInts) -> float:
        times = times_drawn(rows, weight.size)
        return float(times @ weighted) / float(times @ weight)

    return mean


def values_without(
    measure: Measure, predictions: Predictions, seed: int, groups: Ints | None = None
) -> Floats:
    """Return the values without the rows of each of some groups, by default without each row.

    See `rows_without`.
    """
    if groups is None and measure.least_score is not None:
        scores = scored_rows(measure, predictions)
        weighted, weight = scores.weighted, scores.weight
        return np.asarray((weighted.sum() - weighted) / (weight.sum() - weight))
    function = row_function(measure, predictions)
    groups = np.arange(predictions.n) if groups is None else groups
    return np.array([function(rows) for rows in rows_without(groups, seed)])


def rows_without(groups: Ints, seed: int) -> Iterator[SmallInts]:
    """Yield the rows without each group, 0 to G - 1, or where these are many, without several."""
    count = int(groups.max()) + 1
    order = np.random.default_rng(seed).permutation(count) if count > GROUPS else np.arange(count)
    together = np.empty(count, dtype=np.int64)
    parts = np.array_split(order, min(count, GROUPS))
    for number, some in enumerate(parts):
        together[some] = number
    own = together[groups]
    return (np.flatnonzero(own != number).astype(np.int32) for number in range(len(parts)))


# ---- BCa ----------------------------------------------------------------------------------------


def bca_interval(measure: Measure, predictions: Predictions, level: float, draws: Draws) -> Ends:
    """Interval of a measure by bootstrap quantiles, corrected for median bias and skewness.

    Rows, predictions and labels together, are drawn with replacement. The acceleration is that of
    the jackknife, for many rows over groups of them.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals, JASA 82; Efron, Tibshirani (1993), An
    introduction to the bootstrap, section 14.3; `scipy.stats.bootstrap` computes the same.
    """
    predictions = base.rows_to_draw(predictions)
    function = row_function(measure, predictions)
    estimate = function(np.arange(predictions.n, dtype=np.int32))
    # Scores that are infinite are not resampled: they would be taken 0 times.
    values = base.resample(function, predictions.n, draws) if np.isfinite(estimate) else np.empty(0)
    if not (np.isfinite(estimate) and np.isfinite(values).all()):
        reason = f"the {measure.symbol} is infinite for these rows or for some of them"
        raise NotApplicable(reason, "clip the probabilities, as the log loss does with eps=")
    if np.ptp(values) == 0:
        reason = f"the {measure.symbol} is the same for all resamples"
        raise NotApplicable(reason, "report the p-value alone")
    without = values_without(measure, predictions, draws.seed)
    ends, is_edge = bca_ends(values, estimate, acceleration(without), level)
    return Ends(*ends, estimate, "BCa bootstrap", (EDGE_NOTE,) if is_edge else ())


def acceleration(without: Floats) -> float:
    """Return a = sum d^3 / (6 (sum d^2)^1.5), d = mean less values without a row or a group."""
    d = without.mean() - without
    squares = float(np.square(d).sum())
    return float((d**3).sum()) / (6.0 * squares**1.5) if squares > 0 else 0.0


def bca_ends(
    values: Floats, estimate: float, skewed: float, level: float
) -> tuple[tuple[float, float], bool]:
    """Return both ends, and whether the bias correction is at its limit."""
    below = (np.mean(values < estimate) + np.mean(values <= estimate)) / 2.0
    least = 0.5 / values.size
    z0 = scipy.special.ndtri(np.clip(below, least, 1.0 - least))
    z = z0 + scipy.special.ndtri(np.array([0.5 - level / 2.0, 0.5 + level / 2.0]))
    share = np.clip(scipy.special.ndtr(z0 + z / np.maximum(1.0 - skewed * z, 0.05)), 0.0, 1.0)
    low, high = np.quantile(values, share)
    return (float(low), float(high)), bool(min(below, 1.0 - below) < 0.005)


# ---- jackknife ----------------------------------------------------------------------------------


def jackknife_interval(
    measure: Measure, predictions: Predictions, level: float, draws: Draws
) -> Ends:
    r"""Interval of a measure by Student's t with the jackknife standard error.

    With the values :math:`T_g` without one of G groups of rows,
    :math:`se^2 = \frac{G - 1}{G} \sum_g (T_g - \bar T)^2`, and the ends are :math:`T \pm t \, se`,
    not below 0. A squared error is steadier on the scale of its root, as its standard error grows
    with it; there the upper end is

    .. math:: \max(T, 0) + t \, se + \frac{(t \, se)^2}{4 \max(T, t \, se / 2)}.

    What the rows may lack, such as events among rare ones, is added to it; see `with_unseen`.

    References
    ----------
    Efron, Tibshirani (1993), An introduction to the bootstrap, sections 11.5 and 11.7.
    """
    predictions = base.rows_to_draw(predictions)
    estimate, error, degrees = jackknife(measure, predictions, draws.seed)
    a = (1.0 - level) / 2.0
    reach = student_isf(a, degrees) * error
    high = base.with_unseen(measure, predictions, estimate, upper_end(measure, estimate, reach), a)
    method_text = f"Student's interval, jackknife over {degrees + 1} groups of rows"
    return Ends(max(estimate - reach, 0.0), high, estimate, method_text)


class Jackknife(NamedTuple):
    """An estimate with its standard error, and the degrees of freedom of that."""

    estimate: float
    error: float
    degrees: int


def jackknife(
    measure: Measure, predictions: Predictions, seed: int, clusters: Ints | None = None
) -> Jackknife:
    r"""Return a measure with its standard error, from its values without each row or cluster.

    Of G of them, or groups of these where they are many,

    .. math:: se^2 = \frac{G - 1}{G} \sum_g (T_g - \bar T)^2
    """
    function, unit = row_function(measure, predictions), "row" if clusters is None else "cluster"
    estimate = function(np.arange(predictions.n, dtype=np.int32))
    without = values_without(measure, predictions, seed, clusters)
    if not (np.isfinite(estimate) and np.isfinite(without).all()):
        reason = f"the {measure.symbol} is infinite for these rows or without a {unit}"
        raise NotApplicable(reason, "report the p-value alone")
    spread = float(np.square(without - without.mean()).sum())
    if spread == 0:
        reason = f"the {measure.symbol} is the same without any {unit}"
        raise NotApplicable(reason, "report the p-value alone")
    degrees = without.size - 1
    return Jackknife(estimate, float(np.sqrt(degrees / without.size * spread)), degrees)


def upper_end(measure: Measure, estimate: float, reach: float) -> float:
    """Return the upper end of an error whose estimate may be off by `reach`.

    Near 0 the root of a squared error is steadier than itself.
    """
    high = max(estimate, 0.0) + reach
    if measure.is_squared:
        high += reach * reach / (4.0 * max(estimate, reach / 2.0))
    return high


# ---- biased errors ------------------------------------------------------------------------------


def plug_in_interval(
    measure: Measure, predictions: Predictions, level: float, draws: Draws
) -> Ends:
    r"""Interval of an error by resampled rows around their mean, and its noise under calibration.

    A resampled error T* has the bias of the estimate T and another of its own, so that its mean
    takes the place of T. With T0 the error of labels redrawn from the predictions and
    :math:`a = (1 - level) / 2`, the ends are

    .. math:: \max\big(0, T - \max(q_{1-a}(T^0), r + \max(\mu - T, 0))\big), \quad T + r, \quad
        r = \max(\mu - q_a, q_{1-a} - \mu)(T^*).

    Below, the first term is bias and spread where the error is small, the second where it is large.
    Above, an estimate that is too large on average needs the spread alone. An error that is never
    below a mean gap, such as the ICI, has an upper end that is at least that of "unseen-events" for
    it, of either sign.
    """
    predictions = base.rows_to_draw(predictions)
    bound = measure.bind(predictions)
    estimate = bound.estimate(bound.value())
    values = base.resample(of_rows(measure, predictions), predictions.n, draws)
    noise = base.calibrated_values(measure, predictions, draws)
    if not (np.isfinite(values).all() and np.isfinite(noise).all()) or np.ptp(values) == 0:
        reason = f"the {measure.symbol} is infinite, or the same, for all resamples"
        raise NotApplicable(reason, "report the p-value alone")
    a = (1.0 - level) / 2.0
    spread = base.widest_tail(values, a)
    bias = max(float(values.mean()) - estimate, 0.0)
    low = estimate - max(float(np.quantile(noise, 1.0 - a)), spread + bias)
    notes = measure.interval_notes(PLUG_IN.key, predictions.n)
    high = base.with_unseen(measure, predictions, estimate, estimate + spread, a)
    high = max(high, upper_limit(measure, predictions, a, draws))
    return Ends(max(low, 0.0), high, estimate, "bootstrap of a biased error", notes)


BCA = base.Method("bca", "bootstrap, bias-corrected and accelerated", bca_interval, resamples=True)
JACKKNIFE = base.Method(
    "jackknife", "Student's limit, jackknife error", jackknife_interval, resamples=False
)
PLUG_IN = base.Method("plug-in", "bootstrap of a biased error", plug_in_interval, resamples=True)


# ---- errors that are norms of gaps, in bins, of partial sums or at locations ---------------------


def convex_interval(measure: Measure, predictions: Predictions, level: float, draws: Draws) -> Ends:
    r"""Interval of a norm of mean gaps by how far resampled gaps differ from those observed.

    The plug-in error :math:`\lVert \hat G \rVert` is too large on average, a resampled one more
    so: percentile and BCa intervals miss the error almost always where it is small. With
    resampled gaps G*, the norm T0 for labels redrawn from the predictions, mean :math:`\mu` and
    quantiles q over the resamples and :math:`a = (1 - level) / 2`, the ends are

    .. math:: \max\big(0, \lVert \hat G \rVert -
        \max(q_{1-a}(\lVert G^* - \hat G \rVert), q_{1-a}(T^0))\big), \quad
        \lVert \hat G \rVert + \max(\mu - q_a, q_{1-a} - \mu)(\lVert G^* \rVert):

    by the triangle inequality below, and above by Jensen's, for the norm of a mean is at most the
    mean of the norm. T0 is the noise under calibration, which resampled rows show too small where
    bins have one row or two. Where the norm is one mean gap, the largest partial sum, or cannot be
    below that of all rows, the upper end is at least that of "unseen-events" there, which knows how
    skewed few events make it, and that there may be more where none was seen. Neither
    end needs the norm to be differentiable, as the bootstrap of a supremum does, nor the error to
    be positive; the price is that the interval is conservative. The UCME is the square of a norm,
    and so are its ends.

    References
    ----------
    Fang, Santos (2019), Inference on directionally differentiable functions, Rev. Econ. Stud. 86:
    the bootstrap of norms fails at 0 and where the largest gap is not unique.
    """
    predictions = base.rows_to_draw(predictions)
    gaps = measure.gaps(counted(predictions))
    observed = gaps.vector(np.arange(gaps.n, dtype=np.int32))

    def evaluate(rows: SmallInts) -> Floats:
        drawn = gaps.vector(rows)
        return np.array([gaps.norm(drawn), gaps.norm(drawn - observed)])

    a, drawn = (1.0 - level) / 2.0, base.resample(evaluate, gaps.n, draws)
    noise = base.calibrated_values(measure, predictions, draws)
    low, high, estimate = _convex_ends(gaps.norm(observed), drawn, noise, gaps.power, a)
    high = base.with_unseen(measure, predictions, estimate, high, a)
    high = max(high, upper_limit(measure, predictions, a, draws))
    notes = measure.interval_notes(CONVEX.key, predictions.n)
    return Ends(low, high, estimate, CONVEX.title, notes)


def convex_interval_of_cells(
    measure: Measure, bound: BoundCells, norm: Norm, level: float, draws: Draws
) -> Ends:
    """Bound a norm of mean gaps of the rows of cells; see `convex_interval`."""
    a, cells = (1.0 - level) / 2.0, bound.cells

    def vector(counts: Floats) -> Floats:
        others, events = np.split(counts, 2, axis=1)
        return norm.gaps(events * (1.0 - cells.mean) - others * cells.mean, events + others)

    observed = vector(base.label_counts(cells)[np.newaxis])

    def evaluate(counts: Floats) -> Floats:
        drawn = vector(counts)
        return np.stack([norm.of(drawn), norm.of(drawn - observed)], axis=1)

    drawn, noise = base.resample_cells(evaluate, cells, draws), redrawn_values(bound, draws)
    low, high, estimate = _convex_ends(float(norm.of(observed)[0]), drawn, noise, norm.power, a)
    unseen = bound.statistic.unseen if bound.statistic else None
    if unseen is not None:
        high = estimate + math.hypot(high - estimate, unseen(a))
    counts = [np.ones(len(cells)), -np.ones(len(cells))] if measure.bounds_mean_gap else []
    for count in counts if norm.mean_gap is None else [*counts, norm.mean_gap()]:
        scores = count * np.stack([-cells.mean, 1.0 - cells.mean])
        high = max(high, ScoredRows.of_cells(cells, scores).upper_limit(a, draws))
    notes = measure.interval_notes(CONVEX.key, cells.rows)
    return Ends(low, high, estimate, f"{CONVEX.title}, of cells", notes)


def _convex_ends(
    estimate: float, drawn: Floats, noise: Floats, power: int, a: float
) -> tuple[float, float, float]:
    """Return the ends and the estimate, from norms of resampled gaps and of their deviations."""
    values, deviations = drawn.T
    if not deviations.any():
        reason = "the interval needs gaps that vary between rows, and these do not"
        raise NotApplicable(reason, "report the p-value alone")
    noises = np.quantile(deviations, 1.0 - a), np.quantile(noise ** (1.0 / power), 1.0 - a)
    low = max(estimate - float(max(noises)), 0.0)
    high = estimate + base.widest_tail(values, a)
    return low**power, high**power, estimate**power


CONVEX = base.Method("convex", "bootstrap of a norm of gaps", convex_interval, resamples=True)
