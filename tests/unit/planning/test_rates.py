"""Intervals of rates, and where a probit line crosses a rate."""

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.families.links import Probit
from statsmodels.genmod.generalized_linear_model import GLM

from caltest.planning.curve import crossing, probit_line
from caltest.planning.results import PowerRow

pytestmark = pytest.mark.loops

X = np.array([4.0, 6.0, 9.0, 14.0])
EVENTS, TRIALS = np.array([3.0, 20.0, 70.0, 99.0]), np.array([50.0, 100.0, 100.0, 100.0])


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (3, 10), (812, 1000)])
def test_interval_of_a_power_is_that_of_scipy(k, n):
    expected = binomtest(k, n).proportion_ci(0.9, method="exact")
    row = PowerRow(
        test="", null="", n=1, n_datasets=n, rejections=k, estimate_name="", estimate=0.0
    )
    assert row.interval(0.9) == pytest.approx((expected.low, expected.high))


def test_probit_line_is_that_of_statsmodels():
    """It exists for rates of 0 and 1."""
    k, n = EVENTS + 0.125, TRIALS + 0.25
    design = np.column_stack([np.ones(4), X])
    fit = GLM(np.column_stack([k, n - k]), design, family=Binomial(Probit())).fit()
    line = probit_line(X, EVENTS, TRIALS)
    assert line[:2] == pytest.approx(tuple(fit.params), rel=1e-6)
    np.testing.assert_allclose(line[2], fit.cov_params(), rtol=1e-4)
    line = probit_line(np.array([4.0, 6.0]), np.array([0.0, 500.0]), np.array([50.0, 500.0]))
    assert np.isfinite(line[2]).all()
    assert 0 < line[1] < 10


def test_crossing_is_where_the_band_of_the_line_meets_the_height():
    """That of a flat line has no ends."""
    line = probit_line(X, EVENTS, TRIALS)
    root, low, high = crossing(line, 0.84, 1.96)
    assert line[0] + line[1] * root == pytest.approx(0.84)
    for end, sign in ((low, 1), (high, -1)):
        x = np.array([1.0, end])
        assert x @ line[:2] + sign * 1.96 * np.sqrt(x @ line[2] @ x) == (pytest.approx(0.84))
    flat = probit_line(X, np.array([50.0, 49.0, 52.0, 51.0]), np.full(4, 100.0))
    assert crossing(flat, 0.84, 1.96)[1:] == (-np.inf, np.inf)
    falling = probit_line(X, EVENTS[::-1], TRIALS)
    assert crossing(falling, 0.84, 1.96) == (np.inf, -np.inf, np.inf)
