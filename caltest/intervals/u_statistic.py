"""Intervals for kernel calibration errors by the normal limit of the U-statistic."""

from __future__ import annotations

import math

import numpy as np

from caltest.errors import NotApplicable
from caltest.intervals.base import Bounds, Method
from caltest.kernels import FittedKernel
from caltest.measures import Measure
from caltest.measures.kce import KCE
from caltest.measures.kernel_pairs import AllPairs, all_pairs
from caltest.measures.mmce import MMCE
from caltest.measures.skce import SKCE
from caltest.measures.skce_error import jackknife_error
from caltest.numerics.tails import normal_isf
from caltest.predictions import Predictions

BIASED = "the estimate is biased upwards; the interval is that of the unbiased one"
ZERO = (
    "the normal limit holds where the predictions are not calibrated; an interval that reaches 0 "
    "says no more than that"
)


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
    r"""Bound the SKCE by its unbiased estimate U and jackknife standard error.

    Away from 0, :math:`\sqrt U` is the length of a mean and closer to normal than U, whose error
    grows with U. So the interval takes the lower end of :math:`U \pm z \, se` and the upper end
    of the interval for the root, squared:

    .. math:: \max(U - z \, se, 0), \quad
        \max(U, 0) + z \, se + \frac{(z \, se)^2}{4 \max(U, z \, se / 2)}.

    Kernel and bandwidth are those of the test; the interval is for the SKCE with that kernel.

    References
    ----------
    Serfling (1980), Approximation theorems of mathematical statistics, section 5.5.1; Arvesen
    (1969), Jackknifing U-statistics.
    """
    if not isinstance(measure, SKCE | KCE | MMCE):
        raise TypeError(measure)
    kernel = FittedKernel(measure.matrix_kernel, predictions.probs, n_jobs)
    estimate, error = _jackknife(all_pairs(predictions, kernel, biased=False), n_jobs)
    if error == 0:
        raise NotApplicable(
            f"the {measure.symbol} is the same without any row; report the p-value alone"
        )
    reach = normal_isf((1.0 - level) / 2.0) * error
    low = max(estimate - reach, 0.0)
    high = max(estimate, 0.0) + reach + reach * reach / (4.0 * max(estimate, reach / 2.0))
    is_root = not isinstance(measure, SKCE)
    shown = max(estimate, 0.0) if is_root else estimate
    notes = kernel.notes
    if is_root or (isinstance(measure, SKCE) and measure.estimator == "biased"):
        notes = (*notes, BIASED)
    ends = (low, high, shown)
    low, high, shown = map(math.sqrt, ends) if is_root else ends
    law = "normal limit of the U-statistic, jackknife standard error"
    return Bounds(low, high, shown, law, notes if low > 0 else (*notes, ZERO))


def _jackknife(pairs: AllPairs, n_jobs: int | None) -> tuple[float, float]:
    if pairs.predictions.sample_weight is None:
        return jackknife_error(pairs, n_jobs)
    return _weighted_jackknife(pairs, n_jobs)


def _weighted_jackknife(pairs: AllPairs, n_jobs: int | None) -> tuple[float, float]:
    """Leave out one row of positive weight at a time; h_ij counts w_i w_j times."""
    weight = pairs.weight
    sums = pairs.row_sums(n_jobs)[weight > 0]
    weight = weight[weight > 0]
    n, total, squares = weight.size, float(weight.sum()), float(np.square(weight).sum())
    if n < 3:
        raise NotApplicable(
            f"the jackknife needs three observations of positive weight, and there are {n}; "
            "report the p-value alone"
        )
    whole = float(sums.sum())
    mass = np.square(total - weight) - (squares - np.square(weight))
    without = (whole - 2.0 * sums) / mass
    variance = (n - 1) / n * float(np.square(without - without.mean()).sum())
    return whole / (total**2 - squares), math.sqrt(variance)


METHOD = Method("u-statistic", "normal limit of the U-statistic", applies, compute, resamples=False)
