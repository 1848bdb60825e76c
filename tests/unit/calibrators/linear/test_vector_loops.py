"""Gradient and Hessian of vector scaling are those of its loss, and Newton's method ends at 0."""

import joblib
import numpy as np
import pytest
from scipy.special import log_softmax

from caltest.calibrators.linear.scaling import minimise
from caltest.numerics import softmax as scaled_softmax
from caltest.numerics.softmax import objective

pytestmark = pytest.mark.loops


def sample(n, m, seed=0):
    """Logits, labels drawn from softmax(w z + b), and weights that sum to 1."""
    rng = np.random.default_rng(seed)
    z, w, b = rng.normal(0, 2, (n, m)), rng.uniform(0.3, 1, m), rng.normal(0, 0.5, m)
    probs = np.exp(log_softmax(w * z + b, axis=1))
    y = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, m - 1)
    weight = rng.uniform(0.5, 2, n)
    return z, y, weight / weight.sum()


def loss(z, y, weight, theta):
    """Return the weighted mean loss as defined."""
    m = z.shape[1]
    return -weight @ log_softmax(theta[:m] * z + theta[m:], axis=1)[np.arange(len(y)), y]


def differences(function, theta, h=1e-5):
    """Central differences along each parameter."""
    steps = h * np.eye(len(theta))
    return np.array([(function(theta + s) - function(theta - s)) / (2 * h) for s in steps])


@pytest.mark.parametrize("m", [2, 3, 10])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_derivatives_are_those_of_the_objective(m, ridge):
    data = sample(40, m)
    theta = np.random.default_rng(1).normal(1, 0.5, 2 * m)
    point = objective(*data, theta, ridge)
    penalty = ridge / 2 * (np.sum((theta[:m] - 1) ** 2) + np.sum(theta[m:] ** 2))
    assert point.value == pytest.approx(loss(*data, theta) + penalty, rel=1e-14)
    gradient = differences(lambda t: objective(*data, t, ridge).value, theta)
    np.testing.assert_allclose(point.gradient, gradient, atol=1e-9)
    hessian = differences(lambda t: objective(*data, t, ridge).gradient, theta)
    np.testing.assert_allclose(point.hessian, hessian, atol=1e-9)


def test_blocks_of_rows_add_up(monkeypatch):
    data, theta = sample(100, 3), np.ones(6)
    whole = objective(*data, theta)
    monkeypatch.setattr(scaled_softmax, "PRODUCT", 20)
    monkeypatch.setattr(scaled_softmax, "BLOCK", 7)
    for expected, part in zip(whole[1:], objective(*data, theta)[1:], strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-13, atol=1e-16)


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(scaled_softmax, "PRODUCT", 30)
    data, theta = sample(500, 3), np.ones(6)
    alone = minimise(*data, theta)[0]
    with joblib.parallel_config(n_jobs=2):
        np.testing.assert_array_equal(minimise(*data, theta)[0].theta, alone.theta)


def test_derivatives_of_certain_predictions_keep_their_digits():
    """For two classes the gap of 80 leaves the probability exp(-80) of an error."""
    z, y, weight = np.array([[80.0, 0.0]]), np.array([0]), np.ones(1)
    point = objective(z, y, weight, np.array([1.0, 1, 0, 0]))
    assert point.value == pytest.approx(np.exp(-80), rel=1e-14)
    np.testing.assert_allclose(point.gradient[2:], [-np.exp(-80), np.exp(-80)], rtol=1e-14)
    np.testing.assert_allclose(np.diag(point.hessian)[[0, 2]], np.exp(-80) * np.array([6400, 1]))


def test_parameters_that_are_not_determined_are_reported():
    """Separable labels, and a column that is constant; a column of zeros has no influence."""
    z, y, weight = sample(200, 3)
    start = np.repeat([1.0, 0.0], 3)
    assert not minimise(z, z.argmax(axis=1), weight, start)[1]
    z[:, 0] = 1
    assert not minimise(z, y, weight, start)[1]
    z[:, 0] = 0
    point, unique = minimise(z, y, weight, start)
    assert unique
    assert point.theta[0] == 1


def test_ridge_makes_the_optimum_of_separable_labels_unique():
    z, _, weight = sample(50, 3)
    starts = [np.repeat([1.0, 0.0], 3), np.full(6, 5.0), np.array([0.1, 3, 0, 1, -2, 1])]
    ends = [minimise(z, z.argmax(axis=1), weight, start, 1e-6)[0].theta for start in starts]
    for end in ends:
        np.testing.assert_allclose(end[:3], ends[0][:3], rtol=1e-9)
        np.testing.assert_allclose(end[3:], ends[0][3:], atol=1e-7)
