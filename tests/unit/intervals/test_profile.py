"""Intervals of slope and intercept, compared with statsmodels and a likelihood written out."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit
from scipy.stats import t

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures.recalibration.cox import CalibrationIntercept, CalibrationSlope, Cox

OPTIONS = {"level": 0.9}
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
def test_ends_are_those_of_statsmodels(measure, with_slope, place, data):
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


def test_unit_of_the_weights_does_not_matter():
    """They are shares of the sample, not counts; rows of weight 0 do not count."""
    weights = np.random.default_rng(1).uniform(1.0, 2.0, 80) * (np.arange(80) != 3)
    both = [Predictions(DATA.probs, DATA.labels, sample_weight=weights * c) for c in (1.0, 7.0)]
    one, two = (CalibrationSlope().own_interval(data, **OPTIONS) for data in both)
    assert (one.low, one.high) == pytest.approx((two.low, two.high), rel=1e-9)


def test_equal_weights_are_no_weights():
    data = Predictions(DATA.probs, DATA.labels, sample_weight=np.full(80, 3.0))
    one, two = (CalibrationSlope().own_interval(some, **OPTIONS) for some in (DATA, data))
    assert (one.low, one.high) == pytest.approx((two.low, two.high), rel=1e-9)


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
