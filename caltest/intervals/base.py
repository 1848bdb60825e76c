"""What a method of confidence intervals is: it turns predictions into two ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypedDict, Unpack

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures import REGISTRY, Measure
from caltest.measures.outcome import Ends
from caltest.nulls.base import batch_seeds, redrawn_values
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions
from caltest.types import Floats, SmallInts


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


FEWEST_ROWS = 5


def resample(
    evaluate: Callable[[SmallInts], float | Floats],
    n: int,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Floats:
    """Return `evaluate(rows)` for rows drawn with replacement, one resample after the other.

    Returns
    -------
    (n_resamples, ...) array
        What `evaluate` returned for each.
    """

    def batch_values(child: np.random.SeedSequence, size: int) -> list[float | Floats]:
        rng = np.random.default_rng(child)
        return [evaluate(rng.integers(n, size=n, dtype=np.int32)) for _ in range(size)]

    batches = map_threads(batch_values, batch_seeds(seed, n_resamples), n_jobs)
    return np.array([values for batch in batches for values in batch])


def calibrated_values(
    measure: Measure, predictions: Predictions, *, n_resamples: int, seed: int, n_jobs: int | None
) -> Floats:
    """Return the errors (n_resamples,) for labels redrawn from the predictions."""
    bound = measure.bind(predictions, n_jobs)
    values = redrawn_values(bound, n_resamples=n_resamples, seed=seed, n_jobs=n_jobs)
    return np.array([bound.estimate(value) for value in values.tolist()])


def check_rows(predictions: Predictions) -> None:
    """Raise NotApplicable where there are too few rows to resample."""
    if predictions.n < FEWEST_ROWS:
        raise NotApplicable(
            f"a bootstrap interval needs at least {FEWEST_ROWS} observations, and there are "
            f"{predictions.n}",
            "collect more, or report the p-value alone",
        )


def widest_tail(values: Floats, a: float) -> float:
    """Return how far from their mean the values reach, leaving out a share `a` at either end.

    The mean takes the place of the estimate, which resampling moves by its bias.
    """
    low, high = np.quantile(values, [a, 1.0 - a]) - values.mean()
    return float(max(-low, high))


def with_unseen(
    measure: Measure, predictions: Predictions, estimate: float, high: float, a: float
) -> float:
    """Return the upper end with what the rows may lack, as an independent reach of its own.

    On the scale of the root where the error is a square; see `Measure.unseen_reach`.
    """
    weight = predictions.sample_weight
    if weight is not None and not weight.all():
        predictions = predictions.subset(weight > 0)
    unseen = measure.unseen_reach(predictions, a)
    if unseen == 0:
        return high
    if not measure.is_squared:
        return estimate + math.hypot(high - estimate, unseen)
    root = math.sqrt(max(estimate, 0.0))
    return (root + math.hypot(math.sqrt(max(high, 0.0)) - root, unseen)) ** 2
