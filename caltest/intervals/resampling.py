"""Bootstrap resamples of rows, in fixed batches: the same values for any n_jobs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures import Measure
from caltest.nulls.base import batch_seeds, redrawn_values
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]

FEWEST_ROWS = 5


def resample(
    evaluate: Callable[[Rows], float | Floats],
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
