"""The inverse temperature is the root of the slope of the loss, from any start."""

import numpy as np
import pytest
from scipy.special import log_softmax

from caltest.numerics import softmax as temperature_loops
from caltest.numerics.softmax import derivatives, inverse_temperature

pytestmark = pytest.mark.loops

BOUNDS = (1e-6, 1e6)


def sample(n, m, beta=0.5, scale=2.0, seed=0):
    """Logits, labels drawn from softmax(beta z), and weights."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, scale, (n, m))
    probs = np.exp(log_softmax(beta * z, axis=1))
    y = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, m - 1)
    return z, y, rng.uniform(0.5, 2, n)


def loss(z, y, weight, beta):
    """Return the weighted mean loss as defined."""
    return -np.average(log_softmax(beta * z, axis=1)[np.arange(len(y)), y], weights=weight)


@pytest.mark.parametrize("m", [2, 3, 10])
def test_derivatives_are_those_of_the_loss(m):
    data = sample(50, m)
    h = 1e-4
    below, at, above = (loss(*data, beta) for beta in (0.7 - h, 0.7, 0.7 + h))
    slope, curvature = derivatives(*data)(0.7)
    assert slope == pytest.approx((above - below) / (2 * h), rel=1e-6)
    assert curvature == pytest.approx((above - 2 * at + below) / h**2, rel=1e-6)


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
