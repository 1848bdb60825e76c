"""Intervals that a measure computes itself, such as those of the limit of its own estimate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from caltest.intervals.base import Draws, Method
from caltest.measures import REGISTRY, Measure
from caltest.measures.outcome import Ends
from caltest.predictions import Predictions


def compute(
    measure: Measure, predictions: Predictions, *, level: float, **draws: Unpack[Draws]
) -> Ends:
    """Bound a measure by its own method; see `Measure.own_interval`."""
    return measure.own_interval(predictions, level=level, n_jobs=draws["n_jobs"])


def own_methods() -> Iterator[Method]:
    """Yield the methods that measures declare, each once."""
    titles = {key: title for one in REGISTRY.values() for key, title in one.own_intervals.items()}
    for key, title in titles.items():
        yield Method(key, title, compute, resamples=False)
