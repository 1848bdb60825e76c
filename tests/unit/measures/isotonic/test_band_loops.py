"""Bounds of Hoeffding over blocks of groups, and logarithms of binomial tails."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import binom

from caltest.measures.isotonic.band_loops import (
    deviance,
    hoeffding_excess,
    hoeffding_lower_bounds,
    log_pmf,
    log_upper_tail,
    lower_limit,
)

pytestmark = pytest.mark.loops


def test_hoeffding_bounds_are_those_of_two_loops():
    """Blocks that start where the fit rises."""
    fitted = np.array([0.1, 0.1, 0.3, 0.3, 0.9])
    sizes = np.array([30.0, 10.0, 25.0, 15.0, 40.0])
    starts, constant = np.array([True, False, True, False, True]), 4.0
    x = np.array([0.05, 0.1, 0.2, 0.5, 0.6])
    bounds, excess = np.zeros(5), 0.0
    for k in range(5):
        for j in np.flatnonzero(starts[: k + 1]):
            n = sizes[j : k + 1].sum()
            mean = fitted[j : k + 1] @ sizes[j : k + 1] / n
            bounds[k] = max(bounds[k], mean - math.sqrt(constant / (2 * n)))
            excess = max(excess, 2 * n * max(mean - x[k], 0.0) ** 2)
    np.testing.assert_allclose(hoeffding_lower_bounds(fitted, sizes, starts, constant), bounds)
    assert hoeffding_excess(fitted, sizes, starts, x) == pytest.approx(excess, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 17, 1000, 10**6])
@pytest.mark.parametrize("x", [1e-9, 0.003, 0.4, 0.97])
def test_tail_and_mass_are_those_of_scipy(n, x):
    """At the mean and up to eight standard deviations above it."""
    sd = math.sqrt(n * x * (1 - x))
    for k in {min(n, math.ceil(n * x + s * sd)) for s in (0, 1, 3, 8)}:
        assert log_pmf(k, n, x) == pytest.approx(binom.logpmf(k, n, x), rel=1e-9, abs=1e-9)
        assert log_upper_tail(k, n, x) == pytest.approx(
            binom.logsf(k - 1, n, x), rel=1e-9, abs=1e-9
        )


def test_tail_is_exact_in_rational_arithmetic():
    """Sixty trials, each tail to fourteen digits."""
    n, x = 60, 0.1
    exact = Fraction(x)
    mass = [math.comb(n, k) * exact**k * (1 - exact) ** (n - k) for k in range(n + 1)]
    for k in range(6, n + 1):
        assert log_upper_tail(k, n, x) == pytest.approx(math.log(sum(mass[k:])), rel=1e-14)


def test_tail_at_its_ends():
    """All of 10,000 trials at 1 %; an impossible and a certain event."""
    assert log_upper_tail(10_000, 10_000, 0.01) == pytest.approx(10_000 * math.log(0.01))
    assert log_upper_tail(1, 5, 0.0) == -math.inf
    assert log_upper_tail(0, 5, 0.0) == log_upper_tail(5, 5, 1.0) == 0.0


def test_deviance_has_no_cancellation():
    """Near the mean it is the square of the deviation over twice the mean."""
    assert deviance(1e6 + 1, 1e6) == pytest.approx(0.5e-6 * (1 - 1 / 3e6), rel=1e-12)
    assert deviance(0, 3.0) == 3.0


@pytest.mark.parametrize("log_error", [-0.8, -3.0, -17.0, -200.0])
def test_lower_limit_is_a_quantile_of_the_beta_law(log_error):
    """Clopper and Pearson, `betaincinv(k, n - k + 1, error)`."""
    for n in (1, 5, 300, 10**5):
        for k in {1, n // 3 + 1, n - 1 or 1, n}:
            expected = betaincinv(k, n - k + 1, math.exp(log_error))
            assert lower_limit(k, n, log_error, 0.0) == pytest.approx(expected, rel=1e-10)
            started = lower_limit(k, n, log_error, 0.9 * expected)
            assert started == pytest.approx(expected, rel=1e-10)


def test_lower_limit_has_its_error():
    """Where the quantile of SciPy may be off."""
    for k in np.arange(1, 50, 7):
        x = lower_limit(k, 50, -700.0, 0.0)
        assert log_upper_tail(k, 50, x) == pytest.approx(-700.0, rel=1e-11)
