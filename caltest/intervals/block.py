"""Intervals for the linear and block SKCE by the normal limit of the mean over blocks."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.intervals.base import Bounds, Method
from caltest.intervals.kernel_bounds import LAW, ZERO, bounds_of_pairs
from caltest.measures import Measure
from caltest.measures.kernel.block_pairs import BlockPairs
from caltest.measures.kernel.skce import MANY_BLOCKS, SKCE
from caltest.numerics.tails import student_isf
from caltest.predictions import Predictions

Floats = NDArray[np.float64]

PAIRS_UP_TO = 20_000  # rows whose pairs take seconds
RARE = (
    "few blocks carry the error, so that the interval is too short; use estimator='unbiased' "
    "(test='skce')"
)
ALL = (
    "few blocks carry the error, and their mean has no normal limit yet: estimate and interval are "
    "of the pairs of all rows, which have the same mean"
)


def applies(measure: Measure) -> bool:
    """Tell whether the measure is a mean over blocks."""
    return isinstance(measure, SKCE) and measure.estimator in {"linear", "block"}


def compute(
    measure: Measure,
    predictions: Predictions,
    *,
    level: float,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Bounds:
    """Bound the SKCE by Student's interval of the mean of independent blocks.

    It holds for calibrated predictions too. The bounds are not below 0, since the SKCE is not.
    Where few blocks carry the error, as where it is rare and a pair of two errors rarer, they are
    those of all pairs of up to 20,000 rows; of more rows those of blocks, with a note.
    """
    bound = measure.bind(predictions, n_jobs)
    if not isinstance(bound, BlockPairs):
        raise TypeError(bound)
    values = bound.block_values(n_jobs)
    if values.size < 2 or np.ptp(values) == 0:
        raise NotApplicable(
            f"the interval needs block values that vary, and these ({values.size} in all) do not; "
            "use estimator='unbiased' (test='skce')"
        )
    estimate = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(values.size)
    reach = student_isf((1.0 - level) / 2.0, values.size - 1) * error
    few = effective_number(values) < MANY_BLOCKS
    if few and predictions.n <= PAIRS_UP_TO:
        return _of_all_pairs(bound, measure.symbol, level, n_jobs)
    notes = (*bound.notes, RARE) if few else bound.notes
    law = f"Student's interval of the mean over {values.size} blocks"
    return Bounds(max(estimate - reach, 0.0), max(estimate + reach, 0.0), estimate, law, notes)


def _of_all_pairs(bound: BlockPairs, symbol: str, level: float, n_jobs: int | None) -> Bounds:
    low, high, estimate = bounds_of_pairs(
        bound.predictions, bound.kernel, level=level, n_jobs=n_jobs, symbol=symbol
    )
    notes = (*bound.notes, ALL) if low > 0 else (*bound.notes, ALL, ZERO)
    return Bounds(low, high, estimate, LAW, notes)


def effective_number(values: Floats) -> float:
    """Return (sum d^2)^2 / sum d^4, the number of blocks that the standard error rests on."""
    squares = np.square(values - values.mean())
    return float(squares.sum() ** 2 / np.square(squares).sum())


METHOD = Method("block", "normal limit of the mean over blocks", applies, compute, resamples=False)
