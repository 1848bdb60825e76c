"""Quadratic scaling against statsmodels, and degenerate data."""

import numpy as np
import pytest
from scipy.special import expit

from caltest.calibrators import QuadraticScaling
from caltest.errors import DegenerateDataWarning


def test_quadratic_scaling_is_logistic_regression_on_log_odds_and_square():
    from statsmodels.api import GLM, families

    rng = np.random.default_rng(1)
    s = rng.normal(0.5, 2, 800)
    y = rng.random(800) < expit(0.2 + 0.6 * s + 0.1 * s**2)
    weight = np.arange(800) % 3
    quadratic = QuadraticScaling(from_logits=True).fit(s, y, sample_weight=weight)
    design = np.column_stack([np.ones(800), s, s**2])
    model = GLM(y, design, family=families.Binomial(), freq_weights=weight).fit(tol=1e-14)
    got = quadratic.coefficients()
    assert [c.name for c in got] == ["intercept", "slope", "quadratic"]
    np.testing.assert_allclose([c.value for c in got], model.params, atol=1e-8)
    found = expit(design @ [c.value for c in got])
    assert abs(design.T @ (weight * (found - y)) / weight.sum()).max() < 1e-8
    np.testing.assert_allclose([c.stderr for c in got], model.bse, rtol=1e-6)
    expected = expit(design @ model.params)
    np.testing.assert_allclose(quadratic.predict_proba(s)[:, 1], expected, atol=1e-9)


def test_quadratic_scaling_is_right_for_normal_log_odds():
    """Of classes with the normals N(-1, 1) and N(1, 2^2), Bayes' rule is a quadratic."""
    rng = np.random.default_rng(0)
    y = rng.random(40_000) < 0.5
    s = np.where(y, rng.normal(1, 2, y.size), rng.normal(-1, 1, y.size))
    quadratic = QuadraticScaling(from_logits=True).fit(s, y)
    got = [quadratic.intercept_, quadratic.slope_, quadratic.quadratic_]
    np.testing.assert_allclose(got, [-np.log(2) + 3 / 8, 1.25, 3 / 8], atol=0.06)


def test_two_values_leave_the_quadratic_at_zero():
    with pytest.warns(DegenerateDataWarning, match="too few values: the quadratic is set to 0"):
        quadratic = QuadraticScaling().fit([0.2, 0.2, 0.2, 0.6, 0.6], [0, 0, 1, 1, 0])
    assert quadratic.quadratic_ == 0
    np.testing.assert_allclose(quadratic.predict_proba([0.2, 0.6])[:, 1], [1 / 3, 1 / 2])


def test_an_interval_separates_the_classes():
    """Events in the middle: no line separates them, but a quadratic does."""
    with pytest.warns(DegenerateDataWarning, match="separate the classes"):
        quadratic = QuadraticScaling().fit([0.1, 0.4, 0.5, 0.6, 0.9], [0, 1, 1, 1, 0])
    event = quadratic.predict_proba([0.1, 0.5, 0.9])[:, 1]
    np.testing.assert_allclose(event, [0, 1, 0], atol=1e-3)
