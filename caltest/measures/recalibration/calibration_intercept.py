"""The calibration intercept, Cox 1958, with the slope fixed or estimated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.lenses import Lens
from caltest.measures.base import Measure
from caltest.measures.label_scores import event_terms
from caltest.measures.one_dimension import check_one_dimension
from caltest.measures.outcome import Ends, RowTerms
from caltest.measures.recalibration.coefficient_interval import (
    PROFILE,
    cell_coefficient_bounds,
    coefficient_bounds,
)
from caltest.measures.recalibration.fits import BoundCoefficient, CellCoefficient
from caltest.measures.recalibration.profile import INTERCEPT, INTERCEPT_ALONE
from caltest.measures.recalibration.scores import score_statistics
from caltest.measures.residual_sums import ResidualStatistic
from caltest.predictions import Predictions
from caltest.scale import Cells

__all__ = ["CalibrationIntercept", "calibration_intercept"]

Floats = NDArray[np.float64]

SLOPES = ("fixed", "estimated")


@dataclass(frozen=True, kw_only=True)
class CalibrationIntercept(Measure):
    """The calibration intercept with its slope; see `calibration_intercept`."""

    slope: str = "fixed"

    key: ClassVar[str] = "calibration-intercept"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    title: ClassVar[str] = "calibration intercept"
    alternative: ClassVar[str] = "two-sided"
    own_intervals: ClassVar[Mapping[str, str]] = PROFILE

    def __post_init__(self) -> None:
        validation.check_choice(self.slope, SLOPES, "slope")

    @property
    def symbol(self) -> str:
        return "intercept (slope 1)" if self.slope == "fixed" else "intercept (slope estimated)"

    @property
    def description(self) -> str:
        return f"{self.title}, slope {'fixed at 1' if self.slope == 'fixed' else self.slope}"

    @property
    def nulls(self) -> tuple[str, ...]:
        sums = ("convolution", "saddlepoint") if self.slope == "fixed" else ()
        return (*super().nulls, *sums)

    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the events of each row: the intercept alone grows with their sum."""
        if self.slope != "fixed":
            return super().row_terms(predictions)
        check_one_dimension(predictions, f"the {self.title}")
        return event_terms(predictions)

    def bind_cells(self, cells: Cells) -> CellCoefficient:
        bound = CellCoefficient(cells, INTERCEPT if self.slope == "estimated" else INTERCEPT_ALONE)
        bound.parameters = {"slope": self.slope}
        return bound

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the score of the intercept."""
        check_one_dimension(predictions, f"the {self.title}")
        return score_statistics(predictions, "intercept", adjusted=self.slope == "estimated")

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundCoefficient:
        column = INTERCEPT if self.slope == "estimated" else INTERCEPT_ALONE
        bound = BoundCoefficient(predictions, f"the {self.title}", column)
        bound.parameters = {"slope": self.slope}
        return bound

    @property
    def intervals(self) -> tuple[str, ...]:
        return (*PROFILE, *super().intervals)

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return 0.0, as the log odds are then those predicted."""
        return 0.0

    def own_interval(
        self, predictions: Predictions, *, level: float, n_jobs: int | None = None
    ) -> Ends:
        """Bound the intercept by likelihood and sandwich error; see `coefficient_bounds`."""
        column = INTERCEPT if self.slope == "estimated" else INTERCEPT_ALONE
        return coefficient_bounds(predictions, column, self.estimate_symbol, level=level)

    def cell_interval(self, cells: Cells, *, level: float) -> Ends:
        """Bound it from cells; see `cell_coefficient_bounds`."""
        column = INTERCEPT if self.slope == "estimated" else INTERCEPT_ALONE
        return cell_coefficient_bounds(cells, column, self.estimate_symbol, level=level)


def calibration_intercept(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    slope: str = "fixed",
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the calibration intercept of two classes.

    It is a of the logistic regression of the labels on the log odds of the predictions,

    .. math:: \log \frac{P(Y = 1)}{P(Y = 0)} = a + b \log \frac{p}{1 - p},

    by maximum likelihood: with b = 1, where a > 0 says that events are more frequent than
    predicted, or with b estimated too, where a belongs to p = 1/2 and says little without b.
    Packages mean one or the other by the same name.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    slope : {"fixed", "estimated"}
        Whether b is 1 or estimated. R's `val.prob` and calzone's Cox regression estimate it;
        probcal and the calibration-in-the-large of Steyerberg fix it.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        In log odds; 0 for calibrated predictions and large n. Infinite, with a
        DegenerateDataWarning, where all labels are equal, or where b is estimated and a threshold
        other than 1/2 separates them. Predictions of 0 and 1 have no log odds:
        it is that of the other rows, with a warning. Sample weights count an observation w_i times.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes under the lens; see `cox` for those.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45, section 3;
    Van Calster et al. (2019), Calibration: the Achilles heel of predictive analytics, BMC Medicine
    17, section "How to evaluate calibration".

    Examples
    --------
    >>> import caltest as ct
    >>> round(ct.measures.calibration_intercept([0.5, 0.5, 0.5], [1, 1, 0]), 4)  # log(2)
    0.6931
    >>> p, y = [0.2] * 4 + [0.8] * 4, [0, 0, 1, 1, 1, 1, 1, 0]  # log(3) / 2
    >>> round(ct.measures.calibration_intercept(p, y, slope="estimated"), 4)
    0.5493
    """
    return CalibrationIntercept(slope=slope).evaluate(probs, labels, lens, n_jobs)
