"""What a null is: it turns the value of a measure into a p-value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from caltest.errors import NotApplicable
from caltest.measures.base import Measure, Outcome
from caltest.predictions import Predictions


@dataclass(frozen=True)
class Null:
    """A null with its key, one-line title and method.

    Attributes
    ----------
    test : callable
        `test(measure, predictions, *, n_resamples, seed, n_jobs) -> Outcome`.
    resamples : bool
        Whether the number of resamples and the seed matter.
    """

    key: str
    title: str
    test: Callable[..., Outcome]
    resamples: bool


def check_applicable(measure: Measure, key: str) -> None:
    """Raise NotApplicable, with the alternatives, where the null has no meaning for the measure."""
    if key not in measure.nulls:
        some = "one of " if len(measure.nulls) > 1 else ""
        raise NotApplicable(
            f"null {key!r} has no meaning for {measure.description}",
            f"use {some}{', '.join(map(repr, measure.nulls))}",
        )


def check_unweighted(predictions: Predictions, key: str) -> None:
    """Raise NotApplicable where sample weights would break the null's assumptions."""
    if predictions.sample_weight is not None:
        raise NotApplicable(f"null {key!r} takes no sample weights", "use null='exact'")
