"""Calibration in the large: the mean outcome less the mean prediction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure
from caltest.measures.label_scores import BinaryScore, MeanScore, event_terms, row_weights
from caltest.measures.one_dimension import check_one_dimension
from caltest.measures.outcome import Outcome, RowScores, RowTerms, two_sided_normal
from caltest.numerics.label_scores import binary_residual_sums
from caltest.numerics.sorted_scores import sum_variance
from caltest.predictions import Predictions

__all__ = ["MeanCalibration", "mean_calibration"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MeanCalibration(MeanScore):
    """The difference of means; see `mean_calibration`."""

    key: ClassVar[str] = "mean-calibration"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    title: ClassVar[str] = "calibration in the large"

    @property
    def symbol(self) -> str:
        return "mean(y) - mean(p)"

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "asymptotic", "convolution", "saddlepoint")

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        check_one_dimension(predictions, self.title)
        return BinaryScore(predictions, binary_residual_sums)

    def row_scores(self, predictions: Predictions) -> RowScores:
        """Return the residuals, which are of either sign."""
        check_one_dimension(predictions, self.title)
        weight = row_weights(predictions)
        gap = predictions.labels - predictions.probs[:, 1]
        return RowScores(weight * gap, weight, least=-math.inf)

    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the events of each row, of which the residuals are a shift."""
        check_one_dimension(predictions, self.title)
        return event_terms(predictions)

    def score_table(self, predictions: Predictions) -> Floats:
        """Return the residual of each label, times the weights."""
        check_one_dimension(predictions, self.title)
        event = predictions.probs[:, 1]
        return row_weights(predictions)[:, None] * np.column_stack([-event, 1.0 - event])

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return 0, the mean residual of calibrated predictions."""
        return 0.0

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        r"""Return the normal limit, two-sided, with the variance :math:`\sum_i p_i (1 - p_i)`."""
        value = self.bind(predictions, n_jobs).value(n_jobs)
        weight = row_weights(predictions)
        sd = math.sqrt(sum_variance(predictions.probs[:, 1], weight)) / float(weight.sum())
        if sd == 0:
            raise NotApplicable(
                "all predictions are 0 or 1, so that the labels have no variance",
                "use null='exact'",
            )
        return two_sided_normal(value / sd, value, {"standard deviation": sd})


def mean_calibration(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
    r"""Compute the mean outcome less the mean prediction of two classes.

    .. math:: \frac{1}{n} \sum_i (y_i - p_i)

    Positive where events are more frequent than predicted. It is on the scale of probabilities;
    the same name stands for the intercept of a logistic recalibration too, which is
    `calibration_intercept`, and for its test.

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
        In [-1, 1]; with sample weights a difference of weighted means.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes under the lens.

    References
    ----------
    Yates (1982), External correspondence: decompositions of the mean probability score,
    Organizational Behavior and Human Performance 30, section "Bias"; Van Calster et al. (2019),
    Calibration: the Achilles heel of predictive analytics, BMC Medicine 17.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.mean_calibration([0.25, 0.5, 0.75], [1, 0, 1])  # 2/3 - 1/2
    0.16666...
    """
    return MeanCalibration().evaluate(probs, labels, lens, n_jobs)
