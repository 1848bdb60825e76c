"""Intervals for means of a score of each row, by the bootstrap of Student's t."""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from caltest.errors import NotApplicable
from caltest.intervals.base import Draws, Method, check_rows, resample
from caltest.measures import Measure
from caltest.measures.outcome import Ends
from caltest.numerics.resampled_sums import total_of
from caltest.predictions import Predictions
from caltest.types import Floats, SmallInts

LEAST_STANDARD_ERROR = 0.1  # of the standard error, for resamples


def compute(
    measure: Measure, predictions: Predictions, *, level: float, **draws: Unpack[Draws]
) -> Ends:
    r"""Interval of a mean by its standard error and the quantiles of resampled values of t.

    With the mean T, its standard error, and the same of resampled rows,
    :math:`t^* = (T^* - T) / se^*`, the ends are :math:`T - se \, q_{1-a}(t^*)` and
    :math:`T - se \, q_a(t^*)`, :math:`a = (1 - level) / 2`. Scores are skew, and Student's own
    quantiles and BCa stop short of the large ones. A resample without the few rows that matter has
    almost no standard error; below a tenth of se it counts as that.

    References
    ----------
    Hall (1988), Theoretical comparison of bootstrap confidence intervals, Ann. Stat. 16; Efron,
    Tibshirani (1993), An introduction to the bootstrap, section 12.5.
    """
    check_rows(predictions)
    scores = measure.row_scores(predictions)
    if scores is None:
        raise NotApplicable(
            f"{measure.description} is no mean over rows", f"use method={measure.intervals[0]!r}"
        )
    every = np.arange(predictions.n, dtype=np.int32)
    estimate = total_of(every, scores.weighted) / total_of(every, np.array(scores.weight))
    if not math.isfinite(estimate):
        raise NotApplicable(
            f"the {measure.symbol} is infinite for these rows",
            "clip the probabilities, as the log loss does with eps=",
        )
    # Deviations from the estimate, so that no sum is a difference of large numbers.
    weight = np.array(scores.weight)
    residual = scores.weighted - estimate * weight
    error = _error(float(residual @ residual), float(weight.sum()), predictions.n)
    if error <= 1e-14 * max(1.0, abs(estimate)):
        raise NotApplicable(f"the {measure.symbol} is the same for all rows", "report it alone")
    parts = (np.square(residual), residual * weight, np.square(weight))

    def evaluate(rows: SmallInts) -> Floats:
        mass = total_of(rows, weight)
        shift = total_of(rows, residual) / mass if mass > 0 else 0.0
        squares, cross, weights = (total_of(rows, part) for part in parts)
        square = max(squares - shift * (2.0 * cross - shift * weights), 0.0)
        return np.array([shift, _error(square, mass, predictions.n)])

    drawn = resample(evaluate, predictions.n, **draws)
    t = drawn[:, 0] / np.maximum(drawn[:, 1], LEAST_STANDARD_ERROR * error)
    low, high = np.quantile(t, [0.5 + level / 2.0, 0.5 - level / 2.0]).tolist()
    ends = max(estimate - low * error, scores.least), estimate - high * error
    notes = measure.interval_notes(METHOD.key, predictions.n)
    return Ends(*ends, estimate, "bootstrap of Student's t", notes)


def _error(square: float, mass: float, n: int) -> float:
    """Return the standard error of a ratio of sums, from the sum of squared residuals."""
    return math.sqrt(square * n / (n - 1)) / mass if mass > 0 else 0.0


METHOD = Method("studentized", "bootstrap of Student's t", compute, resamples=True)
