"""Intervals for errors that are biased upwards and known by their values alone."""

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
from caltest.intervals.row_functions import AnyMeasure
from caltest.intervals.unseen_events import upper_limit
from caltest.measures import Measure
from caltest.measures.outcome import Ends
from caltest.predictions import Predictions


def compute(
    measure: Measure, predictions: Predictions, *, level: float, **draws: Unpack[Draws]
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
    check_rows(predictions)
    bound = measure.bind(predictions, draws["n_jobs"])
    estimate = bound.estimate(bound.value(draws["n_jobs"]))
    function = AnyMeasure(measure, predictions)
    values = resample(function, predictions.n, **draws)
    noise = calibrated_values(measure, predictions, **draws)
    if not (np.isfinite(values).all() and np.isfinite(noise).all()) or np.ptp(values) == 0:
        raise NotApplicable(
            f"the {measure.symbol} is infinite, or the same, for all resamples",
            "report the p-value alone",
        )
    a = (1.0 - level) / 2.0
    spread = widest_tail(values, a)
    bias = max(float(values.mean()) - estimate, 0.0)
    low = estimate - max(float(np.quantile(noise, 1.0 - a)), spread + bias)
    method_text = "bootstrap of a biased error"
    notes = measure.interval_notes(METHOD.key, predictions.n)
    high = with_unseen(measure, predictions, estimate, estimate + spread, a)
    high = max(high, upper_limit(measure, predictions, a, **draws))
    return Ends(max(low, 0.0), high, estimate, method_text, notes)


METHOD = Method("plug-in", "bootstrap of a biased error", compute, resamples=True)
