"""Intervals for means of a score of each row, by the bootstrap of Student's t."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.intervals.base import Bounds, Method
from caltest.intervals.resampling import check_rows, resample, total_of
from caltest.intervals.row_functions import row_mean
from caltest.measures import Measure
from caltest.measures.recalibration.mean_calibration import MeanCalibration
from caltest.measures.scores.brier import BrierScore
from caltest.measures.scores.log_loss import LogLoss
from caltest.measures.scores.spherical import SphericalScore
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]

LEAST = 0.1  # of the standard error, for resamples
FEW = 100
SKEW = (
    f"with fewer than {FEW} observations a log loss of rare and large terms can have an interval "
    "that is too short; that of the Brier score is less so"
)


def applies(measure: Measure) -> bool:
    """Tell whether the measure is a mean over rows."""
    return isinstance(measure, BrierScore | LogLoss | SphericalScore | MeanCalibration)


def compute(
    measure: Measure,
    predictions: Predictions,
    *,
    level: float,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Bounds:
    r"""Bound a mean by its standard error and the quantiles of resampled values of t.

    With the mean T, its standard error, and the same of resampled rows,
    :math:`t^* = (T^* - T) / se^*`, the ends are :math:`T - se \, q_{1-a}(t^*)` and
    :math:`T - se \, q_a(t^*)`, :math:`a = (1 - level) / 2`. Scores are skew, and Student's own
    quantiles and BCa stop short of the large ones. A resample without the few rows that matter has
    almost no standard error; below a tenth of se it counts as that.

    References
    ----------
    Hall (1988), Theoretical comparison of bootstrap confidence intervals, Ann. Stat. 16; Efron,
    Tibshirani (1993), An introduction to the bootstrap, section 12.5.
    """
    check_rows(predictions)
    mean = row_mean(measure, predictions)
    estimate = mean(np.arange(predictions.n, dtype=np.int32))
    if not math.isfinite(estimate):
        raise NotApplicable(
            f"the {measure.symbol} is infinite for these rows; clip the probabilities, as the log "
            "loss does with eps="
        )
    # Deviations from the estimate, so that no sum is a difference of large numbers.
    weight = np.array(mean.weight)
    residual = mean.scores - estimate * weight
    error = _error(float(residual @ residual), float(weight.sum()), predictions.n)
    if error <= 1e-14 * max(1.0, abs(estimate)):
        raise NotApplicable(f"the {measure.symbol} is the same for all rows; report it alone")
    parts = (np.square(residual), residual * weight, np.square(weight))

    def evaluate(rows: Rows) -> Floats:
        mass = total_of(rows, weight)
        shift = total_of(rows, residual) / mass if mass > 0 else 0.0
        squares, cross, weights = (total_of(rows, part) for part in parts)
        square = max(squares - shift * (2.0 * cross - shift * weights), 0.0)
        return np.array([shift, _error(square, mass, predictions.n)])

    drawn = resample(evaluate, predictions.n, n_resamples=n_resamples, seed=seed, n_jobs=n_jobs)
    t = drawn[:, 0] / np.maximum(drawn[:, 1], LEAST * error)
    low, high = np.quantile(t, [0.5 + level / 2.0, 0.5 - level / 2.0]).tolist()
    least = -math.inf if isinstance(measure, MeanCalibration) else 0.0
    ends = max(estimate - low * error, least), estimate - high * error
    few = isinstance(measure, LogLoss) and predictions.n < FEW
    return Bounds(*ends, estimate, "bootstrap of Student's t", (SKEW,) if few else ())


def _error(square: float, mass: float, n: int) -> float:
    """Return the standard error of a ratio of sums, from the sum of squared residuals."""
    return math.sqrt(square * n / (n - 1)) / mass if mass > 0 else 0.0


METHOD = Method("studentized", "bootstrap of Student's t", applies, compute, resamples=True)
