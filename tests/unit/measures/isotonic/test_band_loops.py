"""Bounds from all blocks of neighbouring groups against two loops."""

import math

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import binom

from caltest.measures.isotonic.band_loops import (
    exact_lower_bounds,
    hoeffding_excess,
    hoeffding_lower_bounds,
    smallest_tails,
)

pytestmark = pytest.mark.loops


def sample(seed, size, largest=6):
    """Return x, sizes and events of groups, and the blocks (j, k) with their counts."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(size))
    sizes = rng.integers(1, largest, size).astype(float)
    events = rng.binomial(sizes.astype(int), x ** rng.choice([0.5, 1.0, 2.0])).astype(float)
    pairs = [(j, k) for k in range(size) for j in range(k + 1)]
    counts = [(sizes[j : k + 1].sum(), events[j : k + 1].sum()) for j, k in pairs]
    return x, sizes, events, pairs, counts


@pytest.mark.parametrize("largest", [2, 6, 3000])
@pytest.mark.parametrize("seed", range(10))
def test_smallest_tail_is_that_of_two_loops(seed, largest):
    """Every block with SciPy's tail, which is 0 beyond exp(-745); below the mean none counts."""
    x, sizes, events, pairs, counts = sample(seed, 40, largest)
    logs = [
        -binom.logsf(y - 1, n, x[k]) if y > n * x[k] else 0.0
        for (_, k), (n, y) in zip(pairs, counts, strict=True)
    ]
    value = smallest_tails(events[None], sizes, x)[0]
    assert min(value, 700.0) == pytest.approx(min(max(logs), 700.0), rel=1e-9)


@pytest.mark.parametrize("largest", [2, 6, 3000])
@pytest.mark.parametrize("log_error", [-0.8, -5.0, -15.0])
def test_exact_bounds_are_those_of_two_loops(log_error, largest):
    """The largest quantile of the blocks up to each group."""
    for seed in range(5):
        x, sizes, events, pairs, counts = sample(seed, 30, largest)
        expected = np.zeros(x.size)
        for (_, k), (n, y) in zip(pairs, counts, strict=True):
            limit = betaincinv(y, n - y + 1, math.exp(log_error)) if y > 0 else 0.0
            expected[k:] = np.maximum(expected[k:], limit)
        bounds = exact_lower_bounds(events, sizes, log_error)
        np.testing.assert_allclose(bounds, expected, rtol=1e-9)


def test_impossible_events_have_an_infinite_tail():
    """At x = 0; nothing else is asked."""
    value = smallest_tails(np.array([[1.0, 0.0]]), np.ones(2), np.array([0.0, 0.5]))
    assert value[0] == math.inf


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
