"""Bias-corrected and accelerated bootstrap intervals, for any measure."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import scipy

from caltest.errors import NotApplicable
from caltest.intervals.base import Draws, Method, check_rows, resample
from caltest.intervals.row_functions import row_function
from caltest.measures import Measure
from caltest.measures.outcome import Ends
from caltest.predictions import Predictions
from caltest.types import Floats

EDGE_NOTE = (
    "the estimate lies at the edge of its bootstrap distribution, as a biased one does: the "
    "interval is unreliable"
)


def compute(
    measure: Measure, predictions: Predictions, *, level: float, **draws: Unpack[Draws]
) -> Ends:
    """Interval of a measure by bootstrap quantiles, corrected for median bias and skewness.

    Rows, predictions and labels together, are drawn with replacement. The acceleration is that of
    the jackknife, for many rows over groups of them.

    References
    ----------
    Efron (1987), Better bootstrap confidence intervals, JASA 82; Efron, Tibshirani (1993), An
    introduction to the bootstrap, section 14.3; `scipy.stats.bootstrap` computes the same.
    """
    check_rows(predictions)
    function = row_function(measure, predictions)
    estimate = function(np.arange(predictions.n, dtype=np.int32))
    values = resample(function, predictions.n, **draws)
    if not (np.isfinite(estimate) and np.isfinite(values).all()):
        raise NotApplicable(
            f"the {measure.symbol} is infinite for these rows or for some of them",
            "clip the probabilities, as the log loss does with eps=",
        )
    if np.ptp(values) == 0:
        raise NotApplicable(
            f"the {measure.symbol} is the same for all resamples", "report the p-value alone"
        )
    skewed = acceleration(function.without_groups(draws["seed"]))
    ends, is_edge = bca_ends(values, estimate, skewed, level)
    method_text = "BCa bootstrap"
    return Ends(*ends, estimate, method_text, (EDGE_NOTE,) if is_edge else ())


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


METHOD = Method("bca", "bootstrap, bias-corrected and accelerated", compute, resamples=True)
