"""The ratio of expected to observed events and its intervals."""

import math

import numpy as np
import pytest
from scipy.stats import beta, chi2, norm

from caltest import DegenerateDataWarning, InvalidInput, NotApplicable, Predictions
from caltest.measures import expected_observed_interval, expected_observed_ratio, mean_calibration
from caltest.measures.recalibration.expected_observed_ratio import MeanCalibration

P, Y = np.full(20, 0.4), np.arange(20) < 5


def test_no_event_gives_infinity_or_one():
    """With a warning; 1 where none was expected either."""
    with pytest.warns(DegenerateDataWarning, match="no event was observed: E/O is infinite"):
        assert expected_observed_ratio([0.2, 0.3], [0, 0]) == math.inf
    with pytest.warns(DegenerateDataWarning, match="taken as 1, since none was expected"):
        assert expected_observed_ratio([0.0, 0.0], [0, 0]) == 1.0


def test_limits_are_those_of_the_count():
    """Of the binomial by its beta quantiles, of the Poisson by those of chi^2, of log(E/O)."""
    exact, count, log = (
        expected_observed_interval(P, Y, method=method, confidence=0.9)
        for method in ("clopper-pearson", "poisson", "log")
    )
    limits = 20 * beta.ppf([0.95, 0.05], [6, 5], [15, 16])
    np.testing.assert_allclose([exact.low, exact.high], 8 / limits)
    np.testing.assert_allclose([count.low, count.high], 16 / chi2.ppf([0.95, 0.05], [12, 10]))
    reach = math.exp(norm.ppf(0.95) * math.sqrt(0.75 / 5))
    np.testing.assert_allclose([log.low, log.high], [1.6 / reach, 1.6 * reach])
    assert exact.ratio == count.ratio == log.ratio == pytest.approx(1.6)


@pytest.mark.parametrize("method", ["clopper-pearson", "poisson"])
def test_exact_limits_of_no_event_and_of_all(method):
    """No event leaves the ratio without an upper limit."""
    none = expected_observed_interval(P, np.zeros(20, int), method=method)
    assert none.ratio == none.high == math.inf
    tail = {"clopper-pearson": 20 * (1 - 0.025 ** (1 / 20)), "poisson": -math.log(0.025)}
    assert none.low == pytest.approx(8 / tail[method])
    every = expected_observed_interval(P, np.ones(20, int), method=method)
    assert every.low <= every.ratio < every.high


def test_interval_that_has_no_meaning_is_refused():
    with pytest.raises(NotApplicable, match="use method='poisson' or 'clopper-pearson'"):
        expected_observed_interval(P, np.zeros(20, int), method="log")
    with pytest.raises(NotApplicable, match="no event is expected; use"):
        expected_observed_interval([0.0, 0.0], [0, 1])
    with pytest.raises(NotApplicable, match="takes no sample weights; use"):
        expected_observed_interval(Predictions([0.5], [1], sample_weight=[2.0]))
    with pytest.raises(InvalidInput, match="method must be one of"):
        expected_observed_interval(P, Y, method="exact")
    dependent = Predictions(P, Y).with_clusters(np.arange(20) // 4)
    with pytest.raises(NotApplicable, match="'log' takes rows as independent; use method='clopper"):
        expected_observed_interval(dependent, method="log")
    assert expected_observed_interval(dependent).high > expected_observed_interval(P, Y).high


# ---- calibration in the large on the scale of probabilities -------------------------------------


def test_limit_is_the_normal_test_of_the_number_of_events():
    """Two-sided, with the variance of independent events, if there is one."""
    p, y = np.linspace(0.1, 0.8, 30), np.arange(30) % 2
    limit = MeanCalibration().limit(Predictions(p, y))
    z = np.sum(y - p) / np.sqrt(np.sum(p * (1 - p)))
    assert limit.statistic == pytest.approx(z)
    assert limit.pvalue == pytest.approx(2 * norm.sf(abs(z)))
    data = Predictions([0.0, 1.0], [0, 0])
    assert mean_calibration(data) == -0.5
    with pytest.raises(NotApplicable, match="no variance; use null='exact'"):
        MeanCalibration().limit(data)
