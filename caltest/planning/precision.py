"""`sample_size_for_precision`: rows that make confidence intervals as narrow as is wanted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple, Unpack

import numpy as np
import scipy

from caltest import checks
from caltest.errors import NotApplicable, invalid
from caltest.planning import truths
from caltest.planning.simulation import EFFECT
from caltest.predictions import ModelData
from caltest.predictions.options import ColumnOptions, PlannedData, Truth, check_names, parted
from caltest.render import Sheet, number
from caltest.results.base import Table
from caltest.types import Floats

DRAWS = 200_000
STEPS = 100
STEP = 1e-10  # change of the coefficients at the end


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRow:
    """The rows that one confidence interval needs.

    Attributes
    ----------
    measure : str
        What is estimated.
    value : float
        Its value under the truth.
    width : float
        The width of its interval.
    standard_error : float
        The standard error that gives the width: of the logarithm of E/O, else of the measure.
    n : int
        The number of rows.
    """

    measure: str
    value: float
    width: float
    standard_error: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PrecisionSize(Table[PrecisionRow]):
    """The number of rows that makes confidence intervals as narrow as is wanted.

    Attributes
    ----------
    rows : tuple of PrecisionRow
        One for each interval.
    predictions, truth : str
        Where the predictions come from, and the distribution of the labels given them.
    event_rate : float
        The true share of events.
    confidence : float
        Coverage of the intervals.
    seed : int
        Of the predictions that are drawn from a distribution.
    """

    schema: ClassVar[str] = "caltest/precision-size/1"
    derived: ClassVar[tuple[str, ...]] = ("n", "events")

    rows: tuple[PrecisionRow, ...]
    predictions: str
    truth: str
    event_rate: float
    confidence: float
    seed: int

    @property
    def n(self) -> int:
        """The number of rows that all intervals need."""
        return max(row.n for row in self.rows)

    @property
    def events(self) -> int:
        """The number of events to be expected in them."""
        return round(self.n * self.event_rate)

    def _sheet(self) -> Sheet:
        rows = (
            (row.measure, *map(number, (row.value, row.width, row.standard_error)), str(row.n))
            for row in self.rows
        )
        note = ("note", "the standard error of E/O is that of its logarithm")
        return Sheet(
            title="Number of rows for confidence intervals of given widths",
            facts=(
                ("n", f"{self.n}, with {self.events} events to be expected"),
                ("predictions", self.predictions),
                ("truth", self.truth),
                ("event rate", number(self.event_rate)),
                ("confidence", f"{100 * self.confidence:g} percent"),
            ),
            header=("", "value", "width", "standard error", "n"),
            rows=tuple(rows),
            closing=(note,) if any(row.measure == "E/O" for row in self.rows) else (),
            listing=True,
        )


def sample_size_for_precision(
    model: object,
    data: object = None,
    y: object = None,
    *,
    ratio_width: float | None = 0.2,
    slope_width: float | None = 0.2,
    intercept_width: float | None = None,
    confidence: float = 0.95,
    rng: object = None,
    **study: Unpack[PlannedData],
) -> PrecisionSize:
    r"""Number of rows with which confidence intervals of calibration are as narrow as is wanted.

    With p the predicted and q the true risks of two classes, and z the normal quantile:

    - E/O, expected over observed events, has the interval :math:`E/O \, e^{\pm z s}` with
      :math:`s = \sqrt{(1 - \phi) / (n \phi)}` and the event rate :math:`\phi = E[q]`.
    - Calibration slope and calibration in the large (the intercept at slope 1) have intervals of
      :math:`\pm z \sqrt{V / n}`, where V is the variance of one row in the logistic regression of
      the labels on logit(p): the inverse of the expected information, and its sandwich where the
      truth is no such regression.

    Nothing is simulated but predictions, where they are given by their distribution.

    Parameters
    ----------
    model, data, y : object
        Where the predictions come from; see `power`. Two classes.
    ratio_width : float or None, default 0.2
        Width of the interval of E/O; None leaves it out.
    slope_width : float or None, default 0.2
        Width of the interval of the calibration slope; None leaves it out.
    intercept_width : float, optional
        Width of the interval of the calibration in the large.
    confidence : float, default 0.95
        Coverage of the intervals, in (0, 1).
    rng : None, int, Generator or SeedSequence
        Seed of the 200,000 predictions that stand for a distribution.
    **study
        What is true, `temperature`, `slope`, `intercept`, `ratio`, `noise` or `truth`, by default
        that the predictions are calibrated; and data options, `label`, `features`, `probs`,
        `classes`, `from_logits` and `renormalize`, as for `power`.

    Returns
    -------
    PrecisionSize
        The rows for each interval, and for all.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule, or no width is given.
    NotApplicable
        If there are more than two classes, every label is the same, or risks of 0 or 1 or of one
        value leave no slope.

    References
    ----------
    Riley, Debray, Collins, Archer, Ensor, van Smeden, Snell (2021), Minimum sample size for
    external validation of a clinical prediction model with a binary outcome, Statistics in Medicine
    40(19), equations for O/E and the calibration slope; Pavlou, Qu, Omar, Seaman, Steyerberg,
    White, Ambler (2021), Estimation of required sample size for external validation of risk models
    for binary outcomes, Statistical Methods in Medical Research 30(10) (calibration in the large).

    Examples
    --------
    >>> import caltest as ct
    >>> risks = [0.05, 0.1, 0.2, 0.4, 0.7]
    >>> planned = ct.sample_size_for_precision(risks, slope_width=0.4)
    >>> [(row.measure, row.n) for row in planned.rows]
    [('E/O', 944), ('calibration slope', 463)]
    """
    check_names(study, PlannedData, sample_size_for_precision)
    columns, stated, _ = parted(study, ColumnOptions, Truth)
    asked = dict(zip(CRITERIA, (ratio_width, slope_width, intercept_width), strict=True))
    given = {name: value for name, value in asked.items() if value is not None}
    if not given:
        raise invalid(f"one of {', '.join(asked)} must be given", "none", "pass ratio_width=0.2")
    widths = {name: checks.check_positive(value, name) for name, value in given.items()}
    confidence = checks.check_level(confidence, "confidence", percent=95)
    seed = checks.check_seed(rng)
    distribution = truths.as_distribution(ModelData(model, data, y, **columns))
    remedy = "pass the probabilities of one class, (n,)"
    truths.check_two_classes(distribution.m, "the width of an interval", remedy)
    true = truths.StatedTruth(**stated).for_classes(distribution.m)
    p = distribution.pool  # the risks of all rows, or of many draws
    if p is None:
        child = np.random.SeedSequence(seed, spawn_key=(EFFECT,))
        p = distribution.draw(np.random.default_rng(child), DRAWS)
    weights = np.ones(len(p)) if distribution.weights is None else distribution.weights
    risks = Risks(p[:, 1], true.of(p)[:, 1], weights)
    z = -float(scipy.special.ndtri((1 - confidence) / 2))
    rows = tuple(CRITERIA[name](risks, width, z) for name, width in widths.items())
    source, pool = distribution.template.source, distribution.pool
    return PrecisionSize(
        library=distribution.template.library,
        rows=rows,
        predictions=distribution.name if pool is None else f"{source}, {truths.counted(len(pool))}",
        truth=true.text,
        event_rate=risks.mean(risks.q),
        confidence=confidence,
        seed=seed,
    )


class Risks(NamedTuple):
    """Predicted and true risks, and the weights of the rows."""

    p: Floats
    q: Floats
    weights: Floats

    def mean(self, values: Floats) -> float:
        """Return the mean over the distribution of the predictions."""
        return float(np.average(values, weights=self.weights))


def _ratio(risks: Risks, width: float, z: float) -> PrecisionRow:
    rate = risks.mean(risks.q)
    if not 0 < rate < 1:
        what = f"E/O needs a true event rate between 0 and 1; got {rate:g}"
        raise NotApplicable(what, "state another truth")
    ratio = risks.mean(risks.p) / rate
    error = math.asinh(width / (2 * ratio)) / z
    n = _rows_for((1 - rate) / rate, error, width)
    return PrecisionRow(measure="E/O", value=ratio, width=width, standard_error=error, n=n)


def _recalibration(risks: Risks, width: float, z: float, *, slope: bool) -> PrecisionRow:
    """The row of the slope of a recalibration, or of its intercept where the slope is 1."""
    p = risks.p
    bad = (p <= 0) | (p >= 1)
    if bad.any():
        row = int(bad.argmax())
        needed = "calibration slope and intercept need risks between 0 and 1"
        remedy = "clip the risks, or ask for the width of E/O only"
        raise NotApplicable(f"{needed}, and row {row} has {p[row]:g}", remedy)
    x, ones = scipy.special.logit(p), np.ones(p.size)
    X, offset = (np.column_stack([ones, x]), 0 * ones) if slope else (ones[:, None], x)
    try:
        beta, covariance = recalibration_variance(X, offset, risks.q, risks.weights)
    except np.linalg.LinAlgError as error:
        reason = "the recalibration has no finite limit for these predictions and this truth"
        remedy = "it needs predictions of several values, and events and non-events"
        raise NotApplicable(reason, remedy) from error
    wanted = width / (2 * z)
    n = _rows_for(float(covariance[-1, -1]), wanted, width)
    name = "calibration slope" if slope else "calibration in the large"
    own = {"value": float(beta[-1]), "width": width, "standard_error": wanted}
    return PrecisionRow(measure=name, **own, n=n)


def _rows_for(variance: float, error: float, width: float) -> int:
    """Return how many rows bring a variance of one row down to the square of an error."""
    n = variance / error / error if error else math.inf
    if not math.isfinite(n):
        raise invalid("widths must be those of a finite sample", f"{width:g}", "pass 0.2 or so")
    return math.ceil(n)


CRITERIA: dict[str, Callable[[Risks, float, float], PrecisionRow]] = {
    "ratio_width": _ratio,
    "slope_width": partial(_recalibration, slope=True),
    "intercept_width": partial(_recalibration, slope=False),
}


def recalibration_variance(
    X: Floats, offset: Floats, q: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the limit of a logistic fit and n times the covariance of its coefficients.

    Labels have P(Y = 1) = q, and the fit has log odds offset + X beta; it need not be true. The
    covariance is A^-1 B A^-1 with A = E[mu (1 - mu) x x'] and B = E[(Y - mu)^2 x x'] (Huber 1967;
    White 1982); where the fit is true, A = B is the information.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the columns of X are dependent, or there is no finite limit.
    """
    w = weights / weights.sum()
    beta = np.zeros(X.shape[1])
    for _ in range(STEPS):
        mu = scipy.special.expit(offset + X @ beta)
        A = (X * (w * mu * (1 - mu))[:, None]).T @ X
        step = np.linalg.solve(A, X.T @ (w * (q - mu)))
        beta = beta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() <= STEP:
            break
    else:
        raise np.linalg.LinAlgError("no finite limit")
    mu = scipy.special.expit(offset + X @ beta)
    A = (X * (w * mu * (1 - mu))[:, None]).T @ X
    B = (X * (w * (q * (1 - q) + (q - mu) ** 2))[:, None]).T @ X
    inverse = np.linalg.inv(A)
    return beta, inverse @ B @ inverse
