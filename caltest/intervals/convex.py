"""Intervals for errors that are norms of gaps, in bins, of partial sums or at locations."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from caltest.errors import NotApplicable
from caltest.intervals.base import (
    Draws,
    Method,
    calibrated_values,
    check_rows,
    resample,
    widest_tail,
    with_unseen,
)
from caltest.intervals.unseen_events import upper_limit
from caltest.measures import Measure
from caltest.measures.outcome import Ends, Gaps
from caltest.predictions import Predictions
from caltest.types import Floats, SmallInts


def gaps_of(measure: Measure, predictions: Predictions) -> Gaps:
    """Return the gaps of a measure that has them; rows of weight 0 take no part."""
    weight = predictions.sample_weight
    if weight is not None and not weight.all():
        predictions = predictions.subset(weight > 0)
    return measure.gaps(predictions)


def compute(
    measure: Measure, predictions: Predictions, *, level: float, **draws: Unpack[Draws]
) -> Ends:
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
    bins have one row or two. Where the norm is one mean gap, the largest partial sum, the upper end
    is at least that of "unseen-events" there, which knows how skewed few events make it. Neither
    end needs the norm to be differentiable, as the bootstrap of a supremum does, nor the error to
    be positive; the price is that the interval is conservative. The UCME is the square of a norm,
    and so are its ends.

    References
    ----------
    Fang, Santos (2019), Inference on directionally differentiable functions, Rev. Econ. Stud. 86:
    the bootstrap of norms fails at 0 and where the largest gap is not unique.
    """
    check_rows(predictions)
    gaps = gaps_of(measure, predictions)
    observed = gaps.vector(np.arange(gaps.n, dtype=np.int32))
    estimate = gaps.norm(observed)

    def evaluate(rows: SmallInts) -> Floats:
        drawn = gaps.vector(rows)
        return np.array([gaps.norm(drawn), gaps.norm(drawn - observed)])

    values, deviations = resample(evaluate, gaps.n, **draws).T
    if not deviations.any():
        raise NotApplicable(
            "the interval needs gaps that vary between rows, and these do not",
            "report the p-value alone",
        )
    a = (1.0 - level) / 2.0
    noise = calibrated_values(measure, predictions, **draws) ** (1.0 / gaps.power)
    noises = np.quantile(deviations, 1.0 - a), np.quantile(noise, 1.0 - a)
    low = max(estimate - float(max(noises)), 0.0)
    high = estimate + widest_tail(values, a)
    low, high, estimate = (end**gaps.power for end in (low, high, estimate))
    high = with_unseen(measure, predictions, estimate, high, a)
    high = max(high, upper_limit(measure, predictions, a, **draws))
    notes = measure.interval_notes(METHOD.key, predictions.n)
    return Ends(low, high, estimate, "bootstrap of a norm of gaps", notes)


METHOD = Method("convex", "bootstrap of a norm of gaps", compute, resamples=True)
