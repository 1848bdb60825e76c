"""Likelihood ratios of logistic recalibration, Cox 1958."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import NotApplicable
from caltest.lenses import Lens
from caltest.measures.base import Measure
from caltest.measures.label_scores import event_terms
from caltest.measures.one_dimension import check_one_dimension
from caltest.measures.outcome import Ends, Outcome, RowTerms
from caltest.measures.recalibration.coefficient_interval import (
    PROFILE,
    cell_coefficient_bounds,
    coefficient_bounds,
)
from caltest.measures.recalibration.fits import (
    HYPOTHESES,
    SLOPES,
    CellRatio,
    Ratio,
    bind_ratio,
    chi2_limit,
)
from caltest.measures.recalibration.profile import INTERCEPT_ALONE, SLOPE
from caltest.measures.recalibration.scores import score_statistics
from caltest.measures.residual_sums import ResidualStatistic
from caltest.predictions import Predictions
from caltest.scale import Cells

__all__ = ["Cox", "cox"]

BINARY = {"slopes": "common", "reference": None}  # the options of several classes do not apply


@dataclass(frozen=True, kw_only=True)
class Cox(Measure):
    """The likelihood ratio with the hypothesis that it tests; see `cox`."""

    tested: str = "both"
    slopes: str = "common"
    reference: object = None

    key: ClassVar[str] = "cox"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {
        "cox": {"tested": "both"},
        "calibration-in-the-large": {"tested": "intercept", **BINARY},
        "calibration-slope": {"tested": "slope", **BINARY},
    }
    title: ClassVar[str] = "logistic recalibration (Cox)"
    own_intervals: ClassVar[Mapping[str, str]] = PROFILE

    def __post_init__(self) -> None:
        validation.check_choice(self.tested, HYPOTHESES, "tested")
        validation.check_choice(self.slopes, SLOPES, "slopes")
        if self.slopes != "reference":
            validation.check_unused("without slopes='reference'", reference=self.reference)

    @property
    def symbol(self) -> str:
        return "LR"

    @property
    def estimate_symbol(self) -> str:
        return {"intercept": "intercept (slope 1)", "slope": "slope"}.get(self.tested, "LR")

    @property
    def description(self) -> str:
        return f"{self.title}, likelihood ratio of {HYPOTHESES[self.tested]}"

    @property
    def nulls(self) -> tuple[str, ...]:
        sums = ("convolution", "saddlepoint") if self.tested == "intercept" else ()
        return ("exact", "consistency", "asymptotic", *sums)

    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the events of each row.

        With the slope fixed at 1, twice the gain in log likelihood is the deviance of their number:
        the intercept tilts the probabilities so that it becomes the expected one.
        """
        if self.tested != "intercept":
            return super().row_terms(predictions)
        if predictions.sample_weight is not None:
            raise NotApplicable(
                "with sample weights the likelihood ratio is no function of the number of events",
                "use null='exact'",
            )
        bound = self.bind(predictions)
        terms = event_terms(predictions, by_likelihood=True)
        return terms if math.isfinite(bound.value()) else replace(terms, observed=math.inf)

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> Ratio:
        return bind_ratio(predictions, self.tested, self.slopes, self.reference)

    def bind_cells(self, cells: Cells) -> CellRatio:
        unlike = None if self.slopes == "common" else self.slopes
        validation.check_unused(
            "where the lens leaves two classes", slopes=unlike, reference=self.reference
        )
        return CellRatio(cells, self.tested)

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the scores of what is tested, at the intercept 0 and the slope 1."""
        check_one_dimension(predictions, f"the {self.title} of rows that depend")
        return score_statistics(predictions, self.tested, adjusted=self.tested == "slope")

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the chi^2 limit of the likelihood ratio."""
        bound = self.bind(predictions, n_jobs)
        ratio = bound.value(n_jobs)
        return chi2_limit(bound, ratio, bound.estimate(ratio))

    @property
    def intervals(self) -> tuple[str, ...]:
        # The estimate is a coefficient, and no error that grows from 0.
        return (*PROFILE, "bca")

    @property
    def interval_instead(self) -> str | None:
        both = self.tested == "both"
        return "test='calibration-slope' and 'calibration-in-the-large'" if both else None

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return 1 for the slope, and 0 for the intercept."""
        return 1.0 if self.tested == "slope" else 0.0

    @property
    def is_one_sided(self) -> bool:
        # The likelihood ratio grows on both sides of the coefficient.
        return False

    def own_interval(
        self, predictions: Predictions, *, level: float, n_jobs: int | None = None
    ) -> Ends:
        """Bound the coefficient that is tested; see `coefficient_bounds`."""
        column = SLOPE if self.tested == "slope" else INTERCEPT_ALONE
        return coefficient_bounds(predictions, column, self.estimate_symbol, level=level)

    def cell_interval(self, cells: Cells, *, level: float) -> Ends:
        """Bound it from cells; see `cell_coefficient_bounds`."""
        column = SLOPE if self.tested == "slope" else INTERCEPT_ALONE
        return cell_coefficient_bounds(cells, column, self.estimate_symbol, level=level)


def cox(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    tested: str = "both",
    slopes: str = "common",
    reference: object = None,
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
    r"""Compute the likelihood ratio of calibration in a logistic recalibration.

    With :math:`\ell(a, b)` the log likelihood of :math:`\log P(Y = 1) / P(Y = 0) = a + b \log p /
    (1 - p)`, it is

    .. math:: 2 [\max_{a, b} \ell(a, b) - \ell(0, 1)], \quad 2 [\max_a \ell(a, 1) - \ell(0, 1)],
        \quad 2 [\max_{a, b} \ell(a, b) - \max_a \ell(a, 1)]

    for both parameters, the intercept and the slope; the first is the sum of the others. Their
    limits are chi^2 with 2, 1 and 1 degrees of freedom.

    For m > 2 classes both parameters are tested in :math:`P(Y = k) \propto \exp(a_k + b \log p_k)`
    with one slope for all classes, m degrees of freedom, which no order of the classes changes; or
    with a slope for each class relative to a reference r, 2 (m - 1) degrees of freedom:

    .. math:: \log \frac{P(Y = k)}{P(Y = r)} = a_k + b_k \log \frac{p_k}{p_r}, \quad k \ne r.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    tested : {"both", "intercept", "slope"}
        The hypothesis: a = 0 and b = 1, a = 0 for b = 1, b = 1 with a free; the latter two for two
        classes.
    slopes : {"common", "reference"}
        Of more than two classes; two have one slope.
    reference : class, optional
        Its name or code, with `slopes="reference"`; by default the first class.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        At least 0. Infinite, with a DegenerateDataWarning, where an observed class has probability
        0; with two classes, predictions of 0 and 1 that are right change no likelihood and are left
        out of the fit, and of more classes they count as 2.2e-16, with a warning. Where labels are
        separated it is finite: the limit as the slope grows. Where no slope can be estimated it is
        that of the intercept, and has a degree of freedom less. Sample weights count an observation
        w_i times, in units of their mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If one parameter is tested with more than two classes under the lens.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45, section 3;
    Miller, Hui, Tierney (1991), Validation techniques for logistic regression models, Statistics in
    Medicine 10, section 2; Van Hoorde et al. (2014), Assessing calibration of multinomial risk
    prediction models, Statistics in Medicine 33, section 2.2 (slopes relative to a reference).

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [0.2] * 4 + [0.8] * 4, [0, 0, 0, 1, 1, 1, 1, 0]  # a = 0, b = log(3) / log(4)
    >>> round(ct.measures.cox(p, y), 4)  # 16 (0.75 log(0.75 / 0.8) + 0.25 log(0.25 / 0.2))
    0.1181
    """
    measure = Cox(tested=tested, slopes=slopes, reference=reference)
    return measure.evaluate(probs, labels, lens, n_jobs)
