"""The standardised Brier score: Spiegelhalter's z, and le Cessie-van Houwelingen's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack, cast

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable
from caltest.lenses.base import Evaluated
from caltest.measures.base import LabelScore, Measure
from caltest.measures.outcome import Outcome, two_sided_normal
from caltest.numerics.class_sums import binary_brier_sums, deviation_table, residual_sums
from caltest.numerics.loops import frozen
from caltest.numerics.sorted_scores import sum_variance
from caltest.predictions import Predictions
from caltest.predictions.tables import design_columns
from caltest.types import Floats, Ints
from caltest.units import CellUnits, RowUnits, ScoreSums, Statistic, Units
from caltest.units.units import check_one_dimension, row_weights

__all__ = ["SpiegelhalterZ", "spiegelhalter_z"]  # the others are listed further on

NO_VARIANCE = "the sum of squares has no variance under the model"
ROUNDING = 1e-12  # a share of the variance below it is what rounding left of a zero
CONSTANT = (
    "the Brier score has no variance under calibration, since the positive probabilities of each "
    "row are equal"
)


@dataclass(frozen=True, kw_only=True)
class SpiegelhalterZ(LabelScore):
    """Spiegelhalter's z; see `spiegelhalter_z`."""

    key, title, symbol = "spiegelhalter", "Spiegelhalter's z", "z"
    function: ClassVar[str] = "spiegelhalter_z"
    interval_instead: ClassVar[str] = "test='brier'"
    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", "asymptotic", "saddlepoint")

    def statistic(self, units: Units) -> Statistic:
        sums, slope = deviation_sums(units)
        # The standard deviation of the sum of the deviations of each group, (G,).
        if isinstance(units, CellUnits):
            sd = np.sqrt(units.sums(units.cells.noise * np.square(1.0 - 2.0 * units.mean)))
        elif (p := units.mean).ndim == 1:
            sd = np.sqrt([sum_variance(frozen(p), frozen(slope))])
        else:
            rows = np.einsum("ik,ik->i", units.probs, np.square(sums.table))
            sd = np.sqrt([np.square(units.scale) @ rows])
        return standardised(sums, sd, CONSTANT, error=lambda: _error(sums, sd), blind=sd == 0)

    def score_table(self, predictions: Predictions) -> Floats:
        """Return the deviations of each label, times the weights."""
        return ScoreSums(RowUnits(predictions), deviations).weighted

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the normal limit of z, two-sided."""
        found = self.statistic(RowUnits(predictions))
        if found.degenerate:
            raise NotApplicable(CONSTANT, "use null='exact'")
        z = float(found.observed[0])
        return two_sided_normal(z, z, {})

    def outcome_of_grades(self, pd: Floats, defaults: Ints, n: Ints) -> Outcome:
        """Test z of obligors who have the PD of their grade by its normal limit, two-sided."""
        z = spiegelhalter_score(pd, defaults, n)
        if z is None:
            raise NotApplicable("every PD is 0, 1/2 or 1, so z has no variance")
        return two_sided_normal(z, z, {})


def deviation_sums(units: Units) -> tuple[ScoreSums, Floats]:
    """Return the sums of what `deviations` gives, and w (1 - 2 p) where there are two classes."""
    slope = units.mean * -2.0
    slope += 1.0
    if slope.ndim == 1 and units.is_weighted:
        slope *= units.scale
    sums = ScoreSums(
        units,
        deviations,
        terms=lambda u: 0.0 * u.mean,
        fused=lambda y: residual_sums(y, units.mean, slope[np.newaxis])[:, 0],
    )
    return sums, slope


def standardised(sums: ScoreSums, sd: Floats, constant: str, **about: Any) -> Statistic:
    """Return sums of deviations (B, G) over their standard deviations."""

    def z(deviation: Floats) -> Floats:
        if sd.all():
            return np.asarray(deviation / sd)
        never = np.where(deviation == 0, 0.0, np.copysign(np.inf, deviation))
        return np.where(sd == 0, never, deviation / unit)

    units, never = sums.units, f"{constant}; z is 0 where it has its mean, else infinite"
    # What a term of the size of its weight rounds to, in standard deviations of the sum.
    unit = np.where(sd > 0, sd, 1.0)
    rounding = np.where(sd > 0, 10.0 * np.maximum(1.0, units.heaviest / unit), 1.0)
    return Statistic(
        sums=sums,
        value=z,
        scale=units.rounding * rounding,
        degenerate=() if sd.all() else (never,),
        **about,
    )


def deviations(probs: Floats) -> Floats:
    """Return half the Brier score of each label less its mean, of probabilities (n, m)."""
    if probs.shape[1] == 2:
        p = probs[:, 1]
        return np.column_stack([-p * (1.0 - 2.0 * p), (1.0 - p) * (1.0 - 2.0 * p)])
    return deviation_table(probs)


def _error(sums: ScoreSums, sd: Floats) -> float:
    """Bound the change of the sum in the units of its deviation, and of that deviation."""
    units, cells = cast("CellUnits", sums.units), cast("CellUnits", sums.units).cells
    slope, twice = np.abs(1.0 - 2.0 * cells.mean), 2.0 * cells.reach
    far = units.sums((cells.events + cells.expected) * twice)
    widest = np.sqrt(units.sums(cells.noise * np.square(slope + twice)))
    least = np.sqrt(units.sums(cells.noise * np.square(np.maximum(slope - twice, 0.0))))
    with np.errstate(divide="ignore", invalid="ignore"):
        own = far / sd
        z = np.abs(sums.redrawn(units.observed[np.newaxis])[0] / sd) + own
        narrowing = np.where(widest > 0, sd / least - 1.0, 0.0)
        widening = np.maximum(widest / sd - 1.0, 0.0)
        change = own * (1.0 + narrowing) + z * np.maximum(widening, narrowing)
    return float(np.where(sd > 0, change, np.where(far > 0, np.inf, 0.0)).max())


def spiegelhalter_z(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute Spiegelhalter's z, the Brier score standardised by its moments under calibration.

    With fixed predictions and :math:`Y_i \sim Cat(p_i)` the score
    :math:`S = \sum_i \lVert p_i - e_{Y_i} \rVert^2` has

    .. math:: E S = \sum_i (1 - q_i), \quad
        \mathrm{var} S = 4 \sum_i \sum_k p_{ik} (p_{ik} - q_i)^2, \quad q_i = \sum_k p_{ik}^2,

    and :math:`z = (S - E S) / \sqrt{\mathrm{var} S}`. For two classes it is Spiegelhalter's

    .. math:: \frac{\sum_i (y_i - p_i)(1 - 2 p_i)}{\sqrt{\sum_i (1 - 2 p_i)^2 p_i (1 - p_i)}}.

    Overconfident predictions give z > 0, underconfident ones z < 0; its test is two-sided. Under
    the exact null it has the p-value of the Brier score.

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
        In standard deviations. Where the variance is 0, with a DegenerateDataWarning, 0 if S has
        its mean and infinite if not. Sample weights multiply the terms of S, and the variance is
        that of the weighted sum.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 5, section 4.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.spiegelhalter_z([0.9, 0.8, 0.2], [1, 0, 0])  # 0.28 / sqrt(0.1728)
    0.67357...
    """
    return SpiegelhalterZ().evaluate(probs, labels, **rows)


def spiegelhalter_score(pd: Floats, defaults: Ints, n: Ints) -> float | None:
    """Return Spiegelhalter's z of obligors who have the PD of their grade, None without variance.

    z = sum_g (d - n PD) (1 - 2 PD) / sqrt(sum_g n (1 - 2 PD)^2 PD (1 - PD)); infinite where a
    grade of PD 0 or 1 has defaults that are impossible.
    """
    score = float(((defaults - n * pd) * (1.0 - 2.0 * pd)).sum())
    certain = (pd == 0) | (pd == 1)
    if (defaults[certain] != n[certain] * pd[certain]).any():
        return math.inf
    variance = float((n * (1.0 - 2.0 * pd) ** 2 * pd * (1.0 - pd)).sum())
    return score / math.sqrt(variance) if variance > 0 else None


@dataclass(frozen=True, kw_only=True, eq=False)
class LeCessieVanHouwelingen(Measure):
    """The standardised sum of squares; see `le_cessie_van_houwelingen`."""

    internal: bool = False
    design: object = None

    key, title = "le-cessie-van-houwelingen", "unweighted sum of squares, le Cessie-van Houwelingen"
    alternative: ClassVar[str] = "two-sided"
    symbol: ClassVar[str] = "z"
    forms: ClassVar[tuple[str, ...]] = ("rows", "cells")
    interval_instead: ClassVar[str] = "test='brier'"

    def __post_init__(self) -> None:
        checks.check_flag(self.internal, "internal")
        if not self.internal:
            checks.check_unused("without internal=True", design=self.design)
        if self.design is not None:
            object.__setattr__(self, "design", design_columns(self.design))

    @property
    def description(self) -> str:
        return f"{self.title}, of the development sample" if self.internal else self.title

    @property
    def nulls(self) -> tuple[str, ...]:
        # A model is nearer to the labels that it was fitted to than to redrawn ones.
        return ("asymptotic",) if self.internal else ("exact", "consistency", "asymptotic")

    def statistic(self, units: Units) -> Statistic:
        if not isinstance(units, RowUnits):  # of a model that was not fitted to the labels
            return SpiegelhalterZ().statistic(units)
        check_one_dimension(units.predictions, f"the {self.title}")
        v, sd = units.mean * (1.0 - units.mean), self._sd(units.predictions)
        parts = {"E": float(units.scale @ v), "SD": sd}
        return standardised(deviation_sums(units)[0], np.array([sd]), NO_VARIANCE, parameters=parts)

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the normal limit, two-sided, with the parts that R prints."""
        units = RowUnits(predictions)
        found = self.statistic(units)
        if found.degenerate:
            raise NotApplicable(NO_VARIANCE, "use internal=False and null='exact'")
        z = float(found.observed[0])
        rows = units.observed[None], np.ascontiguousarray(units.mean), units.scale
        squares = float(binary_brier_sums(*rows)[0])
        sample = "development" if self.internal else "external"
        return two_sided_normal(z, z, {"SSE": squares, **found.parameters, "sample": sample})

    def _sd(self, predictions: Predictions) -> float:
        """Return the standard deviation of the sum of squares; 0 where the rest is rounding."""
        p, weight = predictions.probs[:, 1], row_weights(predictions)
        v, d = p * (1.0 - p), 1.0 - 2.0 * p
        left = d
        if self.internal:  # what the features of the fitted model leave of it
            if self.design is None:  # a linear predictor spans what a model of one feature spans
                inner = np.where((p > 0) & (p < 1), p, 0.5)
                columns = (np.log(inner) - np.log1p(-inner))[:, None]
            else:
                given = cast("dict[str, Floats]", self.design)
                checks.check_rows_of_design(given, predictions.n)
                columns = np.column_stack([*given.values()])
            features, root = np.column_stack((np.ones(predictions.n), columns)), np.sqrt(weight * v)
            size = np.abs(features).max(axis=0)
            X = features / np.where(size > 0, size, 1.0)
            left = d - X @ np.linalg.lstsq(X * root[:, None], d * root, rcond=None)[0]
        variance, most = (float(np.square(weight * part) @ v) for part in (left, d))
        return math.sqrt(variance) if variance > ROUNDING * most else 0.0


def le_cessie_van_houwelingen(
    probs: object,
    labels: object = None,
    *,
    internal: bool = False,
    design: object = None,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute the standardised unweighted sum of squares of labels minus predictions.

    With :math:`SSE = \sum_i (y_i - p_i)^2`, :math:`v_i = p_i (1 - p_i)` and the residuals
    :math:`r_i` of the regression of :math:`1 - 2 p_i` on the features of the model with weights
    :math:`v_i`,

    .. math:: z = \frac{SSE - \sum_i v_i}{SD}, \quad SD^2 = \sum_i v_i r_i^2.

    This is `residuals(fit, "gof")` of the R package rms: the test of le Cessie and van Houwelingen
    in the form of Hosmer et al., without smoothing. It is for the sample that the model was fitted
    to, `internal=True`. For other data no parameters are fitted, :math:`r_i = 1 - 2 p_i`, and z is
    that of Spiegelhalter.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    internal : bool, default False
        Whether the predictions are those of a logistic regression fitted to these labels.
    design : (n, k) or (n,) array, optional
        With `internal=True`, the features of that model without the intercept; by default it has
        one feature, and the log odds of the predictions stand for it.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In standard deviations. Where the variance is 0, with a DegenerateDataWarning, 0 if SSE has
        its mean and infinite if not. Sample weights multiply the terms of SSE.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes.

    References
    ----------
    le Cessie, van Houwelingen (1991), A goodness-of-fit test for binary regression models, based on
    smoothing methods, Biometrics 47; Hosmer, Hosmer, le Cessie, Lemeshow (1997), A comparison of
    goodness-of-fit tests for the logistic regression model, Statistics in Medicine 16, section 2.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.le_cessie_van_houwelingen([0.9, 0.8, 0.2], [1, 0, 0])  # .28 / sqrt(.1728)
    0.67357...
    """
    measure = LeCessieVanHouwelingen(internal=internal, design=design)
    return measure.evaluate(probs, labels, **rows)
