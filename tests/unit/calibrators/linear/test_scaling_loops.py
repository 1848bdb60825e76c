"""The loss of scaled log probabilities and its minimum: starts, bounds, blocks, digits."""

import joblib
import numpy as np
import pytest
from scipy.special import log_softmax

from caltest.calibrators.linear.scaling import minimise
from caltest.numerics import softmax as scaled_softmax
from caltest.numerics import softmax as temperature_loops
from caltest.numerics.softmax import inverse_temperature, objective

pytestmark = pytest.mark.loops

BOUNDS = (1e-6, 1e6)


def sample(n, m, beta=0.5, scale=2.0, seed=0):
    """Logits, labels drawn from softmax(beta z), and weights."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, scale, (n, m))
    probs = np.exp(log_softmax(beta * z, axis=1))
    y = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, m - 1)
    return z, y, rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("m", [2, 5])
def test_start_from_a_sample_does_not_change_the_optimum(m, monkeypatch):
    """Large data start from the optimum of some of the rows."""
    data = sample(3000, m)
    expected, _ = inverse_temperature(*data, BOUNDS)
    monkeypatch.setattr(temperature_loops, "SAMPLE", 100)
    assert inverse_temperature(*data, BOUNDS)[0] == pytest.approx(expected, rel=1e-14)


def test_start_from_a_separable_sample_does_not_change_the_optimum(monkeypatch):
    """It has no optimum, and its bound is no guide."""
    z, y, weight = sample(3000, 3)
    y[::4] = z[::4].argmax(axis=1)
    expected, _ = inverse_temperature(z, y, weight, BOUNDS)
    monkeypatch.setattr(temperature_loops, "SAMPLE", 9000 // 4)
    assert inverse_temperature(z, y, weight, BOUNDS)[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("m", [2, 3])
def test_optimum_beyond_a_bound_is_the_bound(m):
    """Where the loss falls up to infinity, and down to zero."""
    z, _, weight = sample(20, m)
    best, worst = z.argmax(axis=1), z.argmin(axis=1)
    assert inverse_temperature(z, best, weight, BOUNDS)[0] == 1e6
    assert inverse_temperature(z, worst, weight, BOUNDS)[0] == 1e-6
    z, y, weight = sample(500, m, beta=0.5)
    assert inverse_temperature(z, y, weight, (1.0, 1e6))[0] == 1.0
    assert inverse_temperature(z, y, weight, (1e-6, 0.1))[0] == 0.1


def sample_of_vector(n, m, seed=0):
    """Logits, labels drawn from softmax(w z + b), and weights that sum to 1."""
    rng = np.random.default_rng(seed)
    z, w, b = rng.normal(0, 2, (n, m)), rng.uniform(0.3, 1, m), rng.normal(0, 0.5, m)
    probs = np.exp(log_softmax(w * z + b, axis=1))
    y = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, m - 1)
    weight = rng.uniform(0.5, 2, n)
    return z, y, weight / weight.sum()


def test_blocks_of_rows_add_up(monkeypatch):
    data, theta = sample_of_vector(100, 3), np.ones(6)
    whole = objective(*data, theta)
    monkeypatch.setattr(scaled_softmax, "PRODUCT", 20)
    monkeypatch.setattr(scaled_softmax, "BLOCK", 7)
    for expected, part in zip(whole[1:], objective(*data, theta)[1:], strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-13, atol=1e-16)


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(scaled_softmax, "PRODUCT", 30)
    data, theta = sample_of_vector(500, 3), np.ones(6)
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


def test_ridge_makes_the_optimum_of_separable_labels_unique():
    z, _, weight = sample_of_vector(50, 3)
    starts = [np.repeat([1.0, 0.0], 3), np.full(6, 5.0), np.array([0.1, 3, 0, 1, -2, 1])]
    ends = [minimise(z, z.argmax(axis=1), weight, start, 1e-6)[0].theta for start in starts]
    for end in ends:
        np.testing.assert_allclose(end[:3], ends[0][:3], rtol=1e-9)
        np.testing.assert_allclose(end[3:], ends[0][3:], atol=1e-7)
