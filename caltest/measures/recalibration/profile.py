"""Profile-likelihood bounds of a calibration slope or intercept."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.measures.recalibration.belt_loops import likelihood_bounds
from caltest.measures.recalibration.binary_loops import (
    Rows,
    all_rows,
    recalibrations,
    standard_rows,
)
from caltest.measures.recalibration.deviation_fit import deviation_sums

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]

INTERCEPT_ALONE, INTERCEPT, SLOPE = range(3)  # columns of the estimates; alone: for slope 1
FARTHEST = 1e6  # standard deviations of the log odds; no likelihood needs more


def profile_bounds(
    x: Floats, labels: Labels, weight: Floats, column: int, reach: float
) -> tuple[float, float]:
    r"""Return the values that the likelihood allows, the other coefficient at its best for each.

    .. math:: \{\theta : 2 [\max \ell - \max_\psi \ell(\theta, \psi)] \le r^2\}

    Where the labels leave the estimate infinite, because there is no event or a threshold separates
    them, so is one end; the maximum is then the supremum.

    Parameters
    ----------
    x, labels, weight : (n,) array
        Log odds, 0 or 1, and how many rows each stands for.
    column : int
        Which coefficient.
    reach : float
        r, of standard normal or Student's deviates.

    References
    ----------
    Venzon, Moolgavkar (1988), A method for computing profile-likelihood-based confidence intervals,
    Applied Statistics 37; Heinze, Schemper (2002), A solution to the problem of separation in
    logistic regression, Statistics in Medicine 21 (bounds where an estimate is infinite).
    """
    rows = standard_rows(x, weight)
    parameters = 1 if column == INTERCEPT_ALONE else 2
    (found,), (gains,) = recalibrations(labels[None], rows, all_rows(rows), parameters)
    if math.isfinite(found[column]):
        return _regular(labels, rows, found, column, reach)
    return _one_sided(labels, rows, found[column], gains[parameters - 1], column, reach)


def _regular(
    labels: Labels, rows: Rows, found: Floats, column: int, reach: float
) -> tuple[float, float]:
    """Return the bounds around a finite maximum."""
    sums = deviation_sums(labels[None], 0, rows.events, rows.weighted)[0]
    if column == INTERCEPT_ALONE:
        gamma, along = found[:1].copy(), np.ones(1)
    else:
        change = found[SLOPE] - 1.0
        gamma = np.array([found[INTERCEPT] + change * rows.mean, change * rows.sd])
        along = np.array([0.0, 1.0 / rows.sd])
        if column == INTERCEPT:
            along = np.array([1.0, -rows.mean / rows.sd])
    with np.errstate(all="ignore"):  # bounds that are not found are not finite
        low, high = likelihood_bounds(
            sums[: gamma.size], all_rows(rows), gamma, along[None], reach * reach
        )[0]
    shift = 1.0 if column == SLOPE else 0.0
    return shift + float(low), shift + float(high)


def _one_sided(
    labels: Labels, rows: Rows, infinite: float, supremum: float, column: int, reach: float
) -> tuple[float, float]:
    """Return the finite bound of an infinite estimate, and the infinite one."""
    sign = math.copysign(1.0, infinite)

    def excess(size: float) -> float:
        gained = _gain_at(labels, rows, sign * size, alone=column == INTERCEPT_ALONE)
        return 2.0 * (supremum - gained) - reach * reach

    unit = 1.0 if column == INTERCEPT_ALONE else 1.0 / rows.sd
    ends = [unit * FARTHEST * side for side in (-1.0, 1.0)]
    bound = sign * float(scipy.optimize.brentq(excess, *ends, xtol=1e-10 * unit))
    return (bound, math.inf) if sign > 0 else (-math.inf, bound)


def _gain_at(labels: Labels, rows: Rows, value: float, *, alone: bool) -> float:
    """Return the gain of log likelihood at an intercept, or at a slope with its best intercept."""
    eta = rows.x + value if alone else value * (rows.x - rows.mean)
    if not alone:
        eta = eta + _best_intercept(labels, rows.weight, eta)
    change = np.where(labels == 1, eta - rows.x, 0.0)
    return float(rows.weight @ (change - np.logaddexp(0.0, eta) + np.logaddexp(0.0, rows.x)))


def _best_intercept(labels: Labels, weight: Floats, eta: Floats) -> float:
    events = float(weight @ labels)

    def missing(intercept: float) -> float:
        return float(weight @ scipy.special.expit(eta + intercept)) - events

    rate = float(scipy.special.logit(events / weight.sum()))
    return float(scipy.optimize.brentq(missing, rate - eta.max() - 1.0, rate - eta.min() + 1.0))
