"""The loops over segments, against the plainest code."""

import math

import numpy as np
import pytest
from scipy.stats import norm, poisson

from caltest.segments.loops import add_in_order, end_step, residual, surprise

pytestmark = pytest.mark.loops


def test_residual_of_what_is_not_skewed_is_z():
    assert residual(2.5, 0.0) == 2.5
    assert residual(2.0, 0.0004999) == pytest.approx(residual(2.0, 0.0005001), abs=1e-6)


@pytest.mark.parametrize("rate", [0.05, 0.5, 5.0, 50.0])
def test_residual_of_a_poisson_count_is_its_deviance(rate):
    """The normal p-value is close to the mid p-value of the count, far out too."""
    for count in (int(rate + k * math.sqrt(rate)) + 1 for k in (2, 4, 6)):
        z, skewness = (count - rate) / math.sqrt(rate), 1 / math.sqrt(rate)
        deviance = 2 * (count * math.log(count / rate) - count + rate)
        assert residual(z, skewness) == pytest.approx(math.sqrt(deviance))
        middle = poisson.sf(count, rate) + poisson.pmf(count, rate) / 2
        assert residual(z, skewness) == pytest.approx(norm.isf(middle), abs=0.25)


@pytest.mark.parametrize("skewness", [-3.0, -0.3, 0.0, 0.3, 3.0])
def test_residual_increases(skewness):
    """Beyond the end of the distribution as well."""
    values = [residual(z, skewness) for z in np.linspace(-12, 12, 401)]
    assert (np.diff(values) > 0).all()


def test_surprise_is_about_the_log_of_the_p_value():
    """To within a fifth of its scale up to 8 standard deviations, and it increases."""
    r = np.linspace(0, 8, 81)
    values = np.array([surprise(one) for one in r])
    assert (np.diff(values) > 0).all()
    assert np.abs(values + np.log(2 * norm.sf(r))).max() < 0.2


def test_intervals_end_with_steps():
    """Their largest sums are differences of partial sums at the ends of equal predictions."""
    rng = np.random.default_rng(1)
    n, lanes, size = 60, 3, 4
    step = np.sort(rng.integers(1, 15, n)).astype(np.int32)
    expected = (step / 20).astype(np.float32)
    events = rng.integers(0, 2, (n, lanes)).astype(np.uint8)
    cells = rng.integers(0, size, n).astype(np.int32)
    last = np.zeros(size, np.int32)
    walk = np.zeros((4, size, lanes), np.float32)
    rows = np.arange(n, dtype=np.int32)
    weight = np.ones(n, np.float32)
    add_in_order(rows, cells, events, weight, expected, step, last, walk)
    for s in range(size):
        for side in range(2):
            end_step(s, walk, side)
        own = cells == s
        ends = np.flatnonzero(np.diff(step[own], append=99))
        sums = np.cumsum(events[own] - expected[own, None], axis=0)[ends]
        sums = np.vstack([np.zeros(lanes), sums])
        for values, sign in ((walk[2], 1), (walk[3], -1)):
            high = np.maximum.accumulate((-sign * sums), axis=0) + sign * sums
            assert values[s] == pytest.approx(high.max(axis=0), abs=1e-5)
