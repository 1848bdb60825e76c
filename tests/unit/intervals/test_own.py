"""Intervals that measures have of their own: grades, coefficients, means with few events."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from scipy.stats import beta, t
from statsmodels.stats.proportion import proportion_confint

import caltest as ct
from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.intervals import mean
from caltest.measures import expected_observed_interval
from caltest.measures.grades.grade import SHORT, Binomial, Jeffreys, Normal, Vasicek
from caltest.measures.recalibration.coefficient_interval import profile_bounds, unseen_bounds
from caltest.measures.recalibration.cox import CalibrationIntercept, CalibrationSlope, Cox
from caltest.measures.recalibration.expected_observed_ratio import (
    ExpectedObservedRatio,
    MeanCalibration,
)
from caltest.measures.recalibration.fits import SLOPE
from caltest.measures.scores.scores import BrierScore, LogLoss, SphericalScore
from caltest.nulls.base import Draws

OPTIONS = {"level": 0.9}


def grade(defaults, n=50):
    """Make a grade with a PD of 3 %."""
    return Predictions(np.full(n, 0.03), np.arange(n) < defaults, classes=[False, True])


@pytest.mark.parametrize("defaults", [1, 7, 49])
@pytest.mark.parametrize(
    ("measure", "method"), [(Binomial(), "beta"), (Jeffreys(), "jeffreys"), (Normal(), "wilson")]
)
def test_ends_are_those_of_statsmodels(measure, method, defaults):
    found = measure.own_interval(grade(defaults), **OPTIONS)
    expected = proportion_confint(defaults, 50, alpha=0.1, method=method)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)
    assert found.estimate == defaults / 50


@pytest.mark.parametrize("measure", [Binomial(), Jeffreys(), Normal(), Vasicek(correlation=0.1)])
def test_no_default_and_nothing_but_defaults_leave_one_end_open(measure):
    """No rate is too small for none, or too large for all."""
    none = measure.own_interval(grade(0), **OPTIONS)
    assert none.low == 0.0
    assert none.high == pytest.approx(beta.ppf(0.95, 1, 50), rel=1e-9) or measure != Binomial()
    assert measure.own_interval(grade(50), **OPTIONS).high == 1.0


def test_correlation_makes_the_interval_wider():
    """Its ends are those that the test does not reject."""
    one, two = (Vasicek(correlation=c).own_interval(grade(7), **OPTIONS) for c in (0.0, 0.2))
    binomial = Binomial().own_interval(grade(7), **OPTIONS)
    assert (one.low, one.high) == (binomial.low, binomial.high)
    assert two.low < one.low < one.high < two.high
    measure = Vasicek(correlation=0.2)
    found = measure.own_interval(grade(7), **OPTIONS)
    tails = measure.tails(7, 50, found.low)[0], measure.tails(7, 50, found.high)[1]
    assert tails == pytest.approx((0.05, 0.05), rel=1e-8)


def test_weights_are_refused_and_few_defaults_noted():
    data = Predictions(np.full(5, 0.1), [0, 1, 0, 0, 0], sample_weight=np.arange(1.0, 6.0))
    with pytest.raises(NotApplicable, match="its null distribution takes no weights"):
        Binomial().own_interval(data, **OPTIONS)
    notes = [Normal().own_interval(grade(d), **OPTIONS).notes for d in (7, 15)]
    assert notes == [(SHORT,), ()]
    assert not Binomial().own_interval(grade(7), **OPTIONS).notes


DATA = generative_model("M2", n=80, m=2, alpha=1.0, rng=3)
TIMID = Predictions(DATA.probs[:, 1] * 0.01, DATA.labels)  # log odds far from 0


def fitted(data, *, with_slope):
    """Fit with statsmodels; its robust errors do not divide the residuals by 1 - h."""
    x = logit(data.probs[:, 1])
    columns = sm.add_constant(x) if with_slope else np.ones((len(x), 1))
    offset = None if with_slope else x
    fit = sm.GLM(data.labels, columns, sm.families.Binomial(), offset=offset).fit(tol=1e-13)
    q = fit.fittedvalues
    inverse = np.linalg.inv(columns.T @ (columns * (q * (1 - q))[:, None]))
    h = q * (1 - q) * np.einsum("ij,jk,ik->i", columns, inverse, columns)
    part = columns * ((data.labels - q) / (1 - h))[:, None]
    error = np.sqrt(np.diagonal(inverse @ (part.T @ part) @ inverse))
    return fit.params, error * t.ppf(0.95, len(x) - columns.shape[1])


def loss(theta, data, place, *, with_slope):
    """Minimise the negative log likelihood over the other coefficient."""
    x, sign = logit(data.probs[:, 1]), 2 * data.labels - 1

    def at(other):
        a, b = (theta, other) if place == 0 else (other, theta)
        return np.logaddexp(0.0, -sign * (a + b * x)).sum()

    return minimize(lambda v: at(v[0]), [0.5], tol=1e-12).fun if with_slope else at(1.0)


def profiled(data, place, estimate, side, *, with_slope):
    """Find where twice the log likelihood has come down by the square of Student's quantile."""
    options = {"data": data, "place": place, "with_slope": with_slope}
    level = loss(estimate, **options) + t.ppf(0.95, data.n - 1 - with_slope) ** 2 / 2
    return brentq(lambda v: loss(v, **options) - level, estimate, estimate + side * 30, xtol=1e-9)


@pytest.mark.parametrize("data", [DATA, TIMID])
@pytest.mark.parametrize(
    ("measure", "with_slope", "place"),
    [
        (CalibrationSlope(), True, 1),
        (Cox(tested="slope"), True, 1),
        (CalibrationIntercept(slope="estimated"), True, 0),
        (CalibrationIntercept(), False, 0),
        (Cox(tested="intercept"), False, 0),
    ],
)
def test_profile_ends_are_those_of_statsmodels(measure, with_slope, place, data):
    """The generalised linear model with a robust covariance; slope 1 is an offset."""
    found = measure.own_interval(data, **OPTIONS)
    estimates, reaches = fitted(data, with_slope=with_slope)
    sides = [profiled(data, place, estimates[place], s, with_slope=with_slope) for s in (-1, 1)]
    low, high = estimates[place] - reaches[place], estimates[place] + reaches[place]
    assert found.estimate == pytest.approx(estimates[place], rel=1e-7)
    assert (found.low, found.high) == pytest.approx((min(low, sides[0]), max(high, sides[1])), 1e-5)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("flip", [False, True])
def test_slope_of_separated_labels_has_one_end(flip):
    """The likelihood of steep lines tends to 1; where it is exp(-t^2 / 2) the interval ends."""
    probs, labels = np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), np.array([0, 0, 0, 1, 1, 1])
    data = Predictions(probs, 1 - labels if flip else labels)
    found = CalibrationSlope().own_interval(data, **OPTIONS)
    finite, infinite = (found.high, found.low) if flip else (found.low, found.high)
    reached = loss(finite, data, 1, with_slope=True)
    assert reached == pytest.approx(t.ppf(0.95, 4) ** 2 / 2, rel=1e-6)
    assert infinite == (-np.inf if flip else np.inf)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_intercept_without_events_has_an_upper_end():
    """No event in 50 rows of 2 % allows odds up to some multiple of those predicted."""
    data = Predictions(np.full(50, 0.02), np.zeros(50, int), classes=[0, 1])
    found = CalibrationIntercept().own_interval(data, **OPTIONS)
    none = 50 * np.log1p(-expit(logit(0.02) + found.high))
    assert -none == pytest.approx(t.ppf(0.95, 49) ** 2 / 2, rel=1e-6)
    assert found.low == -np.inf


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize(
    ("probs", "labels", "measure"),
    [
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 0, 0], CalibrationSlope()),
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], CalibrationIntercept(slope="estimated")),
        ([0.3, 0.3, 0.3, 0.3], [0, 0, 1, 1], CalibrationSlope()),
        ([0.3], [1], CalibrationIntercept()),
    ],
)
def test_coefficient_that_labels_do_not_determine_has_no_interval(probs, labels, measure):
    """Equal labels, separated labels, equal predictions, one row."""
    data = Predictions(probs, labels, classes=[0, 1])
    with pytest.raises(NotApplicable, match=r"has no interval|no standard error"):
        measure.own_interval(data, **OPTIONS)


def test_interval_of_a_result_is_that_of_the_function():
    data = ct.datasets.generative_model("M2", n=60, m=2, rng=1)
    result = ct.test_calibration(data, test=ExpectedObservedRatio(), n_resamples=9, rng=1)
    found = result.confidence_interval(0.9)
    expected = expected_observed_interval(data, confidence=0.9)
    assert (found.low, found.high) == (expected.low, expected.high)
    assert found.estimate == pytest.approx(result.estimate, rel=1e-12)


def drawn(n=200, seed=0):
    """Draw log odds of rare events, and labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-3.0, 1.0, n)
    return x, (rng.random(n) < expit(x)).astype(np.uint8)


@pytest.mark.parametrize("column", [0, 1])
def test_order_of_the_rows_and_unit_of_the_weights_do_not_matter(column):
    x, y = drawn()
    weight, order = np.random.default_rng(3).uniform(1.0, 2.0, 200), np.arange(200)[::-1]
    one = unseen_bounds(x, y, weight, column, (0.0, 1.0), 0.95)
    two = unseen_bounds(x[order], y[order], 7.0 * weight[order], column, (0.0, 1.0), 0.95)
    assert one == pytest.approx(two, rel=1e-9)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_events_in_one_group_alone_do_not_show_the_slope():
    """The rates .01 and .4 of two groups have a slope that the likelihood of four events denies."""
    p, y = np.append(np.full(95, 0.01), np.full(5, 0.1)), (np.arange(100) >= 96).astype(np.uint8)
    slope = (logit(0.4) - logit(0.01)) / (logit(0.1) - logit(0.01))
    likelihood = profile_bounds(logit(p), y, np.ones(100), SLOPE, t.ppf(0.975, 98))
    found = CalibrationSlope().own_interval(Predictions(p, y), level=0.95)
    assert found.low < slope < likelihood[0]
    assert found.high == np.inf


OPTIONS_SCORES = (0.9, Draws(1999, 5))
METHODS = [mean.unseen_events_interval, mean.studentized_interval]
MEASURES = [BrierScore(), LogLoss(), SphericalScore(), MeanCalibration()]


@pytest.mark.parametrize("d", [0, 1, 2, 5])
def test_ends_for_equal_rows_are_about_those_of_clopper_and_pearson(d):
    """A residual that two values can have is a rate less the prediction."""
    data = Predictions(np.full(40, 0.02), (np.arange(40) < d).astype(int), classes=[0, 1])
    found = mean.unseen_events_interval(MeanCalibration(), data, *OPTIONS_SCORES)
    exact = stats.binomtest(d, 40).proportion_ci(0.9)
    assert exact.high * 0.94 <= found.high + 0.02 <= exact.high * 1.15
    assert found.low + 0.02 <= exact.low + 0.002


@pytest.mark.parametrize("measure", MEASURES)
def test_interval_is_no_shorter_than_the_studentized(measure):
    data = generative_model("M2", n=40, m=2, alpha=1.0, rng=3)
    wide, own = (interval(measure, data, *OPTIONS_SCORES) for interval in METHODS)
    assert wide.low <= own.low < own.high <= wide.high


@pytest.mark.parametrize("measure", MEASURES)
def test_scores_without_an_event_have_an_interval(measure):
    """Equal scores: the bootstrap sees no variance, and the calibrated score is within reach."""
    data = Predictions(np.full(30, 0.02), np.zeros(30, int), classes=[0, 1])
    with pytest.raises(NotApplicable, match="the same for all rows"):
        mean.studentized_interval(measure, data, *OPTIONS_SCORES)
    found = mean.unseen_events_interval(measure, data, *OPTIONS_SCORES)
    assert found.low <= measure.calibrated_value(data) <= found.high


@pytest.mark.parametrize("measure", MEASURES)
def test_calibrated_value_is_the_mean_over_all_labels(measure):
    """Written out for two rows; with weights, of their ratio."""
    probs, weight = np.array([0.1, 0.7]), np.array([1.0, 3.0])
    total = 0.0
    for labels in ([0, 0], [0, 1], [1, 0], [1, 1]):
        chance = np.where(labels, probs, 1 - probs).prod()
        data = Predictions(probs, labels, sample_weight=weight, classes=[0, 1])
        total += chance * measure.evaluate(data)
    assert measure.calibrated_value(data) == pytest.approx(total, abs=1e-12)


def test_many_events_are_left_to_the_bootstrap():
    """None is missed, and rows are many."""
    data = generative_model("M2", n=8000, m=2, alpha=1.0, rng=3)
    wide, own = (interval(BrierScore(), data, 0.9, Draws(99, 5)) for interval in METHODS)
    assert wide == own
