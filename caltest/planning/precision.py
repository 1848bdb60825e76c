"""`sample_size_for_precision`: rows that make confidence intervals as narrow as wanted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
import scipy

from caltest import checks
from caltest.errors import NotApplicable, invalid
from caltest.lenses.forecasts import USUAL_LEVEL, Interval
from caltest.planning import simulation, truths
from caltest.planning.truths import ForecastDistribution, forecasts_of
from caltest.predictions import ModelData, options
from caltest.render import Sheet, number
from caltest.results.base import Table
from caltest.types import Floats

DRAWS = 200_000
FARTHEST = 8.2  # normal number that a probability in double precision can tell from 1
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
STEPS = 100
RATIOS = "E/O", "observed/predicted spread"  # whose intervals are those of their logarithms
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
        The standard error that gives the width: of the logarithm of a ratio, else of the measure.
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
    """The number of rows that makes confidence intervals as narrow as wanted.

    Attributes
    ----------
    rows : tuple of PrecisionRow
        One for each interval.
    predictions, truth : str
        Where the predictions come from, and the distribution of the labels given them.
    event_rate : float or None
        The true share of events; None of forecasts.
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
    event_rate: float | None
    confidence: float
    seed: int

    @property
    def n(self) -> int:
        """The number of rows that all intervals need."""
        return max(row.n for row in self.rows)

    @property
    def events(self) -> int | None:
        """The number of events to be expected in them; None of forecasts."""
        return None if self.event_rate is None else round(self.n * self.event_rate)

    def _sheet(self) -> Sheet:
        rows = (
            (row.measure, *map(number, (row.value, row.width, row.standard_error)), str(row.n))
            for row in self.rows
        )
        names = [row.measure for row in self.rows if row.measure in RATIOS]
        notes = [("note", f"the standard error of {x} is that of its logarithm") for x in names]
        events = self.event_rate is not None  # forecasts have none
        return Sheet(
            title="Number of rows for confidence intervals of given widths",
            facts=(
                ("n", f"{self.n}" + f", with {self.events} events to be expected" * events),
                ("predictions", self.predictions),
                ("truth", self.truth),
                *([("event rate", number(self.event_rate or 0.0))] * events),
                ("confidence", f"{100 * self.confidence:g} percent"),
            ),
            header=("", "value", "width", "standard error", "n"),
            rows=tuple(rows),
            closing=tuple(notes),
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
    coverage_width: float | None = 0.1,
    bias_width: float | None = 0.2,
    spread_width: float | None = 0.2,
    confidence: float = 0.95,
    rng: object = None,
    **study: Unpack[options.PlannedData],
) -> PrecisionSize:
    r"""Number of rows with which confidence intervals of calibration are as narrow as wanted.

    With p the predicted and q the true risks of two classes, and z the normal quantile:

    - E/O, expected over observed events, has the interval :math:`E/O \, e^{\pm z s}` with
      :math:`s = \sqrt{(1 - \phi) / (n \phi)}` and the event rate :math:`\phi = E[q]`.
    - Calibration slope and calibration in the large (the intercept at slope 1) have intervals of
      :math:`\pm z \sqrt{V / n}`, where V is the variance of one row in the logistic regression of
      the labels on logit(p): the inverse of the expected information, and its sandwich where the
      truth is no such regression.

    Nothing is simulated but predictions, where they are given by their distribution.

    Of forecasts of numbers, with the errors :math:`Z = (Y - m) / \sigma` in the unit of the
    predicted standard deviations (of an ensemble, of its members and the outcome together), these
    have intervals of :math:`\pm z \sqrt{V / n}`:

    - the share of outcomes in central intervals of 90 %, V = c (1 - c) with the true share c;
    - the bias, the mean of Z, with its variance V, 1 where the forecasts are calibrated;
    - the logarithm of the ratio of spreads, the standard deviation of Z, :math:`V = (\kappa -
      1) / 4` with the kurtosis :math:`\kappa` of Z, 3 of Gaussian ones.

    These are means over 20,000 rows, with outcomes on a grid of the truth.

    Parameters
    ----------
    model, data, y : object
        Where the predictions come from; see `power`. Two classes, or forecasts of numbers.
    ratio_width : float or None, default 0.2
        Width of the interval of E/O; None leaves it out.
    slope_width : float or None, default 0.2
        Width of the interval of the calibration slope; None leaves it out.
    intercept_width : float, optional
        Width of the interval of the calibration in the large.
    coverage_width : float or None, default 0.1
        Of forecasts, width of the interval of the share in intervals of 90 %, 0.1 for 10 points.
    bias_width, spread_width : float or None, default 0.2
        Of forecasts, widths of the intervals of the bias, in predicted standard deviations, and of
        the ratio of spreads. Laws need finite fourth moments; quantiles have neither.
    confidence : float, default 0.95
        Coverage of the intervals, in (0, 1).
    rng : None, int, Generator or SeedSequence
        Seed of the 200,000 predictions that stand for a distribution.
    **study
        What is true, `temperature`, `slope`, `intercept`, `ratio`, `noise` or `truth`, of forecasts
        `spread`, `shift` or `truth`, by default that the predictions are calibrated; and data
        options, `label`, `features`, `probs`, `sample_weight`, `classes`, `from_logits` and
        `renormalize`, as for `power`.

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
        value leave no slope; of forecasts, if they have no standard deviations.

    References
    ----------
    Riley, Debray, Collins, Archer, Ensor, van Smeden, Snell (2021), Minimum sample size for
    external validation of a clinical prediction model with a binary outcome, Statistics in Medicine
    40(19), equations for O/E and the calibration slope; Pavlou, Qu, Omar, Seaman, Steyerberg,
    White, Ambler (2021), Estimation of required sample size for external validation of risk models
    for binary outcomes, Statistical Methods in Medical Research 30(10) (calibration in the large);
    Cramer (1946), Mathematical methods of statistics, eq. 27.4.2 (variance of a variance).

    Examples
    --------
    >>> import caltest as ct
    >>> risks = [0.05, 0.1, 0.2, 0.4, 0.7]
    >>> planned = ct.sample_size_for_precision(risks, slope_width=0.4)
    >>> [(row.measure, row.n) for row in planned.rows]
    [('E/O', 944), ('calibration slope', 463)]
    >>> forecasts = ct.Forecasts([1.0, 2.5], mean=[1.1, 2.0], scale=0.5)
    >>> [row.n for row in ct.sample_size_for_precision(forecasts, rng=1)]
    [139, 385, 193]
    """
    options.check_names(study, options.PlannedData, sample_size_for_precision)
    columns, stated, _ = options.parted(study, options.WeightedOptions, options.Truth)
    values = ratio_width, slope_width, intercept_width, coverage_width, bias_width, spread_width
    asked = dict(zip([*OF_RISKS, *OF_FORECASTS], values, strict=True))
    read = ModelData(model, data, y, **columns)
    forecasts = forecasts_of(read)
    names = OF_FORECASTS if forecasts else tuple(OF_RISKS)
    usual: Any = sample_size_for_precision.__kwdefaults__
    others = {k: v for k, v in asked.items() if k not in names and v != usual[k]}
    checks.check_unused(f"on {'forecasts' if forecasts else 'predictions of classes'}", **others)
    widths = {k: checks.check_positive(asked[k], k) for k in names if asked[k] is not None}
    if widths.get("coverage_width", 0.0) > 1:
        got = f"{widths['coverage_width']:g}"
        raise invalid("coverage_width must be a share, at most 1", got, "pass 0.1 for 10 points")
    if not widths:
        raise invalid(f"one of {', '.join(names)} must be given", "none", f"pass {names[0]}=0.2")
    confidence = checks.check_level(confidence, "confidence", percent=95)
    seed = checks.check_seed(rng)
    distribution: Any = forecasts or truths.as_distribution(read)
    true = distribution.truth_of(**stated)
    risks = None if forecasts else _risks(distribution, true, seed)
    found = {k: OF_RISKS[k](risks) for k in widths} if risks else _errors(distribution, true)
    z = -float(scipy.special.ndtri((1 - confidence) / 2))
    return PrecisionSize(
        library=distribution.template.library,
        rows=tuple(_row(found[name], width, z) for name, width in widths.items()),
        predictions=distribution.name.removesuffix(" drawn with replacement"),
        truth=true.text,
        event_rate=risks.mean(risks.q) if risks else None,
        confidence=confidence,
        seed=seed,
    )


Found = tuple[str, float, float]  # what is estimated, its value, n times the variance


class Risks(NamedTuple):
    """Predicted and true risks, and the weights of the rows."""

    p: Floats
    q: Floats
    weights: Floats

    def mean(self, values: Floats) -> float:
        """Return the mean over the distribution of the predictions."""
        return float(np.average(values, weights=self.weights))


def _risks(distribution: Any, true: truths.LabelDistribution, seed: int) -> Risks:
    """Return the risks of all rows, or of many draws."""
    remedy = "pass the probabilities of one class, (n,)"
    truths.check_two_classes(distribution.m, "the width of an interval", remedy)
    p = distribution.pool
    if p is None:
        child = np.random.SeedSequence(seed, spawn_key=(simulation.EFFECT,))
        p = distribution.draw(np.random.default_rng(child), DRAWS)
    weights = np.ones(len(p)) if distribution.weights is None else distribution.weights
    return Risks(p[:, 1], true.of(p)[:, 1], weights)


def _errors(distribution: ForecastDistribution, true: truths.LabelDistribution) -> dict[str, Found]:
    """Return means over normal numbers on a grid, each with a row of a lattice.

    Fourth moments are those of the far tails, which numbers that are drawn would miss.
    """
    z, pool = np.linspace(-FARTHEST, FARTHEST, truths.DRAWS), distribution.pool
    share = np.full(pool.n, 1.0 / pool.n) if distribution.share is None else distribution.share
    rows = pool.subset(np.searchsorted(np.cumsum(share), GOLDEN * np.arange(z.size) % 1.0, "right"))
    within: Floats = math.sqrt(2.0) * np.arange(z.size, dtype=np.float64) % 1.0
    rows = rows.redrawn_at(rows.law.pit_at(true.of(z, rows), within))
    law, mean = rows.law.drawn_from(rows.outcomes), partial(np.average, weights=np.exp(-z * z / 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = (rows.outcomes - law.mean) / (law.sd if law.has_tails else math.nan)
        middle = round(mean(errors), 9) + 0.0  # no -1e-17 where it is 0
        variance, fourth = (mean((errors - middle) ** k) for k in (2, 4))
        seen, excess = Interval(USUAL_LEVEL)(rows), fourth / variance**2 - 1.0
    level, held = map(mean, (seen.probs[:, 1], seen.labels))
    return {
        "coverage_width": (f"coverage of {100 * level:.3g} % intervals", held, held - held**2),
        "bias_width": ("bias in standard deviations", middle, variance),
        "spread_width": (RATIOS[1], math.sqrt(variance), excess / 4.0),
    }


def _ratio(risks: Risks) -> Found:
    rate = risks.mean(risks.q)
    if not 0 < rate < 1:
        what = f"E/O needs a true event rate between 0 and 1; got {rate:g}"
        raise NotApplicable(what, "state another truth")
    return RATIOS[0], risks.mean(risks.p) / rate, (1 - rate) / rate


def _recalibration(risks: Risks, *, slope: bool) -> Found:
    """The slope of a recalibration, or its intercept where the slope is 1."""
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
    name = "calibration slope" if slope else "calibration in the large"
    return name, round(beta[-1], 9) + 0.0, covariance[-1, -1]


def _row(found: Found, width: float, z: float) -> PrecisionRow:
    """Return how many rows an interval needs, from the variance of one; of a ratio, of its log."""
    name, value, variance = found
    if not math.isfinite(value + variance):
        reason = "bias and spread need forecasts with finite standard deviations above 0"
        remedy = "ask for coverage_width only, the others None"
        raise NotApplicable(reason, remedy)
    error = (math.asinh(width / (2 * value)) if name in RATIOS else width / 2) / z
    n = variance / error / error if error else math.inf
    if not math.isfinite(n):
        raise invalid("widths must be those of a finite sample", f"{width:g}", "pass 0.2 or so")
    own = {"value": float(value), "width": width, "standard_error": error}
    return PrecisionRow(measure=name, **own, n=max(math.ceil(n), 1))


OF_FORECASTS = "coverage_width", "bias_width", "spread_width"
OF_RISKS: dict[str, Callable[[Risks], Found]] = {
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
    B = (X * (w * (q * (1 - q) + (q - mu) ** 2))[:, None]).T @ X
    inverse = np.linalg.inv(A)
    return beta, inverse @ B @ inverse
