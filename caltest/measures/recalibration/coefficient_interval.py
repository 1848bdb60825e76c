"""Intervals for the calibration slope and intercept: by the likelihood, or the sandwich error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.cells import NO_WEIGHTS
from caltest.measures.label_scores import row_weights
from caltest.measures.outcome import Ends
from caltest.measures.recalibration.binary_loops import log_odds
from caltest.measures.recalibration.fits import (
    OUTSIDE,
    BoundCoefficient,
    CellCoefficient,
    has_log_odds,
    inside_rows,
)
from caltest.measures.recalibration.profile import (
    INTERCEPT,
    INTERCEPT_ALONE,
    SLOPE,
    profile_bounds,
)
from caltest.measures.recalibration.unseen_event import unseen_bounds
from caltest.numerics.tails import student_isf
from caltest.predictions import Predictions
from caltest.scale import Cells

Floats = NDArray[np.float64]

PROFILE = {
    "profile": "profile likelihood, sandwich error, or an event not yet seen, what reaches farthest"
}
TEXT = "profile likelihood and sandwich error"
ONE_SIDED = "the labels leave the estimate infinite, and with it one end of the interval"
LEAST_LEFT = 0.05  # of a residual, for rows that the fit goes through
SMALLEST_SHARE = 1e-12  # of the curvature, below which it is what rounding left of a zero


def coefficient_bounds(predictions: Predictions, column: int, symbol: str, *, level: float) -> Ends:
    r"""Interval of a slope or intercept by its profile likelihood, and by the sandwich error.

    The likelihood knows how little a few events tell, and takes the regression as true; the
    sandwich error holds for errors of any shape, and needs many events. Each end is that of the two
    that reaches farther, both by quantiles of Student's t. With the rows :math:`z_i` of the
    logistic regression, (1) or (1, log odds), and its fitted probabilities :math:`q_i`, the
    sandwich is

    .. math:: \hat V = H^{-1} \Big(\sum_i \frac{(y_i - q_i)^2}{(1 - h_i)^2} z_i z_i^T\Big) H^{-1},
        \quad H = \sum_i q_i (1 - q_i) z_i z_i^T, \quad h_i = q_i (1 - q_i) z_i^T H^{-1} z_i,

    for k parameters and n - k degrees of freedom; a row that the fit follows has a small residual
    for that alone, hence its leverage h. For M2 with pi = .5 and n = 50 the likelihood
    alone holds the intercept in 86 % of data sets; with two expected events the sandwich alone
    holds the slope in 60 %. Where the estimate is infinite, so is one end. With fewer than twenty
    events both take what is seen for all there is: the ends reach at least as far as an event that
    has not been seen would allow, see `unseen_bounds`.

    References
    ----------
    White (1982), Maximum likelihood estimation of misspecified models, Econometrica 50; the
    division by 1 - h is HC3 of MacKinnon, White (1985), J. Econometrics 29; see `profile_bounds`.
    """
    weight, inside = np.array(row_weights(predictions)), has_log_odds(predictions.probs)
    kept = inside & (weight > 0)
    if not kept.any():
        raise NotApplicable(
            f"{OUTSIDE}, and there is no other row to estimate the {symbol} from",
            "use the p-value of the exact null",
        )
    if not kept.all():
        predictions, weight = predictions.subset(kept), weight[kept]
    bound = BoundCoefficient(predictions, "the calibration intercept", column)
    x = log_odds(predictions.probs)
    outcomes = Outcomes(x, bound.observed, weight, np.ones_like(x))
    found = bound.recalibrations(bound.observed[None])[0][0].tolist()
    ends = _bounds(outcomes, found, column, symbol, level, has_slope=bound.has_slope)
    return ends if inside.all() else _of_inside(ends, predictions.n)


class Outcomes(NamedTuple):
    """Log odds, labels and weights (k,), and how many rows have each."""

    x: Floats
    labels: NDArray[np.unsignedinteger]
    weight: Floats
    size: Floats


def cell_coefficient_bounds(cells: Cells, column: int, symbol: str, *, level: float) -> Ends:
    """Bound a slope or intercept from cells, at the log odds of their mean predictions.

    It is the interval of `coefficient_bounds` for rows with these predictions.
    """
    if cells.weights is not None:
        raise NotApplicable(*NO_WEIGHTS)
    bound = CellCoefficient(cells, column)
    inside = bound.inside
    n, events, mean = cells.n[inside], cells.events[inside], cells.mean[inside]
    x = log_odds(np.stack([1.0 - mean, mean], 1))
    sizes = np.stack([n - events, events], 1).astype(np.float64).ravel()
    labels = np.tile(np.array([0, 1], np.uint8), mean.size)
    some = sizes > 0
    outcomes = Outcomes(np.repeat(x, 2)[some], labels[some], np.ones(int(some.sum())), sizes[some])
    found = bound.recalibrations(bound.observed[None])[0][0].tolist()
    ends = _bounds(outcomes, found, column, symbol, level, has_slope=bound.has_slope)
    return ends if inside.all() else _of_inside(ends, int(n.sum()))


def _of_inside(ends: Ends, count: int) -> Ends:
    """Note which rows an interval is of, where predictions are 0 or 1."""
    return replace(ends, notes=(*ends.notes, f"of {inside_rows(count)}"))


def _bounds(
    outcomes: Outcomes,
    found: Sequence[float],
    column: int,
    symbol: str,
    level: float,
    *,
    has_slope: bool,
) -> Ends:
    """Return the ends of the likelihood, or those of the other two where they reach farther."""
    x, labels, weight, size = outcomes
    n, parameters = int(size.sum()), 1 if column == INTERCEPT_ALONE else 2
    alone, intercept, slope = found
    estimate = found[column]
    undetermined = n <= parameters or math.isnan(estimate)
    if not undetermined and column != INTERCEPT_ALONE:
        undetermined = labels.min() == labels.max() or not has_slope
        undetermined |= math.isinf(slope) and column == INTERCEPT
    if undetermined:
        raise NotApplicable(
            f"the {symbol} is not determined by these labels and has no interval",
            "use the p-value of the exact null",
        )
    quantile, mass = student_isf((1.0 - level) / 2.0, n - parameters), weight * size
    low, high = profile_bounds(
        x, labels, mass * (mass.sum() / (weight * mass).sum()), column, quantile
    )
    if column == INTERCEPT_ALONE:
        intercept, slope = alone, 1.0
    else:
        start = (intercept, slope) if math.isfinite(slope) else (0.0, 1.0)
        unseen = unseen_bounds(x, labels, weight, column - INTERCEPT, start, level, size)
        low, high = np.fmin(low, unseen[0]), np.fmax(high, unseen[1])
    if not math.isfinite(estimate):
        return Ends(float(low), float(high), estimate, TEXT, (ONE_SIDED,))
    errors = _errors(outcomes, intercept, slope, parameters)
    reach = quantile * float(errors[1 if column == SLOPE else 0])
    widest = np.fmin(low, estimate - reach), np.fmax(high, estimate + reach)
    return Ends(float(widest[0]), float(widest[1]), estimate, TEXT)


def _errors(outcomes: Outcomes, intercept: float, slope: float, parameters: int) -> Floats:
    """Return the standard errors of intercept and slope."""
    x, labels, weight, size = outcomes
    fitted = scipy.special.expit(intercept + slope * x)
    mass = weight * size
    mean = float(mass @ x / mass.sum())
    rows = np.column_stack([np.ones_like(x), x - mean])[:, :parameters]
    curvature = rows.T @ (rows * (mass * fitted * (1.0 - fitted))[:, None])
    scale = np.sqrt(np.diagonal(curvature))
    if not scale.all() or np.linalg.det(curvature / np.outer(scale, scale)) < SMALLEST_SHARE:
        raise NotApplicable(
            "the log odds do not vary, or the labels leave no curvature, so that there is no "
            "standard error",
            "use test='calibration-in-the-large', or the p-value alone",
        )
    inverse = np.linalg.solve(curvature, rows.T)
    leverage = weight * fitted * (1.0 - fitted) * np.einsum("ij,ji->i", rows, inverse)
    residual = (labels - fitted) / np.maximum(1.0 - leverage, LEAST_LEFT)
    root = inverse * (weight * np.sqrt(size) * residual)
    if parameters == 2:
        root[0] -= mean * root[1]  # back to log odds that are not centred
    return np.asarray(np.linalg.norm(root, axis=1))
