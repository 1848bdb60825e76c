"""Intervals for the ratio of expected to observed events."""

from __future__ import annotations

from caltest.intervals.base import Bounds, Method
from caltest.measures import Measure
from caltest.measures.recalibration.expected_observed_ratio import (
    ExpectedObservedRatio,
    expected_observed_interval,
)
from caltest.predictions import Predictions


def applies(measure: Measure) -> bool:
    """Tell whether the measure is E/O."""
    return isinstance(measure, ExpectedObservedRatio)


def compute(
    measure: Measure,
    predictions: Predictions,
    *,
    level: float,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Bounds:
    """Bound E/O by Clopper-Pearson limits of the observed count, E as it is.

    `expected_observed_interval` is the same, with other limits to choose from.
    """
    found = expected_observed_interval(predictions, level=level)
    if isinstance(found, list):
        raise TypeError(found)
    law = "Clopper-Pearson limits of the observed count"
    return Bounds(found.low, found.high, found.ratio, law)


METHOD = Method("event-count", "limits of the observed count", applies, compute, resamples=False)
