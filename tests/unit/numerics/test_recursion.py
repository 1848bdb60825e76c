"""Recursions on a line equal double loops."""

import numpy as np
import pytest

from caltest.numerics.recursion import (
    LANES,
    earlier_sums,
    exponential_pair_sums,
    markov_pair_sums,
)

pytestmark = pytest.mark.loops

POLYNOMIALS = [(1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 1.0, 1.0 / 3.0)]


@pytest.fixture(scope="module")
def line():
    """Sorted points with ties, weights, shifts and more rows of counts than lanes."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(12) * 3)
    x[4:7] = x[4]
    counts = rng.integers(0, 4, (2 * LANES + 3, 12)).astype(np.uint8)
    return x, rng.random(12), rng.random(12), counts


def kappa(c, distance):
    return sum(ck * distance**k for k, ck in enumerate(c)) * np.exp(-distance)


def pair_sum(c, x, w):
    """Return sum_{j<i} kappa_ij w_i w_j."""
    pairs = ((i, j) for i in range(x.size) for j in range(i))
    return sum(kappa(c, x[i] - x[j]) * w[i] * w[j] for i, j in pairs)


@pytest.mark.parametrize("c", POLYNOMIALS)
def test_markov_pair_sums_equal_a_double_loop(line, c):
    """All lanes, the last incomplete group of them too, give the sum over pairs."""
    x, scale, shift, counts = line
    step, out = np.diff(x, prepend=x[:1]), np.empty(len(counts))
    markov_pair_sums(step, np.exp(-step), np.array(c), scale, shift, counts, out)
    expected = [pair_sum(c, x, scale * (row - shift)) for row in counts]
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


def test_exponential_pair_sums_equal_a_double_loop(line):
    """The recursion with one carried sum is that of the exponential kernel."""
    x, scale, shift, counts = line
    out = np.empty(len(counts))
    exponential_pair_sums(np.exp(-np.diff(x, prepend=x[:1])), scale, shift, counts, out)
    expected = [pair_sum(POLYNOMIALS[0], x, scale * (row - shift)) for row in counts]
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("c", POLYNOMIALS)
def test_earlier_sums_equal_a_double_loop(line, c):
    """The i-th value holds the points before i, without i."""
    x, w, *_ = line
    step = np.diff(x, prepend=x[:1])
    expected = [sum(kappa(c, x[i] - x[j]) * w[j] for j in range(i)) for i in range(x.size)]
    out = earlier_sums(step, np.exp(-step), np.array(c), w)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
