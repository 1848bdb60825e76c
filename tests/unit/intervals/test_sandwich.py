"""Intervals of slope and intercept, compared with those of statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import logit
from scipy.stats import t

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.intervals import sandwich
from caltest.measures.recalibration.calibration_intercept import CalibrationIntercept
from caltest.measures.recalibration.calibration_slope import CalibrationSlope
from caltest.measures.recalibration.cox import Cox

OPTIONS = {"level": 0.9, "n_resamples": 0, "seed": 0, "n_jobs": None}
DATA = generative_model("M2", n=80, m=2, alpha=1.0, rng=3)
TIMID = Predictions(DATA.probs[:, 1] * 0.01, DATA.labels)  # log odds far from 0


def fitted(data, *, with_slope):
    """Fit with statsmodels; its robust errors lack the factor n / (n - k) outside of OLS."""
    x = logit(data.probs[:, 1])
    columns = sm.add_constant(x) if with_slope else np.ones((len(x), 1))
    offset = None if with_slope else x
    model = sm.GLM(data.labels, columns, sm.families.Binomial(), offset=offset)
    fit = model.fit(tol=1e-13, cov_type="HC0")
    free = len(x) - columns.shape[1]
    return fit.params, fit.bse * np.sqrt(len(x) / free) * t.ppf(0.95, free)


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
    found = sandwich.compute(measure, data, **OPTIONS)
    estimates, reaches = fitted(data, with_slope=with_slope)
    expected = estimates[place] - reaches[place], estimates[place] + reaches[place]
    assert found.estimate == pytest.approx(estimates[place], rel=1e-7)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-6)


def test_unit_of_the_weights_does_not_matter():
    """They are shares of the sample, not counts; rows of weight 0 do not count."""
    weights = np.random.default_rng(1).uniform(1.0, 2.0, 80) * (np.arange(80) != 3)
    both = [Predictions(DATA.probs, DATA.labels, sample_weight=weights * c) for c in (1.0, 7.0)]
    one, two = (sandwich.compute(CalibrationSlope(), data, **OPTIONS) for data in both)
    assert (one.low, one.high) == pytest.approx((two.low, two.high), rel=1e-9)


def test_equal_weights_are_no_weights():
    """The interval of the rows."""
    data = Predictions(DATA.probs, DATA.labels, sample_weight=np.full(80, 3.0))
    one, two = (sandwich.compute(CalibrationSlope(), some, **OPTIONS) for some in (DATA, data))
    assert (one.low, one.high) == pytest.approx((two.low, two.high), rel=1e-9)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize(
    ("probs", "labels", "measure"),
    [
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], CalibrationSlope()),
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 0, 0], CalibrationIntercept()),
        ([0.3, 0.3, 0.3, 0.3], [0, 0, 1, 1], CalibrationSlope()),
        ([0.3], [1], CalibrationIntercept()),
    ],
)
def test_regression_without_a_finite_fit_has_no_interval(probs, labels, measure):
    """Separated labels, equal labels, equal predictions, one row."""
    data = Predictions(probs, labels, classes=[0, 1])
    with pytest.raises(NotApplicable, match=r"has no interval|no standard error"):
        sandwich.compute(measure, data, **OPTIONS)
