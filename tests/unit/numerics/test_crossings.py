"""The exact tails of partial sums agree with all the outcomes there are."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from caltest.numerics.crossings import GroupTotals, _crossing, crossing_tails, dispersions
from caltest.numerics.labels import resample_keys, row_hashes


def enumerated(n, expected, reach):
    """Add up the probabilities of all numbers of events whose partial sums go so far."""
    total = 0.0
    for counts in itertools.product(*(range(k + 1) for k in n)):
        if np.abs(np.cumsum(counts - expected)).max() >= reach:
            total += np.prod(binom.pmf(counts, n, expected / n))
    return total


def test_tail_is_that_of_all_outcomes():
    """Of cells of up to three rows, certain ones among them."""
    rng = np.random.default_rng(1)
    for _ in range(8):
        n = rng.integers(1, 4, 4)
        expected = n * rng.choice([0.0, 0.1, 0.5, 0.77, 1.0], 4)
        counts = rng.binomial(n, rng.random(4))
        reach = np.abs(np.cumsum(counts - expected)).max() - 1e-9
        found = crossing_tails(np.array([0, 4]), n, expected, np.array([reach]))[0]
        assert found == pytest.approx(min(enumerated(n, expected, reach), 1.0), abs=1e-13)


def test_small_tail_keeps_its_digits():
    """All of 100 fair coins fall on one side, by either."""
    n, start = np.ones(100, dtype=np.int64), np.array([0, 100])
    found = crossing_tails(start, n, 0.5 * n, np.array([50.0 - 1e-9]))[0]
    assert found == pytest.approx(2.0 * 0.5**100, rel=1e-10)


@pytest.mark.parametrize("reach", [30.0, 150.0, 400.0])
def test_what_is_left_out_is_bounded(reach):
    """Of many rows small probabilities are left out; the tail is no smaller, and hardly larger."""
    rng = np.random.default_rng(2)
    n = rng.integers(1, 60, 400)
    expected = n * np.sort(rng.uniform(0.01, 0.6, 400))
    found = crossing_tails(np.array([0, 400]), n, expected, np.array([reach]))[0]
    whole = _crossing(n, expected, reach, 0.0)[0]
    assert whole * (1 - 1e-9) <= found <= whole * 1.0001 + 1e-30


@pytest.mark.parametrize("scale", [1, 40])
def test_dispersion_has_the_moments_of_its_law(scale):
    """Its mean is the number of groups, its variance that by the fourth cumulants; large too."""
    rng = np.random.default_rng(4)
    groups, cells = 60, 8
    n = scale * rng.integers(1, 4, groups * cells)
    p = rng.beta(1, 3, n.size)
    start = np.arange(0, n.size + 1, cells)

    def sums(values):
        return np.add.reduceat(values, start[:-1])

    v = n * p * (1 - p)
    cumulants = [sums(n * p), sums(v), sums(v * (1 - 2 * p)), sums(v * (1 - 6 * p * (1 - p)))]
    totals = GroupTotals(start, n, n * p, *cumulants)
    found = dispersions(totals, resample_keys(1, 4000), row_hashes(np.arange(groups)))
    variance = float((2.0 + cumulants[3] / cumulants[1] ** 2).sum())
    assert found.mean() == pytest.approx(groups, abs=5 * math.sqrt(variance / 4000))
    assert found.var() == pytest.approx(variance, rel=0.1)
