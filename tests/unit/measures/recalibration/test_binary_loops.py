"""Logistic recalibration of two classes beside statsmodels and beside all rows."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from statsmodels.api import GLM, add_constant
from statsmodels.genmod.families import Binomial

from caltest.measures.recalibration.binary_fit import (
    all_rows,
    deviation_sums,
    few_nodes,
    gain,
    log_odds,
    recalibrations,
    standard_rows,
)

pytestmark = pytest.mark.loops


def rows_of(x, weight=None):
    return standard_rows(x, np.ones(x.size) if weight is None else weight)


def fitted(labels, rows, parameters=2, nodes=None):
    labels = np.atleast_2d(labels).astype(np.uint8)
    return recalibrations(labels, rows, few_nodes(rows) if nodes is None else nodes, parameters)


def sums_of(labels, rows):
    return deviation_sums(labels[None], 0, rows.events, rows.weighted)[0]


def data(n, intercept=0.3, slope=0.7, seed=0):
    """Return log odds of wide range with labels."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-0.5, 2.0, n)
    return x, (rng.random(n) < expit(intercept + slope * x)).astype(np.uint8)


def log_likelihood(eta, labels, weight=1.0):
    return float(np.sum(weight * (labels * eta - np.logaddexp(0, eta))))


@pytest.mark.parametrize("n", [30, 1000, 20_000])
def test_fits_are_those_of_statsmodels(n):
    """Estimates and gains, with the slope and with the offset alone; weights too."""
    x, labels = data(n)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], n)
    estimates, gains = fitted(labels, rows_of(x, weight))
    options = {"family": Binomial(), "freq_weights": weight}
    both = GLM(labels, add_constant(x), **options).fit(tol=1e-14)
    one = GLM(labels, np.ones(n), offset=x, **options).fit(tol=1e-14)
    np.testing.assert_allclose(estimates[0], [*one.params, *both.params], rtol=1e-9)
    etas = (x + one.params[0], both.params[0] + both.params[1] * x)
    before = log_likelihood(x, labels, weight)
    expected = [log_likelihood(eta, labels, weight) - before for eta in etas]
    np.testing.assert_allclose(gains[0], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.full
@pytest.mark.parametrize("slope", [-3.0, -0.5, 0.2, 1.0, 1.9, 5.0])
def test_nodes_give_the_fit_of_all_rows(slope):
    """A few hundred nodes instead of 50,000 rows, to twelve digits; steep slopes by the rows."""
    x, labels = data(50_000, slope=slope)
    rows = rows_of(x)
    nodes = few_nodes(rows)
    assert nodes.weight.size < 1000
    by_nodes, by_rows = (fitted(labels, rows, nodes=kind) for kind in (nodes, all_rows(rows)))
    np.testing.assert_allclose(by_nodes[0], by_rows[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(by_nodes[1], by_rows[1], rtol=1e-10, atol=1e-9)


def test_small_gains_are_no_differences_of_large_numbers():
    """At 1e-9 from no change the gain is the quadratic form, to six digits."""
    x, labels = data(5000)
    rows = rows_of(x)
    p = expit(x)
    alpha = 1e-9
    expected = alpha * np.sum(labels - p) - alpha**2 / 2 * np.sum(p * (1 - p))
    found = gain(np.array([alpha]), sums_of(labels, rows), all_rows(rows))
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("x", "labels", "intercept", "slope", "loss"),
    [
        ([-2.0, -1.0, 1.0, 3.0], [0, 0, 1, 1], 0.0, math.inf, 0.0),
        ([-2.0, -1.0, 1.5, 3.0], [0, 0, 1, 1], -math.inf, math.inf, 0.0),
        ([-2.0, -1.0, 1.5, 3.0], [1, 1, 0, 0], math.inf, -math.inf, 0.0),
        ([-2.0, 1.0, 1.0, 1.0, 3.0], [0, 0, 1, 1, 1], -math.inf, math.inf, 1.9095425),
        ([-2.0, 0.0, 1.0, 3.0], [1, 1, 1, 1], math.inf, 1.0, 0.0),
    ],
    ids=["centred", "separated", "reversed", "tied at the threshold", "one class"],
)
def test_fits_at_infinity_have_their_limits(x, labels, intercept, slope, loss):
    """Infinite estimates with their signs, and the likelihood that is approached."""
    x, labels = np.array(x), np.array(labels)
    estimates, gains = fitted(labels, rows_of(x))
    assert estimates[0, 1:].tolist() == [intercept, slope]
    assert gains[0, 1] == pytest.approx(-loss - log_likelihood(x, labels), rel=1e-7)


def test_equal_log_odds_leave_the_slope_alone():
    """Whether they agree to the last bit or not; the gains are those of the intercept."""
    labels = np.array([1, 0, 1])
    for x in (np.full(3, 0.4), np.array([0.4, 0.4, np.nextafter(0.4, 1)])):
        rows = rows_of(x)
        estimates, gains = fitted(labels, rows)
        assert rows.sd == 0
        np.testing.assert_allclose(estimates[0], [math.log(2) - 0.4] * 2 + [1.0])
        assert gains[0, 0] == gains[0, 1]


def test_log_odds_are_bounded():
    x = log_odds(np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [1 - 1e-300, 1e-300]]))
    bound = -math.log(np.finfo(float).eps)
    np.testing.assert_allclose(x, [bound, -bound, 0, -bound])


def test_fit_finds_labels_of_next_to_no_probability():
    """There is no curvature at the start but that of one row; scipy starts from a flat model."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        x = rng.choice([-36.0, -20.0, 0.7, 5.0, 32.0, 36.0], 7)
        labels = rng.integers(0, 2, 7)
        rows = rows_of(x, rng.choice([0.5, 1.0, 2.0], 7))

        def loss(theta, rows=rows, labels=labels):
            z = rows.weighted[1] / rows.weight
            return -log_likelihood(theta[0] + theta[1] * z, labels, rows.weight)

        best = loss([rows.mean, rows.sd]) - minimize(loss, [0.0, 0.0], method="Nelder-Mead").fun
        _, gains = fitted(labels, rows)
        assert gains[0, 1] >= best - 1e-6
