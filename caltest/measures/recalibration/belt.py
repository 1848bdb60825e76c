"""The GiViTI calibration belt and its statistic, Nattino et al. 2014."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Unpack

import numpy as np
import scipy

from caltest import checks
from caltest.errors import DegenerateDataWarning, invalid, shown
from caltest.lenses.base import Evaluated, Seen
from caltest.measures.base import Measure
from caltest.measures.fits import ReadOnly, by_member, log_odds_grid
from caltest.measures.outcome import Outcome, outcome_of, positive
from caltest.measures.recalibration.belt_fit import Belt, Selection
from caltest.predictions import Predictions
from caltest.types import Floats
from caltest.units import RowUnits, Statistic, Units, check_unweighted

__all__ = ["CalibrationBelt", "CalibrationBeltCurve", "calibration_belt", "calibration_belt_curve"]

Intervals = tuple[tuple[float, float], ...]

NAME = "the calibration belt"
LARGEST_DEGREE = 4


@dataclass(frozen=True, kw_only=True)
class CalibrationBelt(Measure):
    """The statistic of the belt with its selection; see `calibration_belt`."""

    internal: bool = checks.option(default=False, check=checks.check_flag)
    threshold: float = checks.option(0.95, checks.check_level)
    max_degree: int = 4

    key, title, symbol = "calibration-belt", "GiViTI calibration belt", "LR"
    drawn_as: ClassVar[str] = "belt"
    forms: ClassVar[tuple[str, ...]] = ("rows", "cells")
    interval_instead: ClassVar[str] = "test='ks', or the belt itself, measures.calibration_belt"

    def __post_init__(self) -> None:
        super().__post_init__()
        least = 2 if self.internal else 1
        degree = checks.check_integer(self.max_degree, "max_degree", least)
        if degree > LARGEST_DEGREE:
            rule = f"max_degree must be at most {LARGEST_DEGREE}"
            known = f"{rule}, up to which the null distribution is known"
            raise invalid(known, str(degree), f"pass {least} to {LARGEST_DEGREE}")

    @property
    def description(self) -> str:
        return f"{self.title}, development sample" if self.internal else self.title

    @property
    def nulls(self) -> tuple[str, ...]:
        # Predictions fitted to the labels are not those that labels are drawn from.
        return ("asymptotic",) if self.internal else ("exact", "consistency", "asymptotic")

    @property
    def selection(self) -> Selection:
        """How the degree is selected."""
        return Selection(2 if self.internal else 1, self.max_degree, self.threshold)

    def model(self, units: Units) -> Belt:
        """Return the polynomials of units."""
        return Belt(units.counted(NAME), self.selection)

    def statistic(self, units: Units) -> Statistic:
        return self.model(units).statistic()

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the likelihood-ratio test, given the degree that was selected."""
        model = self.model(RowUnits(predictions))
        fit = model.fitted("use another test" if self.internal else "use null='exact'")
        statistic, degree = float(fit.statistic[0]), int(fit.degree[0])
        pvalue = self.selection.sf(statistic, degree)
        text = "likelihood ratio given the selected degree"
        about: dict[str, Any] = {"notes": model.notes, "degenerate": model.degenerate}
        about["parameters"] = {"degree": degree, **model.parameters}
        return outcome_of(self.symbol, statistic, pvalue, text, statistic, **about)


def calibration_belt(
    probs: object,
    labels: object = None,
    *,
    internal: bool = False,
    threshold: float = 0.95,
    max_degree: int = 4,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute the likelihood ratio of the GiViTI calibration belt.

    A logistic regression of the labels on powers of the log odds,

    .. math:: \mathrm{logit} P(Y = 1) = \beta_0 + \beta_1 \mathrm{logit}(p) + ... +
        \beta_m \mathrm{logit}(p)^m,

    starts with m = 1 (m = 2 in the development sample), and m is raised while the likelihood-ratio
    test of the next power rejects. The statistic is twice the difference between the log
    likelihood of the last fit and that of the predictions, which are :math:`\beta = (0, 1)`. Its
    asymptotic null accounts for the selection; its exact null selects anew for all redrawn labels.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    internal : bool, default False
        Whether the predictions are those of a logistic regression on these labels. Its test is
        asymptotic only.
    threshold : float, default 0.95
        Confidence level of the likelihood-ratio tests of the selection.
    max_degree : int, default 4
        The largest degree, up to 4.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        At least 0. Where a polynomial separates the classes it is the supremum. Predictions of 0
        and 1 are left out of the fit with a DegenerateDataWarning; it is infinite if a label
        contradicts one. Sample weights, over their mean,
        multiply the terms of the log likelihood.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes.

    References
    ----------
    Nattino, Finazzi, Bertolini (2014), A new calibration test and a reappraisal of the calibration
    belt, Statistics in Medicine 33, section 3; (2016), A new test and graphical tool to assess the
    goodness of fit of logistic regression models, Statistics in Medicine 35, for `internal`.

    Examples
    --------
    >>> import caltest as ct
    >>> p = [0.5, 0.2, 0.8, 0.2, 0.5, 0.8]
    >>> ct.measures.calibration_belt(p, [1, 1, 0, 0, 0, 1])  # half of each
    1.78514...
    """
    measure = CalibrationBelt(internal=internal, threshold=threshold, max_degree=max_degree)
    return measure.evaluate(probs, labels, **rows)


@dataclass(frozen=True, eq=False)
class CalibrationBeltCurve(ReadOnly):
    """Confidence regions of the curve of calibration, P(Y = 1) against the prediction p.

    Attributes
    ----------
    grid : (points,) array
        Predictions at which the belt is given, in ascending order.
    levels : tuple of float
        Confidence levels in ascending order.
    lower, upper : (levels, points) array
        The belt of each level.
    above, below : tuple of tuples
        For each level the intervals (from, to) of p where the belt lies above the diagonal, so that
        the predictions are too low, or below it.
    degree : int
        Of the selected polynomial.
    coefficients : (degree + 1,) array
        In powers of logit(p), the intercept first.
    statistic, pvalue : float
        Of the asymptotic test that the belt belongs to.
    n : int
    internal : bool

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=500, m=2, alpha=1.0, rng=2)
    >>> belt = ct.measures.calibration_belt_curve(data)
    >>> belt.degree, belt.levels
    (1, (0.8, 0.95))
    """

    grid: Floats = field(repr=False)
    levels: tuple[float, ...]
    lower: Floats = field(repr=False)
    upper: Floats = field(repr=False)
    above: tuple[Intervals, ...]
    below: tuple[Intervals, ...]
    degree: int
    coefficients: Floats
    statistic: float
    pvalue: float
    n: int
    internal: bool


def calibration_belt_curve(
    probs: object,
    labels: object = None,
    *,
    confidence: float | tuple[float, ...] = (0.8, 0.95),
    internal: bool = False,
    threshold: float = 0.95,
    max_degree: int = 4,
    points: int = 200,
    **rows: Unpack[Seen],
) -> CalibrationBeltCurve | list[CalibrationBeltCurve]:
    r"""Compute the GiViTI calibration belt, a confidence region of the curve of calibration.

    At a prediction p and a confidence level c the belt holds the values at p of all polynomials of
    the selected degree m whose likelihood is close enough to the largest,

    .. math:: \{\mathrm{logit}^{-1}(\sum_j \beta_j \mathrm{logit}(p)^j) :
        2 (\ell(\hat\beta) - \ell(\beta)) \le F_m^{-1}(c)\},

    with :math:`F_m` the distribution of the statistic given m. So the diagonal leaves the belt
    somewhere, up to the range of the predictions, only if `calibration_belt` rejects at level 1 -
    c.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives a list.
    confidence : float or tuple of float, default (0.8, 0.95)
        Of the belts.
    internal : bool, default False
        Whether the predictions are those of a logistic regression on these labels.
    threshold : float, default 0.95
        Confidence level of the likelihood-ratio tests of the selection.
    max_degree : int, default 4
        The largest degree, up to 4.
    points : int, default 200
        Size of the grid: half of it at equal distances of the log odds, half at those of p.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

    Returns
    -------
    CalibrationBeltCurve
        Over the range of the predictions that are not 0 or 1; if some are, with a
        DegenerateDataWarning.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, sample weights, fewer than two (internal: three)
        distinct predictions, or if a polynomial separates the classes.

    References
    ----------
    Nattino, Finazzi, Bertolini (2014), A new calibration test and a reappraisal of the calibration
    belt, Statistics in Medicine 33, section 4; (2016), A new test and graphical tool to assess the
    goodness of fit of logistic regression models, Statistics in Medicine 35, for `internal`.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=500, m=2, alpha=1.0, rng=2)
    >>> belt = ct.measures.calibration_belt_curve(data)
    >>> belt.above, belt.below  # nowhere, at 80 % and at 95 %
    (((), ()), ((), ()))
    """
    measure = CalibrationBelt(internal=internal, threshold=threshold, max_degree=max_degree)
    sorted_levels = check_levels(confidence)
    checks.check_count(points, "points", 4)
    belt = partial(_belt, measure=measure, levels=sorted_levels, points=points)
    return by_member(probs, labels, belt, calibration_belt_curve, rows)


def _belt(
    predictions: Predictions, measure: CalibrationBelt, levels: tuple[float, ...], points: int
) -> CalibrationBeltCurve:
    title = "the limiting distribution of the calibration belt"
    remedy = "use test='calibration-belt' with null='exact'"
    check_unweighted(predictions, title, remedy)
    model, selection = measure.model(RowUnits(predictions)), measure.selection
    for message in model.degenerate:
        checks.warn_caller(message, DegenerateDataWarning)
    fit = model.fitted("the belt has no substitute, the test has null='exact'")
    statistic, degree = float(fit.statistic[0]), int(fit.degree[0])
    at = log_odds_grid(float(model.z.min()), float(model.z.max()), points)
    grid = scipy.special.expit(at)
    edges = np.array([model.bounds(fit, at, selection.quantile(level, degree)) for level in levels])
    # Where the likelihood overflows, nothing is ruled out.
    lower, upper = (np.nan_to_num(edges[:, :, k], nan=k) for k in (0, 1))
    return CalibrationBeltCurve(
        grid=grid,
        levels=levels,
        lower=lower,
        upper=upper,
        above=tuple(_intervals(grid, row - grid) for row in lower),
        below=tuple(_intervals(grid, grid - row) for row in upper),
        degree=degree,
        coefficients=model.coefficients(fit),
        statistic=statistic,
        pvalue=positive(selection.sf(statistic, degree)),
        n=predictions.n,
        internal=measure.internal,
    )


def _intervals(grid: Floats, excess: Floats) -> Intervals:
    """Return where a function given on the grid is positive; it is linear in between."""
    edges = np.diff(np.concatenate([[False], excess > 0, [False]]).astype(np.int8))
    first, last = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    pairs = zip(first.tolist(), last.tolist(), strict=True)
    return tuple((_root(grid, excess, i, i - 1), _root(grid, excess, j, j + 1)) for i, j in pairs)


def _root(grid: Floats, excess: Floats, inside: int, outside: int) -> float:
    if not 0 <= outside < grid.size:
        return float(grid[inside])
    share = excess[inside] / (excess[inside] - excess[outside])
    return float(grid[inside] + share * (grid[outside] - grid[inside]))


def check_levels(levels: object) -> tuple[float, ...]:
    """Check the confidence of belts, a number or several, and sort them."""
    several = isinstance(levels, Sequence | np.ndarray) and not isinstance(levels, str)
    values = tuple(levels) if several else (levels,)  # type: ignore[arg-type]
    if not values:
        raise invalid("confidence must hold a number", shown(levels), "pass (0.8, 0.95)")
    return tuple(sorted(checks.check_confidence(value) for value in values))
