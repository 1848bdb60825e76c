"""Observed risks and what they say of predicted ones: ratio, slope and smooth curve."""

from __future__ import annotations

import math
import warnings
from operator import mul
from typing import NamedTuple

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable
from caltest.numerics.event_tails import rate_limits
from caltest.numerics.tails import normal_isf, student_isf
from caltest.predictions.container import event_column
from caltest.survival.predictions import ROW, SurvivalPredictions
from caltest.types import Codes, Floats, Ints

LEAST = 1e-12  # smaller risks, and larger than 1 less it, count as this one in logs
KNOTS = {3: (0.1, 0.5, 0.9), 4: (0.05, 0.35, 0.65, 0.95), 5: (0.05, 0.275, 0.5, 0.725, 0.95)}
REMEDY = "pass caltest.SurvivalPredictions(risk, time, event, horizon=365), for example"
STEPS, CLOSE = 100, 1e-10  # of Gauss and Newton
FLAT = 1e-6  # a change of risks for which a fit has no minimum


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
    infinitesimal jackknife, of Kaplan-Meier the one of Greenwood. Where rows have clusters, it is
    over the C of them, with the quantile of Student's t for C - 1 degrees of freedom. Of the risks
    0 and 1 it is that of Clopper and Pearson for the rows of known status.

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

    Raises
    ------
    NotApplicable
        If all rows are of one cluster.

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
    z = _quantile(confidence, survival)
    if not 0.0 < value < 1.0:
        mass = survival.mass[survival.censoring.weights > 0]
        size = np.square(mass.sum()) / (mass @ mass)
        ends = rate_limits(value * size, size, (1.0 - confidence) / 2.0)
        return Estimate(value, *map(float, ends))
    reach = z * error / ((1.0 - value) * -math.log1p(-value))
    low, high = (-math.expm1(math.log1p(-value) * math.exp(x)) for x in (-reach, reach))
    return Estimate(value, low, high)


def observed_expected_ratio(survival: SurvivalPredictions, *, confidence: float = 0.95) -> Estimate:
    r"""Divide the observed risk by the mean of the predicted risks of all rows.

    The observed risk is that of `cumulative_incidence`; the interval is symmetric for the log of
    the ratio, with the standard error of the observed risk alone; where that is 1, its interval.

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
        If no event is observed by the horizon, all predicted risks are 0, or all rows are of one
        cluster.

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
    predicted = float(np.average(event_column(survival), weights=survival.mass))
    if predicted == 0.0:
        raise NotApplicable("all predicted risks are 0", "use cumulative_incidence")
    ratio = value / predicted
    if value == 1.0:
        low = cumulative_incidence(survival, confidence=confidence).low
        return Estimate(ratio, ratio * low, ratio)
    factor = math.exp(_quantile(confidence, survival) * error / value)
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

    by estimating equations with independent errors of equal variance. Intervals are by the robust
    standard error, over clusters where rows have some (with the quantile of Student's t), or by
    that of independent errors whose variance is in proportion to F (1 - F) at the fitted risk F,
    whichever is larger. Of rare events the robust one alone is too small: the few rows of large
    risk that decide the fit say little about their variance where none of them has the event. With
    risks of 3 % on average and 10 and 31 events it held the slope of calibrated risks in 88 and 92
    % of 400 simulated data sets at 95 %, the larger of both in 96 and 97 %.

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
        If all risks are equal, all rows or none have the event, all are of one cluster, or the fit
        does not converge.

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
    _check_unweighted(survival)
    x, found = _log_hazard(event_column(survival)), []
    quantiles = _quantile(confidence, survival), _quantile(confidence)
    for design, offset in ((np.ones((x.size, 1)), x), (np.vander(x, 2, increasing=True), 0.0)):
        beta, errors = _fit(design, survival, offset)
        value, reach = float(beta[-1]), max(map(mul, quantiles, errors))
        found.append(Estimate(value, value - reach, value + reach))
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
        If the risks are too few distinct ones, no event happened, or the fit does not converge.

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
        beta, _ = _fit(design, survival, 0.0)
        observed = -np.expm1(-np.exp(design @ beta))
    else:
        observed = _cox_risk(basis, survival.time, survival.event, survival.horizon)
    off = np.abs(observed - risk)
    middle, far = (float(q) for q in np.quantile(off, [0.5, 0.9]))
    return SmoothCalibration(observed, float(off.mean()), middle, far, float(off.max()))


def _observed(survival: SurvivalPredictions) -> tuple[float, float]:
    """Return the observed risk, and its standard error."""
    checks.check_instance(survival, SurvivalPredictions, "survival", REMEDY)
    events, total = survival.censoring.weights * survival.labels, float(survival.mass.sum())
    value = float(events.sum()) / total
    value = value if value < 1.0 - LEAST else 1.0
    own = _of_clusters(survival.censoring.influences(events) - survival.mass * value, survival)
    return value, float(np.sqrt(own @ own)) / total


def _of_clusters(values: Floats, survival: SurvivalPredictions) -> Floats:
    """Sum values (n, ...) over the rows of each cluster."""
    place = np.unique(np.asarray(survival.clusters), return_inverse=True)[1]
    count = int(place.max()) + 1
    if count == 1 < survival.n:
        reason = "all rows are of one cluster, which does not tell how much estimates vary"
        raise NotApplicable(reason, "pass smaller clusters")
    sums = np.zeros((count, *values.shape[1:]))
    np.add.at(sums, place, values)
    return sums


def _log_hazard(risk: Floats) -> Floats:
    return np.asarray(np.log(-np.log1p(-np.clip(risk, LEAST, 1.0 - LEAST))))


def _quantile(confidence: float, survival: SurvivalPredictions | None = None) -> float:
    """Return the normal quantile of a tail; of clusters Student's, for sums of few squares."""
    tail = (1.0 - checks.check_confidence(confidence)) / 2.0
    if survival is None or survival.unit == ROW:
        return normal_isf(tail)
    others = max(np.unique(np.asarray(survival.clusters)).size - 1, 1)
    return student_isf(tail, others) * math.sqrt(1.0 + 1.0 / others)


def _check_unweighted(survival: SurvivalPredictions) -> None:
    checks.check_instance(survival, SurvivalPredictions, "survival", REMEDY)
    if np.ptp(survival.mass) > 0:
        reason = "pseudo-observations and smooth curves take no sample weights"
        raise NotApplicable(reason, "use observed_expected_ratio, or test_calibration")


def _fit(
    design: Floats, survival: SurvivalPredictions, offset: Floats | float
) -> tuple[Floats, tuple[float, float]]:
    """Minimise the squares of theta - F(design beta + offset); return beta and two errors.

    Theta are the pseudo-observations, and F is the inverse of the complementary log-log; a step
    that raises the squares is halved. The errors are those of the last coefficient, over clusters
    and of independent rows.
    """
    theta, beta = pseudo_observations(survival), np.zeros(design.shape[1])
    if not CLOSE < theta.mean() < 1.0 - CLOSE:
        raise NotApplicable("all rows or none have the event by the horizon", "choose another one")
    start = float(np.clip(theta.mean(), 0.01, 0.99))
    beta[0] = math.log(-math.log1p(-start)) - float(np.mean(offset))

    def terms(beta: Floats) -> tuple[Floats, Floats]:
        eta = np.clip(design @ beta + offset, -30.0, 5.0)
        hazard = np.exp(eta)
        return theta + np.expm1(-hazard), design * np.exp(eta - hazard)[:, np.newaxis]

    if np.linalg.matrix_rank(design) < beta.size:
        reason = "the risks are too few distinct ones for a fit by them"
        raise NotApplicable(reason, "use observed_expected_ratio")
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
        size = 0.0
    rows, sizes, columns = np.linalg.svd(slopes, full_matrices=False)
    # A step from 0 to 1 is no fit: all that it hangs on is the row in between, or none.
    leverage = float(np.square(rows).sum(axis=1).max())
    if size == 0.0 or sizes[-1] < FLAT or leverage > 1.0 - FLAT:
        reason = "the fit by the complementary log-log of the risk does not converge"
        raise NotApplicable(reason, "use test_calibration, or more rows")
    bread = (columns.T / np.square(sizes)) @ columns
    pull = slopes @ bread[-1]  # of each row on the last coefficient
    robust, variance = _of_clusters(pull * gaps, survival), (theta - gaps) * (1.0 - theta + gaps)
    alike = float(np.square(pull) @ variance) * float(gaps @ gaps) / float(variance.sum())
    return beta, (math.sqrt(float(robust @ robust)), math.sqrt(alike))


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
    from statsmodels.tools.sm_exceptions import ModelWarning

    if not event.any():
        raise NotApplicable("no event happened, of which the Cox model is", "use more rows")
    centred = basis - basis.mean(axis=0)
    failed = NotApplicable("the Cox model of the risk does not converge", "use more rows")
    with warnings.catch_warnings(action="error", category=ModelWarning), np.errstate(all="ignore"):
        try:
            beta = PHReg(time, centred, status=event, ties="efron").fit(disp=0).params
        except (np.linalg.LinAlgError, ModelWarning) as error:
            raise failed from error
        relative = np.exp(centred @ beta)
        order = np.argsort(-time, kind="stable")
        at_risk = np.cumsum(relative[order])
        happened = (event > 0) & (time <= horizon)
        upto = np.searchsorted(-time[order], -time[happened], side="right")
        risk = -np.expm1(-relative * np.sum(1.0 / at_risk[upto - 1]))
    if not np.isfinite(risk).all():  # coefficients without end
        raise failed
    return np.asarray(risk)
