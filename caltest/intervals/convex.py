"""Intervals for errors that are norms of gaps, in bins, of partial sums or at locations."""

from __future__ import annotations

import math

import numpy as np

from caltest.errors import NotApplicable
from caltest.intervals import base
from caltest.intervals.mean import ScoredRows, upper_limit
from caltest.measures import Measure
from caltest.measures.bins.ece import counted
from caltest.measures.bound import BoundCells
from caltest.measures.outcome import Ends
from caltest.nulls.base import Draws, redrawn_values
from caltest.predictions import Predictions
from caltest.types import Floats, SmallInts
from caltest.units import Norm


def compute(measure: Measure, predictions: Predictions, level: float, draws: Draws) -> Ends:
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
    low, high, estimate = _ends(gaps.norm(observed), drawn, noise, gaps.power, a)
    high = base.with_unseen(measure, predictions, estimate, high, a)
    high = max(high, upper_limit(measure, predictions, a, draws))
    notes = measure.interval_notes(METHOD.key, predictions.n)
    return Ends(low, high, estimate, METHOD.title, notes)


def cells_interval(
    measure: Measure, bound: BoundCells, norm: Norm, level: float, draws: Draws
) -> Ends:
    """Bound a norm of mean gaps of the rows of cells; see `compute`."""
    a, cells = (1.0 - level) / 2.0, bound.cells

    def vector(counts: Floats) -> Floats:
        others, events = np.split(counts, 2, axis=1)
        return norm.gaps(events * (1.0 - cells.mean) - others * cells.mean, events + others)

    observed = vector(base.label_counts(cells)[np.newaxis])

    def evaluate(counts: Floats) -> Floats:
        drawn = vector(counts)
        return np.stack([norm.of(drawn), norm.of(drawn - observed)], axis=1)

    drawn, noise = base.resample_cells(evaluate, cells, draws), redrawn_values(bound, draws)
    low, high, estimate = _ends(float(norm.of(observed)[0]), drawn, noise, norm.power, a)
    unseen = bound.statistic.unseen if bound.statistic else None
    if unseen is not None:
        high = estimate + math.hypot(high - estimate, unseen(a))
    counts = [np.ones(len(cells)), -np.ones(len(cells))] if measure.bounds_mean_gap else []
    for count in counts if norm.mean_gap is None else [*counts, norm.mean_gap()]:
        scores = count * np.stack([-cells.mean, 1.0 - cells.mean])
        high = max(high, ScoredRows.of_cells(cells, scores).upper_limit(a, draws))
    notes = measure.interval_notes(METHOD.key, cells.rows)
    return Ends(low, high, estimate, f"{METHOD.title}, of cells", notes)


def _ends(
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


METHOD = base.Method("convex", "bootstrap of a norm of gaps", compute, resamples=True)
