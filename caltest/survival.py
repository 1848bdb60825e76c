"""Predicted risk of an event by a horizon, with times that are right-censored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
import scipy

from caltest import checks
from caltest.errors import NotApplicable, invalid, shown
from caltest.measures.outcome import outcome_of
from caltest.numerics.tails import normal_isf
from caltest.predictions import Predictions, tables
from caltest.predictions.container import event_column
from caltest.predictions.dependence import CLUSTER
from caltest.results import HTest
from caltest.types import AnyArray, Codes, Flags, Floats, Ints

__all__ = [
    "Estimate",
    "SmoothCalibration",
    "SurvivalPredictions",
    "calibration_slope",
    "cumulative_incidence",
    "d_calibration",
    "observed_expected_ratio",
    "pseudo_observations",
    "smooth_calibration",
]

ROW = "row"
LEAST = 1e-12  # smaller risks, and larger than 1 less it, count as this one in logs
KNOTS = {3: (0.1, 0.5, 0.9), 4: (0.05, 0.35, 0.65, 0.95), 5: (0.05, 0.275, 0.5, 0.725, 0.95)}
STEPS, CLOSE = 100, 1e-10  # of Gauss and Newton


class Censoring:
    r"""Inverse-probability-of-censoring weights :math:`w_i = \delta_i / \hat G(u_i-)`.

    :math:`\hat G` is the Kaplan-Meier estimate of being uncensored; of equal times, events come
    before censoring. The mean of w times the indicator of the event is then the Kaplan-Meier or,
    with other events, the Aalen-Johansen estimate. Every statistic of residuals that have these
    weights depends on all rows by :math:`\hat G`; its first derivative by the mass of each row is
    what multipliers and influences take into account.

    Parameters
    ----------
    until : (n,) array
        The time up to which each row was followed, at most the horizon.
    censored : (n,) array of bool
        Whether it was lost before the horizon, without any event.
    mass : (n,) array
        The sample weights.

    References
    ----------
    Graf, Schmoor, Sauerbrei, Schumacher (1999), Statistics in Medicine 18; Satten, Datta (2001),
    The Kaplan-Meier estimator as an inverse-probability-of-censoring weighted average, American
    Statistician 55; Lin, Wei, Ying (1993), Checking the Cox model with cumulative sums of
    martingale-based residuals, Biometrika 80 (multipliers).
    """

    def __init__(self, until: Floats, censored: Flags, mass: Floats) -> None:
        self.until, self.censored, self.mass = until, censored, mass
        self.order: Ints = np.lexsort((censored, until))
        self.times, counts = np.unique(until[censored], return_counts=True)
        before = np.searchsorted(until[self.order], self.times, side="right")
        self.first, self.stop = before - counts, before  # the rows lost at each time
        at_risk, lost = self._sums(mass[np.newaxis])
        self.hazard = (lost / np.where(at_risk > 0, at_risk, 1.0))[0]
        self.left = np.where(at_risk > lost, at_risk - lost, 1.0)[0]  # 1: nobody is left
        # The number of times before that of each row.
        self.passed: Ints = np.searchsorted(self.times, until, side="left")

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row, 0 where its status is not known, (n,)."""
        stayed = np.append(1.0, np.cumprod(1.0 - self.hazard))[self.passed]
        known = ~self.censored & (stayed > 0)
        return np.where(known, self.mass / np.where(known, stayed, 1.0), 0.0)

    def multipliers(self, signs: Floats) -> Floats:
        r"""Return what multiplies the residual of each row, (B, n), where signs (B, n) do.

        With N the mass that is lost at :math:`v_k` and Y that at risk, and both with signs,

        .. math:: m_j = s_j + \sum_{v_k < u_j} \frac{N_k(s) - Y_k(s) N_k / Y_k}{Y_k - N_k},

        the derivative of :math:`s_j \log w_j` where each mass changes by its sign.
        """
        at_risk, lost = self._sums(signs * self.mass)
        paths = np.zeros((len(signs), self.times.size + 1))
        np.cumsum((lost - self.hazard * at_risk) / self.left, axis=1, out=paths[:, 1:])
        return np.asarray(signs + paths[:, self.passed])

    def influences(self, residuals: Floats) -> Floats:
        """Return what each row adds to the sum of the residuals, (n,), by all weights.

        The sum of signs times these is that of multipliers times the residuals.
        """
        counts = np.bincount(self.passed, residuals, self.times.size + 1)
        of_time = np.cumsum(counts[:0:-1])[::-1] / self.left
        compensator = np.append(0.0, np.cumsum(self.hazard * of_time))
        own = np.append(of_time, 0.0)[self.passed] * self.censored
        return np.asarray(residuals + self.mass * (own - compensator[self.passed + self.censored]))

    def _sums(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the sums (B, K) of values (B, n) of rows at risk and lost at each time."""
        upto = np.zeros((len(values), self.order.size + 1))
        np.cumsum(values[:, self.order], axis=1, out=upto[:, 1:])
        before = upto[:, self.first]
        return upto[:, -1:] - before, upto[:, self.stop] - before


@dataclass(frozen=True, init=False, repr=False, eq=False)
class SurvivalPredictions(Predictions):
    r"""Predicted risks of an event by a horizon, with right-censored times.

    The status of a row at the horizon t is known where it was followed up to t or had an event
    before; these rows have the weight :math:`1 / \hat G(\min(T, t)-)`, others 0, so that the
    weighted share of events is the Kaplan-Meier estimate, with competing events that of
    Aalen-Johansen. Censoring must be independent of time and risk. Tests flip the signs of the
    weighted residuals and take into account that :math:`\hat G` was estimated.

    Parameters
    ----------
    risk : array_like, shape (n,)
        The predicted probability that the event happens by the horizon.
    time : array_like, shape (n,)
        The time of the event or of censoring of each row, above 0.
    event : array_like, shape (n,)
        What happened at that time: 0 or False where the row was censored, 1 or True the event, and
        2, 3, ... competing events.
    horizon : float
        The time by which the risk is predicted, in the unit of `time`.
    cause : int
        The code of the event whose risk is predicted.
    sample_weight, groups, clusters : array_like, shape (n,), optional
        As for `Predictions`; each group has weights of its own.
    source : str
        Where they come from, for print.

    Attributes
    ----------
    time, event : ndarray, shape (n,)
        Times, and codes of what happened.
    mass : ndarray, shape (n,)
        The sample weights over their mean; ones without.
    horizon, cause : float, int
        As given.
    sample_weight : ndarray, shape (n,)
        Those of the status at the horizon, times `mass`; their sum is about n.

    Raises
    ------
    InvalidInput
        If an argument breaks a rule, or no row was followed up to the horizon.

    References
    ----------
    Gerds, Schumacher (2006), Consistent estimation of the expected Brier score in general survival
    models with right-censored event times, Biometrical Journal 48.

    Examples
    --------
    >>> import caltest as ct
    >>> rows = {"time": [1.0, 2.0, 3.0, 4.0, 5.0], "event": [1, 0, 1, 0, 0]}
    >>> survival = ct.SurvivalPredictions([0.4, 0.2, 0.6, 0.1, 0.3], **rows, horizon=3.5)
    >>> survival.sample_weight.round(3).tolist(), survival.labels.tolist()
    ([1.0, 0.0, 1.333, 1.333, 1.333], [1, 0, 1, 0, 0])
    """

    outcome_fields = ("probs", "labels", "time", "event", "mass")
    other_fields = ("classes", "ordinal", "horizon", "cause")
    time: Floats
    event: Codes
    mass: Floats
    horizon: float
    cause: int

    def __init__(
        self,
        risk: object,
        time: object,
        event: object,
        *,
        horizon: float,
        cause: int = 1,
        sample_weight: object = None,
        groups: object = None,
        clusters: object = None,
        source: str = "arrays",
    ) -> None:
        checked = checks.in_one_dimension(checks.as_array(risk, "risk"))
        if checked.ndim != 1:
            got = f"shape {checked.shape}"
            raise invalid("risk must have one dimension", got, "pass the risk by one horizon")
        p = checks.check_event_probs(checked, name="risk")
        n, end = p.size, checks.check_positive(horizon, "horizon")
        times, codes = _check_times(time, n), check_events(event, n)
        kind = checks.check_integer(cause, "cause")
        if not (codes == kind).any():
            named = ", ".join(map(str, np.unique(codes)))
            remedy = "pass rows with events, or name another cause"
            raise invalid(f"event must hold the cause {kind}", f"only {named}", remedy)
        mass = np.ones(n)
        if sample_weight is not None:
            mass = checks.check_weights(sample_weight, n)
            mass = mass / mass[mass > 0].mean()
        happened = ((codes == kind) & (times <= end)).astype(np.int64)
        names = np.array([f"no event by {end:g}", f"event by {end:g}"])
        arrays = {"labels": happened, "classes": names, "time": times, "event": codes, "mass": mass}
        found: dict[str, Any] = {name: checks.read_only(x) for name, x in arrays.items()}
        found |= {"_event": p, "horizon": end, "cause": kind, "ordinal": False}
        about: dict[str, Any] = {"source": source, "library": tables.library_of(risk, time)}
        dependent = np.arange(n) if clusters is None else clusters
        self._set(found, n, sample_weight=None, groups=None, clusters=dependent, **about)
        values = None if groups is None else checks.check_groups(groups, n)
        self.__dict__.update(groups=values, unit=ROW if clusters is None else CLUSTER)
        self._check_followed()
        self.__dict__["sample_weight"] = checks.read_only(self.censoring.weights)

    @cached_property
    def censoring(self) -> Censoring:
        """The weights of the rows, and what estimating them changes."""
        return Censoring(np.minimum(self.time, self.horizon), self.is_lost, self.mass)

    @property
    def is_lost(self) -> Flags:
        """Whether each row was censored before the horizon, (n,)."""
        return np.asarray((self.event == 0) & (self.time < self.horizon))

    @property
    def has_dependence(self) -> bool:
        """Whether rows depend on each other: they do by the estimated weights."""
        return True

    @property
    def described(self) -> Mapping[str, object]:
        lost = np.count_nonzero(self.is_lost)
        return {"censored": f"{lost} of {self.n} rows before the horizon {self.horizon:g}"}

    def subset(self, rows: object) -> Self:
        """Keep some rows: a data set of its own, whose weights are estimated anew.

        Rows of known status alone keep their weights, by which they stand for those that were lost.
        """
        kept = checks.check_rows(rows, self.n)
        part = super().subset(kept)
        if not self.is_lost[kept].any() and self.sample_weight is not None:
            part.__dict__["mass"] = checks.read_only(self.sample_weight[kept])
        part.__dict__["sample_weight"] = checks.read_only(part.censoring.weights)
        return part

    def by_group(self) -> dict[object, Self]:
        """Split the rows by their group; each must have rows that were followed up to the horizon.

        Raises
        ------
        InvalidInput
            If a group has none.
        """
        parts = super().by_group()
        for group, part in parts.items():
            part._check_followed(f" in group {group!r}")  # noqa: SLF001, its own
        return parts

    def simulate(self, rng: object = None) -> Predictions:
        """Raise NotApplicable: a predicted risk does not tell when events happen."""
        reason = "times are not known from the risk by a horizon"
        raise NotApplicable(reason, "simulate times, and make SurvivalPredictions of them")

    @classmethod
    def from_frame(cls, *_given: object, **_columns: object) -> NoReturn:
        """Raise NotApplicable: pass the columns themselves."""
        reason = "SurvivalPredictions are made of arrays"
        raise NotApplicable(reason, "pass its columns to SurvivalPredictions")

    read = from_model = from_frame

    def _check_followed(self, where: str = "") -> None:
        """Raise InvalidInput where what happens before the horizon is not known of any late row."""
        last = float(self.time.max())
        if self.is_lost.all():
            got = f"all {self.n} rows are censored before{where}"
            remedy = "choose an earlier horizon, of which the status of rows is known"
            raise invalid(f"horizon must be reached by rows, not {self.horizon:g}", got, remedy)
        if last < self.horizon and (self.event[self.time == last] == 0).any():
            rule = f"horizon must be at most the last time that was observed{where}, {last:g}"
            reason = "beyond it the observed risk is not known: choose an earlier horizon"
            raise invalid(rule, f"{self.horizon:g}", reason)

    @property
    def kind(self) -> str:
        """The horizon, for print."""
        return f"horizon={self.horizon:g}"


def _check_times(time: object, n: int) -> Floats:
    """Check times, one per row of the risk, finite and above 0."""
    values = checks.as_numbers(checks.check_column(time, n, "time"), "time").astype(np.float64)
    wrong = ~((values > 0) & (values < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        rule, got = "time must be finite and above 0", f"{values[row]:g} at row {row}"
        raise invalid(rule, got, "drop that row, or correct when its follow-up began")
    return values


def check_events(event: object, n: int) -> Codes:
    """Check what happened: booleans, or whole numbers from 0."""
    values: AnyArray = checks.check_column(event, n, "event")
    if values.dtype.kind == "O":
        values = np.array(values.tolist())
    rule = "event must be 0 where a row is censored, 1 or True the event, 2, 3, ... other events"
    wrong = np.ones(n, np.bool_)
    if values.dtype.kind in "biuf":
        wrong = ~((values >= 0) & (values == np.floor(values)) & (values < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise invalid(rule, f"{shown(values[row].item())} at row {row}", "code it so")
    return values.astype(np.int64)


# ---- observed risks, and what they say of predicted ones: ratio, slope, curve, D-calibration -----


class Estimate(NamedTuple):
    """An estimate with the ends of its confidence interval.

    Attributes
    ----------
    value, low, high : float
        The estimate, and the ends.

    Examples
    --------
    >>> Estimate(0.4, 0.3, 0.5).low
    0.3
    """

    value: float
    low: float
    high: float


class SmoothCalibration(NamedTuple):
    """A smooth curve of the observed by the predicted risk, and how far it is from it.

    Attributes
    ----------
    observed : (n,) array
        The curve at the predicted risk of each row.
    ici, e50, e90, emax : float
        Mean, median, 90 % quantile and largest of abs(observed - predicted) over the rows.

    Examples
    --------
    >>> SmoothCalibration(np.array([0.2, 0.4]), 0.1, 0.1, 0.1, 0.1).emax
    0.1
    """

    observed: Floats
    ici: float
    e50: float
    e90: float
    emax: float


def cumulative_incidence(survival: SurvivalPredictions, *, confidence: float = 0.95) -> Estimate:
    r"""Estimate the risk of the event by the horizon: Kaplan-Meier, or Aalen-Johansen.

    The interval is symmetric for :math:`\log(-\log(1 - F))`; its standard error is that of the
    infinitesimal jackknife, of Kaplan-Meier the one of Greenwood.

    Parameters
    ----------
    survival : SurvivalPredictions
        The rows.
    confidence : float
        Of the interval.

    Returns
    -------
    Estimate
        In [0, 1].

    References
    ----------
    Aalen, Johansen (1978), Scandinavian J. Statistics 5; Kalbfleisch, Prentice (2002), The
    statistical analysis of failure time data, section 1.4.

    Examples
    --------
    >>> import caltest as ct
    >>> rows = {"time": [1.0, 2.0, 3.0, 4.0, 5.0], "event": [1, 0, 1, 0, 0]}
    >>> survival = ct.SurvivalPredictions([0.4, 0.2, 0.6, 0.1, 0.3], **rows, horizon=3.5)
    >>> round(cumulative_incidence(survival).value, 4)  # 1 - 4/5 * 2/3
    0.4667
    """
    value, error = _observed(survival)
    if not 0.0 < value < 1.0:
        return Estimate(value, value, value)
    reach = _quantile(confidence) * error / ((1.0 - value) * -math.log1p(-value))
    low, high = (-math.expm1(math.log1p(-value) * math.exp(x)) for x in (-reach, reach))
    return Estimate(value, low, high)


def observed_expected_ratio(survival: SurvivalPredictions, *, confidence: float = 0.95) -> Estimate:
    r"""Divide the observed risk by the mean of the predicted risks of all rows.

    The observed risk is that of `cumulative_incidence`; the interval is symmetric for the log of
    the ratio, with the standard error of the observed risk alone.

    Parameters
    ----------
    survival : SurvivalPredictions
        The rows.
    confidence : float
        Of the interval.

    Returns
    -------
    Estimate
        Above 1 where risks are too low.

    Raises
    ------
    NotApplicable
        If no event is observed by the horizon.

    References
    ----------
    McLernon, Giardiello, Van Calster et al. (2023), Assessing performance and clinical usefulness
    in prediction models with survival outcomes, Annals of Internal Medicine 176.

    Examples
    --------
    >>> import caltest as ct
    >>> rows = {"time": [1.0, 2.0, 3.0, 4.0, 5.0], "event": [1, 0, 1, 0, 0]}
    >>> survival = ct.SurvivalPredictions([0.4, 0.2, 0.6, 0.1, 0.3], **rows, horizon=3.5)
    >>> round(observed_expected_ratio(survival).value, 4)
    1.4583
    """
    value, error = _observed(survival)
    if value == 0.0:
        reason = "no event is observed by the horizon, so that the ratio has no interval"
        raise NotApplicable(reason, "choose a later horizon")
    ratio = value / float(np.average(event_column(survival), weights=survival.mass))
    factor = math.exp(_quantile(confidence) * error / value)
    return Estimate(ratio, ratio / factor, ratio * factor)


def pseudo_observations(survival: SurvivalPredictions) -> Floats:
    r"""Return the jackknife pseudo-observation of the event by the horizon of each row.

    With :math:`\hat F` the estimate of Kaplan and Meier or of Aalen and Johansen at the horizon,
    :math:`\theta_i = n \hat F - (n - 1) \hat F_{-i}`. Their mean given the risk is the true risk,
    about, where censoring depends on nothing.

    Parameters
    ----------
    survival : SurvivalPredictions
        The rows, without sample weights.

    Returns
    -------
    (n,) array
        Not all in [0, 1].

    References
    ----------
    Andersen, Klein, Rosthoj (2003), Generalised linear models for correlated pseudo-observations,
    Biometrika 90.

    Examples
    --------
    >>> import caltest as ct
    >>> rows = {"time": [1.0, 2.0, 3.0, 4.0, 5.0], "event": [1, 0, 1, 0, 0]}
    >>> survival = ct.SurvivalPredictions([0.4, 0.2, 0.6, 0.1, 0.3], **rows, horizon=3.5)
    >>> pseudo_observations(survival).round(3).tolist()
    [1.0, 0.333, 1.333, -0.167, -0.167]
    """
    _check_unweighted(survival)
    time, event, n = survival.time, survival.event, survival.n
    moments = np.unique(time[(event > 0) & (time <= survival.horizon)])
    if moments.size == 0:
        return np.zeros(n)
    at_risk = n - np.searchsorted(np.sort(time), moments, side="left")
    by_horizon = time <= survival.horizon
    every, own = (
        np.bincount(np.searchsorted(moments, time[kept & by_horizon]), minlength=moments.size)
        for kept in (event > 0, event == survival.cause)
    )
    # Before the time of a row one fewer is at risk; after it all is as with the row.
    fewer = np.maximum(at_risk - 1, 1)
    stays = np.append(1.0, np.cumprod(1.0 - every / fewer))
    upto = np.append(0.0, np.cumsum(stays[:-1] * own / fewer))
    after = np.zeros(moments.size + 1)  # the risk by the horizon of those at risk at each time
    for k in range(moments.size - 1, -1, -1):
        after[k] = own[k] / at_risk[k] + (1.0 - every[k] / at_risk[k]) * after[k + 1]
    before = np.searchsorted(moments, time, side="left")
    without: Floats = upto[before]
    at: Ints = np.minimum(before, moments.size - 1)
    is_at = (before < moments.size) & (moments[at] == time)
    own_event = is_at & (event == survival.cause)
    left, lost = own[at] - own_event, every[at] - (is_at & (event > 0))
    here = left / fewer[at] + (1.0 - lost / fewer[at]) * after[at + 1]
    without = without + stays[before] * np.where(is_at, here, after[before])
    return np.asarray(n * after[0] - (n - 1) * without)


def calibration_slope(
    survival: SurvivalPredictions, *, confidence: float = 0.95
) -> tuple[Estimate, Estimate]:
    r"""Fit the pseudo-observations by the predicted risks, both on the scale of the log hazard.

    .. math:: \log(-\log(1 - E \theta_i)) = a + b \log(-\log(1 - p_i))

    by estimating equations with independent errors of equal variance; intervals are by the robust
    standard error.

    Parameters
    ----------
    survival : SurvivalPredictions
        The rows, without sample weights.
    confidence : float
        Of the intervals.

    Returns
    -------
    tuple of Estimate
        The intercept a of a fit with b = 1, above 0 where risks are too low, and the slope b of a
        fit of both, below 1 where risks are too extreme.

    Raises
    ------
    NotApplicable
        If all risks are equal, or the fit does not converge.

    References
    ----------
    Andersen, Perme (2010), Pseudo-observations in survival analysis, Stat. Methods in Medical
    Research 19; Royston (2015), Tools for checking calibration of a Cox model in external
    validation: prediction of population-averaged survival curves based on risk groups, Stata J. 15.

    Examples
    --------
    >>> import caltest as ct
    >>> rows = {"time": [1, 2, 3, 4, 5, 6, 2.5, 2.8], "event": [1, 0, 1, 0, 1, 0, 1, 1]}
    >>> risk = [0.7, 0.2, 0.3, 0.1, 0.3, 0.2, 0.4, 0.2]
    >>> intercept, slope = calibration_slope(ct.SurvivalPredictions(risk, **rows, horizon=3.5))
    >>> round(intercept.value, 2), round(slope.value, 2)
    (1.01, 1.81)
    """
    theta, x, z = (
        pseudo_observations(survival),
        _log_hazard(event_column(survival)),
        _quantile(confidence),
    )
    found = []
    for design, offset in ((np.ones((x.size, 1)), x), (np.vander(x, 2, increasing=True), 0.0)):
        beta, covariance = _fit(design, theta, offset)
        error = math.sqrt(float(covariance[-1, -1]))
        value = float(beta[-1])
        found.append(Estimate(value, value - z * error, value + z * error))
    return found[0], found[1]


def smooth_calibration(survival: SurvivalPredictions, *, knots: int = 3) -> SmoothCalibration:
    r"""Fit a smooth curve of the observed risk by the predicted one, and measure how far it is off.

    The hazard is a Cox model of restricted cubic splines of :math:`\log(-\log(1 - p))`, of all
    times of follow-up; with competing events, whose hazards do not give the risk, the
    pseudo-observations are fitted by the same splines.

    Parameters
    ----------
    survival : SurvivalPredictions
        The rows, without sample weights.
    knots : {3, 4, 5}
        Of the splines, at the quantiles that Harrell recommends.

    Returns
    -------
    SmoothCalibration
        The curve, and ICI, E50, E90 and Emax.

    Raises
    ------
    NotApplicable
        If the risks are too few distinct ones, or the fit does not converge.

    References
    ----------
    Austin, Harrell, van Klaveren (2020), Graphical calibration curves and the integrated
    calibration index (ICI) for survival models, Statistics in Medicine 39; Austin, Putter,
    Giardiello, van Klaveren (2022), Graphical calibration curves and the ICI for competing risk
    models, Diagnostic and Prognostic Research 6.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.uniform(0.1, 0.6, 500)
    >>> time, lost = rng.exponential(-1 / np.log1p(-risk)), rng.exponential(2, 500)
    >>> rows = {"time": np.minimum(time, lost), "event": time <= lost}
    >>> found = smooth_calibration(ct.SurvivalPredictions(risk, **rows, horizon=1))
    >>> round(found.ici, 3), round(found.emax, 3)
    (0.052, 0.122)
    """
    _check_unweighted(survival)
    risk = event_column(survival)
    basis = _splines(_log_hazard(risk), checks.check_integer(knots, "knots", 3))
    if (survival.event > 1).any() or survival.cause > 1:
        design = np.column_stack([np.ones(risk.size), basis])
        beta, _ = _fit(design, pseudo_observations(survival), 0.0)
        observed = -np.expm1(-np.exp(design @ beta))
    else:
        observed = _cox_risk(basis, survival.time, survival.event, survival.horizon)
    off = np.abs(observed - risk)
    middle, far = (float(q) for q in np.quantile(off, [0.5, 0.9]))
    return SmoothCalibration(observed, float(off.mean()), middle, far, float(off.max()))


def d_calibration(
    survival: object, event: object, *, bins: int = 10, level: float | None = None
) -> HTest:
    r"""Test predicted survival curves at the time of each row, by bins.

    Where the curves :math:`S_i` are right, :math:`S_i(T_i)` is uniform on [0, 1]. A row that is
    censored at c counts in every bin by the probability that its event would have been in it:
    with :math:`s = S_i(c)` in the bin from a to b by :math:`(s - a) / s`, in each bin below by
    :math:`(b - a) / s`. Pearson's statistic of the counts has about the chi^2 distribution with
    one degree less than there are bins, and a smaller one where rows are censored.

    Parameters
    ----------
    survival : array_like, shape (n,)
        The predicted probability of each row to survive its own observed time, S_i(T_i).
    event : array_like, shape (n,)
        1 or True where the event happened at that time, 0 where the row was censored.
    bins : int
        Bins of equal width, at least 2.
    level : float, optional
        Significance level; the print holds a decision only where it is given.

    Returns
    -------
    HTest
        The test; its estimate is the largest gap of the share of a bin.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Haider, Hoehn, Davis, Greiner (2020), Effective ways to build and evaluate individual survival
    distributions, J. Machine Learning Research 21, section 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> uniform = (np.arange(200) + 0.5) / 200
    >>> d_calibration(uniform, np.ones(200)).pvalue
    1.0
    """
    values = checks.in_one_dimension(checks.as_array(survival, "survival"))
    s = checks.check_event_probs(values, name="survival")
    happened, count = check_events(event, s.size) > 0, checks.check_integer(bins, "bins", 2)
    if not happened.any():
        raise invalid("event must hold an event", f"{s.size} zeros", "pass rows with events")
    bin_of = np.minimum((s * count).astype(np.int64), count - 1)
    # The share of a censored row in its own bin, and in each below.
    rate = 1.0 / np.maximum(s[~happened], np.finfo(np.float64).tiny)
    own, at = np.clip(1.0 - bin_of[~happened] / count * rate, 0.0, 1.0), bin_of[~happened]
    below = np.where(at > 0, rate / count, 0.0)
    later = np.bincount(at, below, count)[::-1].cumsum()[::-1] - np.bincount(at, below, count)
    counts = np.bincount(bin_of[happened], minlength=count) + np.bincount(at, own, count) + later
    expected = s.size / count
    statistic = float(np.square(counts - expected).sum()) / expected
    pvalue = float(scipy.special.chdtrc(count - 1, statistic))
    text = f"chi^2 with {count - 1} degrees of freedom"
    gap = float(np.abs(counts - expected).max()) / s.size
    about = {"bins": count, "censored": f"{np.count_nonzero(~happened)} of {s.size} rows"}
    outcome = outcome_of("chi^2", statistic, pvalue, text, gap, parameters=about)
    rows: dict[str, Any] = {"n": s.size, "m": 2, "lens": "strong", "data_name": "arrays"}
    return HTest.from_outcome(
        outcome,
        test="d-calibration",
        method="Asymptotic test of calibration: D-calibration",
        estimate_name="largest gap of a bin",
        null="asymptotic",
        claim="the predicted probabilities of surviving longer are uniform",
        level=level,
        **rows,
    )


def _observed(survival: SurvivalPredictions) -> tuple[float, float]:
    """Return the observed risk, and its standard error."""
    events, total = survival.censoring.weights * survival.labels, float(survival.mass.sum())
    value = float(events.sum()) / total
    own = survival.censoring.influences(events) - survival.mass * value
    return value, float(np.sqrt(own @ own)) / total


def _log_hazard(risk: Floats) -> Floats:
    return np.asarray(np.log(-np.log1p(-np.clip(risk, LEAST, 1.0 - LEAST))))


def _quantile(confidence: float) -> float:
    return normal_isf((1.0 - checks.check_confidence(confidence)) / 2.0)


def _check_unweighted(survival: SurvivalPredictions) -> None:
    if np.ptp(survival.mass) > 0:
        reason = "pseudo-observations and smooth curves take no sample weights"
        raise NotApplicable(reason, "use observed_expected_ratio, or test_calibration")


def _fit(design: Floats, theta: Floats, offset: Floats | float) -> tuple[Floats, Floats]:
    """Minimise the squares of theta - F(design beta + offset); return beta and its covariance.

    F is the inverse of the complementary log-log; a step that raises the squares is halved.
    """
    beta = np.zeros(design.shape[1])
    start = float(np.clip(theta.mean(), 0.01, 0.99))
    beta[0] = math.log(-math.log1p(-start)) - float(np.mean(offset))

    def terms(beta: Floats) -> tuple[Floats, Floats]:
        eta = np.clip(design @ beta + offset, -30.0, 5.0)
        hazard = np.exp(eta)
        return theta + np.expm1(-hazard), design * np.exp(eta - hazard)[:, np.newaxis]

    gaps, slopes = terms(beta)
    for _ in range(STEPS):
        step = np.linalg.lstsq(slopes, gaps, rcond=None)[0]
        squares, size = float(gaps @ gaps), 1.0
        while size > CLOSE and float(np.square(terms(beta + size * step)[0]).sum()) > squares:
            size *= 0.5
        beta = beta + size * step
        gaps, slopes = terms(beta)
        if float(np.abs(size * step).max()) < 1e-9 * max(1.0, float(np.abs(beta).max())):
            break
    else:
        reason = "the fit by the complementary log-log of the risk does not converge"
        raise NotApplicable(reason, "use test_calibration, or more rows")
    if np.linalg.matrix_rank(slopes) < beta.size:
        reason = "the risks are too few distinct ones for a fit by them"
        raise NotApplicable(reason, "use observed_expected_ratio")
    bread = np.linalg.inv(slopes.T @ slopes)
    scores = slopes * gaps[:, np.newaxis]
    return beta, bread @ (scores.T @ scores) @ bread


def _splines(x: Floats, knots: int) -> Floats:
    """Return the restricted cubic splines of Harrell, (n, knots - 1), the line first."""
    checks.check_choice(str(knots), [str(k) for k in KNOTS], "knots")
    t = np.quantile(x, KNOTS[knots])
    if np.unique(t).size < knots:
        reason = f"the risks have too few distinct values for splines with {knots} knots"
        raise NotApplicable(reason, "use observed_expected_ratio, or fewer knots")

    def cube(a: float) -> Floats:
        return np.asarray(np.maximum(x - a, 0.0) ** 3)

    last, end = t[-2], t[-1]
    bent = [
        cube(a) - cube(last) * (end - a) / (end - last) + cube(end) * (last - a) / (end - last)
        for a in t[:-2]
    ]
    return np.column_stack([x, *(one / (end - t[0]) ** 2 for one in bent)])


def _cox_risk(basis: Floats, time: Floats, event: Codes, horizon: float) -> Floats:
    """Return the risk of each row by a Cox model with the baseline hazard of Breslow."""
    from statsmodels.duration.hazard_regression import PHReg

    centred = basis - basis.mean(axis=0)
    beta = PHReg(time, centred, status=event, ties="efron").fit(disp=0).params
    if not np.isfinite(beta).all():
        raise NotApplicable("the Cox model of the risk does not converge", "use more rows")
    relative = np.exp(centred @ beta)
    order = np.argsort(-time, kind="stable")
    at_risk = np.cumsum(relative[order])
    happened = (event > 0) & (time <= horizon)
    upto = np.searchsorted(-time[order], -time[happened], side="right")
    return np.asarray(-np.expm1(-relative * np.sum(1.0 / at_risk[upto - 1])))
