"""Intervals for the calibration slope and intercept, which hold where the model does not."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.base import Ends
from caltest.measures.label_scores import row_weights
from caltest.measures.recalibration.binary_loops import log_odds
from caltest.measures.recalibration.fits import BoundCoefficient
from caltest.numerics.tails import student_isf
from caltest.predictions import Predictions

Floats = NDArray[np.float64]

SANDWICH = {"sandwich": "normal limit, sandwich error"}
INTERCEPT_ALONE, INTERCEPT, SLOPE = range(3)  # columns of the estimates; alone: for slope 1
SMALLEST_SHARE = 1e-12  # of the curvature, below which it is what rounding left of a zero


def sandwich_bounds(predictions: Predictions, column: int, symbol: str, *, level: float) -> Ends:
    r"""Interval of a slope or intercept by Student's t with the sandwich standard error.

    With the rows :math:`z_i` of the logistic regression, (1) or (1, log odds), and its fitted
    probabilities :math:`q_i`,

    .. math:: \hat V = \frac{n}{n - k} H^{-1} \Big(\sum_i (y_i - q_i)^2 z_i z_i^T\Big) H^{-1},
        \quad H = \sum_i q_i (1 - q_i) z_i z_i^T,

    for k parameters and n - k degrees of freedom. Profile-likelihood intervals take the regression
    as true. Here it is a summary of errors of any shape, and the likelihood then has the wrong
    curvature: for M2 with pi = .5 and n = 50 they hold the intercept in 86 % of data sets.

    References
    ----------
    White (1982), Maximum likelihood estimation of misspecified models, Econometrica 50; the factor
    n / (n - k) is HC1 of MacKinnon, White (1985), J. Econometrics 29.
    """
    weight = np.array(row_weights(predictions))
    if not weight.all():
        predictions, weight = predictions.subset(weight > 0), weight[weight > 0]
    bound = BoundCoefficient(predictions, "the calibration intercept", column)
    alone, intercept, slope = bound.recalibrations(bound.observed[None])[0][0].tolist()
    parameters = 1 if column == INTERCEPT_ALONE else 2
    if column == INTERCEPT_ALONE:
        intercept, slope = alone, 1.0
    if not math.isfinite(intercept + slope) or predictions.n <= parameters:
        raise NotApplicable(
            f"the {symbol} is not determined by these labels and has no interval",
            "use the p-value of the exact null",
        )
    errors = _errors(predictions, weight, intercept, slope, parameters)
    estimate, error = (slope, errors[1]) if column == SLOPE else (intercept, errors[0])
    reach = student_isf((1.0 - level) / 2.0, predictions.n - parameters) * float(error)
    method_text = "Student's interval, sandwich standard error"
    return Ends(estimate - reach, estimate + reach, estimate, method_text)


def _errors(
    predictions: Predictions, weight: Floats, intercept: float, slope: float, parameters: int
) -> Floats:
    """Return the standard errors of intercept and slope."""
    x = log_odds(predictions.probs)
    fitted = scipy.special.expit(intercept + slope * x)
    mean = float(weight @ x / weight.sum())
    rows = np.column_stack([np.ones_like(x), x - mean])[:, :parameters]
    curvature = rows.T @ (rows * (weight * fitted * (1.0 - fitted))[:, None])
    scale = np.sqrt(np.diagonal(curvature))
    if not scale.all() or np.linalg.det(curvature / np.outer(scale, scale)) < SMALLEST_SHARE:
        raise NotApplicable(
            "the log odds do not vary, or the labels leave no curvature, so that there is no "
            "standard error",
            "use test='calibration-in-the-large', or the p-value alone",
        )
    score = rows * (weight * (predictions.labels - fitted))[:, None]
    root = np.linalg.solve(curvature, score.T) * math.sqrt(x.size / (x.size - parameters))
    if parameters == 2:
        root[0] -= mean * root[1]  # back to log odds that are not centred
    return np.asarray(np.linalg.norm(root, axis=1))
