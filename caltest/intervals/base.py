"""What a method of confidence intervals is: it turns predictions into two ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypedDict, Unpack

from caltest.measures import Measure
from caltest.measures.outcome import Ends
from caltest.predictions import Predictions


class Draws(TypedDict):
    """How many resamples a method draws, from which seed, in how many threads."""

    n_resamples: int
    seed: int
    n_jobs: int | None


class Compute(Protocol):
    """The function of a method."""

    def __call__(
        self, measure: Measure, predictions: Predictions, *, level: float, **draws: Unpack[Draws]
    ) -> Ends:
        """Return the ends for predictions as the lens shows them."""


@dataclass(frozen=True)
class Method:
    """A method with its key and one-line title; `Measure.intervals` has the keys that apply.

    Attributes
    ----------
    compute : callable
        `compute(measure, predictions, *, level, n_resamples, seed, n_jobs) -> Ends`.
    resamples : bool
        Whether the number of resamples and the seed matter.
    """

    key: str
    title: str
    compute: Compute
    resamples: bool
