"""Ensemble of nearly-isotonic regressions, Naeini, Cooper 2016."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.calibrators.binary import BinaryCalibrator
from caltest.calibrators.inputs import Floats, Inputs
from caltest.validation import check_flag

NEGLIGIBLE = 2.0**-60  # share of a model that no double notices


class ENIR(BinaryCalibrator):
    r"""Ensemble of nearly-isotonic regressions: isotonic regression that may fall at a price.

    For distinct scores in ascending order, with mass w_j and event frequency y_j, a model minimises

    .. math:: \frac{1}{2} \sum_j w_j (y_j - \beta_j)^2
        + \lambda \sum_j (\beta_j - \beta_{j+1})_+ .

    The models are the solutions at all breakpoints of the path in :math:`\lambda`, from the first
    above 0 to isotonic regression; they are weighted by :math:`\exp(-\mathrm{BIC} / 2)`, where
    BIC is :math:`-2 \log L + k \log n` with k the number of blocks of equal :math:`\beta`.
    Between scores the map is linear, below the lowest and above the highest constant. It can be
    0 or 1, as isotonic regression, and need not be monotone.

    The authors' program takes at most 100 breakpoints, :math:`\log n + \log 2 \pi` in the penalty
    and a further smoothing that the paper has not; here the definition is exact.

    Parameters
    ----------
    averaging : bool, default True
        Average the models; otherwise take the one with the lowest BIC.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length 2, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 and 1.

    Attributes
    ----------
    knots_ : (k,) array
        Scores between which the map is linear.
    values_ : (k,) array
        Calibrated probability at the knots.
    lambdas_, bic_, model_weights_ : (K,) array
        Penalty, BIC and weight of the models whose weight is not negligible.

    Notes
    -----
    Weights count observations: a weight of 2 is a row twice. n is their sum, or the number of
    distinct scores where that is larger. The path takes :math:`O(n \log n)`.

    References
    ----------
    Naeini, Cooper (2016), Binary classifier calibration using an ensemble of near isotonic
    regression models, ICDM. Tibshirani, Hoefling, Tibshirani (2011), Nearly-isotonic regression,
    Technometrics 53, section 3.

    Examples
    --------
    >>> from caltest.calibrators import ENIR
    >>> enir = ENIR().fit([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 0, 1, 0, 1, 1])
    >>> enir.predict_proba([0.3, 0.35, 0.4])[:, 1]
    array([0.5, 0.5, 0.5])
    """

    key: ClassVar[str] = "enir"
    title: ClassVar[str] = "Ensemble of nearly-isotonic regressions"
    _state: ClassVar[tuple[str, ...]] = ("knots_", "values_", "lambdas_", "bic_", "model_weights_")

    def __init__(
        self,
        *,
        averaging: bool = True,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(from_logits=from_logits, classes=classes)
        self.averaging = averaging

    def _fit_event(self, inputs: Inputs, event: NDArray[np.bool_], weight: Floats | None) -> None:
        from caltest.numerics.distinct_scores import distinct_scores
        from caltest.numerics.near_isotonic import bic_scores, mean_of_models, solution_path

        averaging = check_flag(self.averaging, "averaging")
        score, mass, events = distinct_scores(inputs.event, event, weight)
        blocks, merges = solution_path(mass, events)
        models, bic = bic_scores(blocks, merges, max(float(mass.sum()), float(len(mass))))
        share = np.exp((bic.min() - bic) / 2)
        # Of equally good models the one nearest to isotonic regression is taken.
        kept = share > NEGLIGIBLE if averaging else np.arange(len(bic)) == _last_minimum(bic)
        self.bic_ = bic[kept]
        self.model_weights_ = share[kept] / share[kept].sum()
        self.lambdas_ = np.concatenate([[0.0], merges[0]])[models[kept]]
        first, last, values = mean_of_models(blocks, merges, models[kept], self.model_weights_)
        # A block is constant from its first to its last score, which may be the same.
        ends = np.column_stack([first, last]).ravel()
        distinct = np.append(True, ends[1:] > ends[:-1])
        self.knots_ = score[ends[distinct]]
        self.values_ = np.repeat(values, 2)[distinct]

    def _event(self, inputs: Inputs) -> Floats:
        from caltest.numerics.interpolation import interpolate

        return interpolate(inputs.event, self.knots_, self.values_)


def _last_minimum(values: Floats) -> int:
    return len(values) - 1 - int(np.argmin(values[::-1]))
