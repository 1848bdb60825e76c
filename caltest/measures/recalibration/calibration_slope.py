"""The calibration slope, Cox 1958."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.base import Measure
from caltest.measures.one_dimension import check_one_dimension
from caltest.measures.outcome import Ends
from caltest.measures.recalibration.coefficient_interval import (
    PROFILE,
    cell_coefficient_bounds,
    coefficient_bounds,
)
from caltest.measures.recalibration.fits import BoundCoefficient, CellCoefficient
from caltest.measures.recalibration.profile import SLOPE
from caltest.measures.recalibration.scores import score_statistics
from caltest.measures.residual_sums import ResidualStatistic
from caltest.predictions import Predictions
from caltest.scale import Cells

__all__ = ["CalibrationSlope", "calibration_slope"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CalibrationSlope(Measure):
    """The calibration slope; see `calibration_slope`."""

    key: ClassVar[str] = "calibration-slope"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    title: ClassVar[str] = "calibration slope"
    alternative: ClassVar[str] = "two-sided"
    own_intervals: ClassVar[Mapping[str, str]] = PROFILE

    @property
    def symbol(self) -> str:
        return "slope"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundCoefficient:
        return BoundCoefficient(predictions, f"the {self.title}", SLOPE)

    def bind_cells(self, cells: Cells) -> CellCoefficient:
        return CellCoefficient(cells, SLOPE)

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the score of the slope, with the intercept estimated."""
        check_one_dimension(predictions, f"the {self.title}")
        return score_statistics(predictions, "slope", adjusted=True)

    @property
    def intervals(self) -> tuple[str, ...]:
        return (*PROFILE, *super().intervals)

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return 1.0, as the log odds are then those predicted."""
        return 1.0

    def own_interval(
        self, predictions: Predictions, *, level: float, n_jobs: int | None = None
    ) -> Ends:
        """Bound the slope by likelihood and sandwich error; see `coefficient_bounds`."""
        return coefficient_bounds(predictions, SLOPE, self.estimate_symbol, level=level)

    def cell_interval(self, cells: Cells, *, level: float) -> Ends:
        """Bound it from cells; see `cell_coefficient_bounds`."""
        return cell_coefficient_bounds(cells, SLOPE, self.symbol, level=level)


def calibration_slope(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the calibration slope of two classes.

    It is b of the logistic regression of the labels on the log odds of the predictions,

    .. math:: \log \frac{P(Y = 1)}{P(Y = 0)} = a + b \log \frac{p}{1 - p},

    by maximum likelihood, with a estimated too. Overfitted, too extreme predictions have b < 1,
    timid ones b > 1, and those that speak against the event b < 0.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        1 for calibrated predictions and large n. Infinite, with a DegenerateDataWarning, where a
        threshold separates the labels, and 1 where all labels or all predictions are equal.
        Predictions of 0 and 1 have no log odds: it is that of
        the other rows, with a warning. Sample weights count an
        observation w_i times.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes under the lens; see `cox` for those.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45, section 3;
    Miller, Hui, Tierney (1991), Validation techniques for logistic regression models, Statistics in
    Medicine 10, section 2.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [0.2] * 4 + [0.8] * 4, [0, 0, 0, 1, 1, 1, 1, 0]  # log(3) / log(4)
    >>> round(ct.measures.calibration_slope(p, y), 4)
    0.7925
    """
    return CalibrationSlope().evaluate(probs, labels, lens, n_jobs)
