"""Scores of the intercept and the slope of a logistic recalibration, for rows that depend."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.measures.label_scores import row_weights
from caltest.measures.residual_sums import (
    ResidualStatistic,
    RobustQuadratic,
    RobustZ,
    event_residuals,
)
from caltest.predictions import Predictions

Floats = NDArray[np.float64]

LEAST_PROB = 2.0**-52  # of log odds


def score_statistics(
    predictions: Predictions, tested: str, *, adjusted: bool
) -> list[ResidualStatistic]:
    r"""Return the score of the intercept, of the slope, or of both, at 0 and 1.

    With log odds x the scores are the sums of :math:`y - p` and :math:`x (y - p)`. One that is
    adjusted for the other has what the other explains under the variances :math:`p (1 - p)` taken
    away: that of the slope is the sum of :math:`(x - \bar x_v) (y - p)`.

    References
    ----------
    Kline, Santos (2012), A score based approach to wild bootstrap inference, J. Econometric
    Methods 1; Cox, Hinkley (1974), Theoretical statistics, section 9.3 (efficient scores).
    """
    p, weight = predictions.probs[:, 1], row_weights(predictions)
    inside = np.clip(p, LEAST_PROB, 1.0 - LEAST_PROB)
    x = np.log(inside) - np.log1p(-inside)
    basis = {"intercept": np.ones_like(x), "slope": x}
    gap = event_residuals(predictions)
    if tested == "both":
        return [RobustQuadratic(np.column_stack(list(basis.values())) * gap[:, None])]
    function = basis.pop(tested)
    if adjusted:
        (other,) = basis.values()
        function = _less(function, other, weight * p * (1.0 - p))
    weighted = weight * function
    return [RobustZ(function * gap, np.column_stack([np.zeros_like(weighted), weighted]))]


def _less(function: Floats, other: Floats, v: Floats) -> Floats:
    """Return the function without what the other explains of it, with variances v."""
    size = float(v @ np.square(other))
    return function - float(v @ (function * other)) / size * other if size > 0 else function
