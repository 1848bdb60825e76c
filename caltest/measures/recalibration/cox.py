"""Logistic recalibration, Cox 1958: likelihood ratios, the unreliability index, and estimates."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Unpack

from caltest import checks
from caltest.errors import NotApplicable
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure, event_terms
from caltest.measures.bound import NO_WEIGHTS
from caltest.measures.fits import fitted
from caltest.measures.outcome import Ends, Outcome, RowTerms
from caltest.measures.recalibration import fits
from caltest.measures.recalibration.coefficient_interval import PROFILE, coefficient_bounds
from caltest.measures.recalibration.fits import BOTH, INTERCEPT, INTERCEPT_ALONE, SLOPE
from caltest.measures.residual_sums import Flippable
from caltest.numerics.event_tails import end_cells, hidden_information
from caltest.predictions import Predictions
from caltest.sources import Cells
from caltest.types import Floats
from caltest.units import CellUnits, RowUnits, Statistic, Units

__all__ = [
    "CalibrationIntercept",
    "CalibrationSlope",
    "Cox",
    "Unreliability",
    "calibration_intercept",
    "calibration_slope",
    "cox",
    "unreliability",
]


BINARY = {"slopes": "common", "reference": None}  # the options of several classes do not apply
PARTS = 4  # of the rows, at either end: a line in the log odds shows in no smaller ones


class OfCoefficient(Measure):
    """A measure whose estimate is a coefficient of the recalibration of two classes."""

    forms: ClassVar[tuple[str, ...]] = ("rows", "cells")
    own_intervals: ClassVar[Mapping[str, str]] = PROFILE
    dependent: ClassVar[str] = ""  # what is added to its name where rows depend
    # The estimate is no error that grows from 0.
    intervals: ClassVar[tuple[str, ...]] = (*PROFILE, "bca")

    @property
    @abstractmethod
    def column(self) -> int:
        """Which coefficient it is."""

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return 1 for the slope, and 0 for the intercept."""
        return float(self.column == SLOPE)

    def residual_statistics(self, predictions: Predictions) -> Flippable:
        """Return the scores of what is tested, at the intercept 0 and the slope 1."""
        return fits.score_statistics(predictions, f"the {self.title}{self.dependent}", self.column)

    def own_interval(self, predictions: Predictions, *, level: float) -> Ends:
        """Bound the coefficient by likelihood and sandwich error; see `coefficient_bounds`."""
        units = RowUnits(predictions).counted("the calibration intercept")
        return coefficient_bounds(self.coefficient(units), self.estimate_symbol, level=level)

    def cell_interval(self, cells: Cells, *, level: float) -> Ends:
        """Bound it from cells, as for rows at the mean predictions of their cells."""
        if cells.weights is not None:
            raise NotApplicable(*NO_WEIGHTS)
        fit = self.coefficient(CellUnits(cells))
        return coefficient_bounds(fit, self.estimate_symbol, level=level)

    def coefficient(self, units: Units) -> fits.FittedCoefficient:
        """Return the fit of the coefficient to units."""
        return fits.FittedCoefficient(units, max(self.column, INTERCEPT_ALONE))

    def statistic(self, units: Units) -> Statistic:
        return self.coefficient(units.counted(f"the {self.title}")).statistic()


@dataclass(frozen=True, kw_only=True)
class Cox(OfCoefficient):
    """The likelihood ratio with the hypothesis that it tests; see `cox`."""

    tested: str = checks.option("both", checks.one_of(fits.HYPOTHESES))
    slopes: str = checks.option("common", checks.one_of(fits.SLOPES))
    reference: object = None

    key, title, symbol = "cox", "logistic recalibration (Cox)", "LR"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {
        "cox": {"tested": "both"},
        "calibration-in-the-large": {"tested": "intercept", **BINARY},
        "calibration-slope": {"tested": "slope", **BINARY},
    }
    dependent: ClassVar[str] = " of rows that depend"
    # The likelihood ratio grows on both sides of the coefficient.
    is_one_sided: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.slopes != "reference":
            checks.check_unused("without slopes='reference'", reference=self.reference)

    @property
    def estimate_symbol(self) -> str:
        return {"intercept": "intercept (slope 1)", "slope": "slope"}.get(self.tested, "LR")

    @property
    def description(self) -> str:
        return f"{self.title}, likelihood ratio of {fits.HYPOTHESES[self.tested]}"

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
        if predictions.is_weighted:
            raise NotApplicable(
                "with sample weights the likelihood ratio is no function of the number of events",
                "use null='exact'",
            )
        value = self.bind(predictions).value()
        terms = event_terms(predictions, f"the {self.title}", by_likelihood=True)
        return terms if math.isfinite(value) else replace(terms, observed=math.inf)

    @property
    def column(self) -> int:
        return {"both": BOTH, "intercept": INTERCEPT_ALONE, "slope": SLOPE}[self.tested]

    def ratio(self, units: Units) -> fits.Ratio:
        """Return the likelihood ratio of units."""
        named = f"the test of {fits.HYPOTHESES[self.tested]}" if self.tested != "both" else ""
        return fits.ratio_of(units.counted(named), self.tested, self.slopes, self.reference)

    def statistic(self, units: Units) -> Statistic:
        return self.ratio(units).statistic()

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the chi^2 limit of the likelihood ratio."""
        ratio = self.ratio(RowUnits(predictions))
        return fits.limit_of(ratio, ratio.estimate(ratio.value()))

    @property
    def interval_instead(self) -> str | None:  # type: ignore[override]
        both = self.tested == "both"
        return "test='calibration-slope' and 'calibration-in-the-large'" if both else None


def cox(
    probs: object,
    labels: object = None,
    *,
    tested: str = "both",
    slopes: str = "common",
    reference: object = None,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute the likelihood ratio of calibration in a logistic recalibration.

    With :math:`\ell(a, b)` the log likelihood of :math:`\log(P(Y = 1) / P(Y = 0)) = a + b \log(p
    / (1 - p))`, it is

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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

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
    return measure.evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class CalibrationIntercept(OfCoefficient):
    """The calibration intercept with its slope; see `calibration_intercept`."""

    slope: str = checks.option("fixed", checks.one_of(("fixed", "estimated")))

    key, title = "calibration-intercept", "calibration intercept"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    alternative: ClassVar[str] = "two-sided"

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
        return event_terms(predictions, f"the {self.title}")

    @property
    def column(self) -> int:
        return INTERCEPT_ALONE if self.slope == "fixed" else INTERCEPT

    def coefficient(self, units: Units) -> fits.FittedCoefficient:
        fit = super().coefficient(units)
        fit.parameters = {"slope": self.slope}
        return fit


def calibration_intercept(
    probs: object, labels: object = None, *, slope: str = "fixed", **rows: Unpack[Evaluated]
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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

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
    return CalibrationIntercept(slope=slope).evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class CalibrationSlope(OfCoefficient):
    """The calibration slope; see `calibration_slope`."""

    key, title, symbol = "calibration-slope", "calibration slope", "slope"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    alternative: ClassVar[str] = "two-sided"
    column: ClassVar[int] = SLOPE


def calibration_slope(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

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
    return CalibrationSlope().evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class Unreliability(Measure):
    """The unreliability index; see `unreliability`."""

    key, title, symbol = "unreliability", "unreliability index", "U"
    forms: ClassVar[tuple[str, ...]] = ("rows", "cells")
    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", "asymptotic")
    # A resample with its repeated rows is not unbiased.
    intervals: ClassVar[tuple[str, ...]] = ("jackknife", "plug-in", "bca")
    is_squared: ClassVar[bool] = True

    def unseen_reach(self, predictions: Predictions, a: float) -> float:
        if predictions.m > 2:
            return 0.0
        cells = end_cells(predictions.probs[:, 1], predictions.labels, PARTS)
        return hidden_information(*cells, predictions.n, a)

    def statistic(self, units: Units) -> Statistic:
        ratio = fits.ratio_of(units.counted(), "both", "common", None)
        total = float(ratio.units.total[0])
        return fitted(
            ratio.units,
            lambda observed: (ratio.values(observed) - ratio.df) / total,
            scale=ratio.scale / total,
            caution=ratio.caution,
            parameters=ratio.parameters,
            degenerate=ratio.degenerate,
        )

    def residual_statistics(self, predictions: Predictions) -> Flippable:
        """Return the scores of intercept and slope, at 0 and 1."""
        return fits.score_statistics(predictions, f"the {self.title} of rows that depend", BOTH)

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the chi^2 limit of the likelihood ratio in it."""
        ratio = fits.ratio_of(RowUnits(predictions).counted(), "both", "common", None)
        return fits.limit_of(ratio, (ratio.value() - ratio.df) / float(ratio.units.total[0]))


def unreliability(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the unreliability index U of R's `val.prob`.

    .. math:: U = \frac{2 [\max_{a, b} \ell(a, b) - \ell(0, 1)] - d}{n},

    what a logistic recalibration with intercept a and slope b gains in log likelihood, less its
    mean d = 2 under calibration (1 where all predictions are equal, and for m > 2 classes m: one
    slope and m - 1 intercepts). Its test is that of `cox`.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        At least -d / n; about 0 for calibrated predictions. Infinite, with a DegenerateDataWarning,
        where an observed class has probability 0, where `val.prob` leaves such rows out of the fit.
        With sample weights n is their sum over their mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Miller, Hui, Tierney (1991), Validation techniques for logistic regression models, Statistics in
    Medicine 10, section 2; Harrell (2015), Regression modeling strategies, section 10.9; `val.prob`
    in the R package rms.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [0.2] * 4 + [0.8] * 4, [0, 0, 0, 1, 1, 1, 1, 0]
    >>> round(ct.measures.unreliability(p, y), 4)  # (0.1181 - 2) / 8
    -0.2352
    """
    return Unreliability().evaluate(probs, labels, **rows)
