"""Slopes with one event that has not been seen, compared with statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit
from scipy.stats import t

from caltest import Predictions
from caltest.measures.recalibration import coefficient_interval
from caltest.measures.recalibration.coefficient_interval import FEW, profile_bounds, unseen_bounds
from caltest.measures.recalibration.cox import CalibrationSlope
from caltest.measures.recalibration.fits import SLOPE


def drawn(n=200, seed=0):
    """Draw log odds of rare events, and labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-3.0, 1.0, n)
    return x, (rng.random(n) < expit(x)).astype(np.uint8)


def test_fits_are_those_of_statsmodels(monkeypatch):
    """The masses are weights of the rows, and the last row has one of its own."""
    monkeypatch.setattr(coefficient_interval, "DRAWS", 3)
    x, y = drawn(60, seed=2)
    rng = np.random.default_rng(1)
    masses, unseen = rng.standard_exponential((3, 60)), np.array([-2.0, -4.0, -1.0])
    last = (unseen, np.ones(3), np.array([0.5, 1.0, 0.0]))
    found = coefficient_interval._refitted(np.array([x, y.astype(float)]), masses, last, (0.0, 1.0))
    for k in range(3):
        columns = sm.add_constant(np.append(x, unseen[k]))
        weights = np.append(masses[k], last[2][k])
        model = sm.GLM(np.append(y, 1), columns, sm.families.Binomial(), freq_weights=weights)
        np.testing.assert_allclose(found[:, k], model.fit(tol=1e-12).params, atol=1e-3)


@pytest.mark.parametrize("column", [0, 1])
def test_order_of_the_rows_and_unit_of_the_weights_do_not_matter(column):
    x, y = drawn()
    weight, order = np.random.default_rng(3).uniform(1.0, 2.0, 200), np.arange(200)[::-1]
    one = unseen_bounds(x, y, weight, column, (0.0, 1.0), 0.95)
    two = unseen_bounds(x[order], y[order], 7.0 * weight[order], column, (0.0, 1.0), 0.95)
    assert one == pytest.approx(two, rel=1e-9)


def test_many_rows_in_cells_give_nearly_the_same(monkeypatch):
    """Rows that decide keep weights of their own; the others share those of their neighbours."""
    x, y = drawn(600, seed=2)
    y[np.flatnonzero(y)[FEW - 1 :]] = 0
    cells = unseen_bounds(x, y, np.ones(600), 1, (0.0, 1.0), 0.95)
    monkeypatch.setattr(coefficient_interval, "OWN", 600)
    rows = unseen_bounds(x, y, np.ones(600), 1, (0.0, 1.0), 0.95)
    assert cells == pytest.approx(rows, abs=0.15 * (rows[1] - rows[0]))


def test_many_events_of_either_kind_add_nothing():
    """From twenty on, the likelihood and the sandwich error have what they need."""
    x, y = drawn()
    y[:] = np.arange(200) < FEW
    assert np.isnan(unseen_bounds(x, y, np.ones(200), 1, (0.0, 1.0), 0.95)).all()


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_events_in_one_group_alone_do_not_show_the_slope():
    """The rates .01 and .4 of two groups have a slope that the likelihood of four events denies."""
    p, y = np.append(np.full(95, 0.01), np.full(5, 0.1)), (np.arange(100) >= 96).astype(np.uint8)
    slope = (logit(0.4) - logit(0.01)) / (logit(0.1) - logit(0.01))
    likelihood = profile_bounds(logit(p), y, np.ones(100), SLOPE, t.ppf(0.975, 98))
    found = CalibrationSlope().own_interval(Predictions(p, y), level=0.95)
    assert found.low < slope < likelihood[0]
    assert found.high == np.inf
