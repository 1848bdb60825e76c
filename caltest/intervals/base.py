"""What a method of confidence intervals is: it turns predictions into two bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from caltest.measures import Measure
from caltest.predictions import Predictions


@dataclass(frozen=True)
class Bounds:
    """A confidence interval for a measure.

    Attributes
    ----------
    low, high : float
        The ends; an infinite one where the data do not bound the measure.
    estimate : float
        The value between them.
    law : str
        How they were found, in words.
    notes : tuple of str
        What a reader of the interval should know.
    """

    low: float
    high: float
    estimate: float
    law: str
    notes: tuple[str, ...] = ()


class Compute(Protocol):
    """The function of a method."""

    def __call__(
        self,
        measure: Measure,
        predictions: Predictions,
        *,
        level: float,
        n_resamples: int,
        seed: int,
        n_jobs: int | None,
    ) -> Bounds:
        """Return the bounds for predictions as the lens shows them."""


@dataclass(frozen=True)
class Method:
    """A method with its key and one-line title.

    Attributes
    ----------
    applies : callable
        `applies(measure)`: whether the method has a meaning for the measure.
    compute : callable
        `compute(measure, predictions, *, level, n_resamples, seed, n_jobs) -> Bounds`.
    resamples : bool
        Whether the number of resamples and the seed matter.
    """

    key: str
    title: str
    applies: Callable[[Measure], bool]
    compute: Compute
    resamples: bool
