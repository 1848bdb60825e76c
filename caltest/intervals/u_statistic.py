"""Intervals for kernel calibration errors by the normal limit of the U-statistic."""

from __future__ import annotations

import math

from caltest.intervals.base import Bounds, Method
from caltest.intervals.kernel_bounds import LAW, ZERO, bounds_of_pairs
from caltest.kernels import FittedKernel
from caltest.measures import Measure
from caltest.measures.kernel.kce import KCE
from caltest.measures.kernel.mmce import MMCE
from caltest.measures.kernel.skce import SKCE
from caltest.predictions import Predictions

BIASED = "the estimate is biased upwards; the interval is that of the unbiased one"


def applies(measure: Measure) -> bool:
    """Tell whether the measure is a quadratic SKCE or the root of one."""
    if isinstance(measure, SKCE):
        return measure.estimator in {"unbiased", "biased"}
    return isinstance(measure, KCE | MMCE)


def compute(
    measure: Measure,
    predictions: Predictions,
    *,
    level: float,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Bounds:
    """Bound the SKCE by its unbiased estimate and jackknife standard error; see `bounds_of_pairs`.

    Kernel and bandwidth are those of the test; the interval is for the SKCE with that kernel.
    """
    if not isinstance(measure, SKCE | KCE | MMCE):
        raise TypeError(measure)
    kernel = FittedKernel(measure.matrix_kernel, predictions.probs, n_jobs)
    low, high, estimate = bounds_of_pairs(
        predictions, kernel, level=level, n_jobs=n_jobs, symbol=measure.symbol
    )
    is_root = not isinstance(measure, SKCE)
    ends = (low, high, max(estimate, 0.0) if is_root else estimate)
    low, high, shown = map(math.sqrt, ends) if is_root else ends
    notes = kernel.notes
    if is_root or (isinstance(measure, SKCE) and measure.estimator == "biased"):
        notes = (*notes, BIASED)
    return Bounds(low, high, shown, LAW, notes if low > 0 else (*notes, ZERO))


METHOD = Method("u-statistic", "normal limit of the U-statistic", applies, compute, resamples=False)
