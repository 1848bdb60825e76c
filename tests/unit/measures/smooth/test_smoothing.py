"""Smoothing with the reflected Gaussian kernel equals the sum over its reflections."""

import numpy as np
import pytest

from caltest.measures.smooth.smooth_ece import (
    cells,
    corrected_trapezoid,
    cosine_sums,
    fixed_point,
    integral_between_roots,
    spread,
)

pytestmark = pytest.mark.loops


@pytest.fixture(scope="module")
def points():
    """Sorted points with residuals; some at the ends, some tied."""
    rng = np.random.default_rng(0)
    p = np.sort(np.concatenate([[0.0, 1.0, 0.5, 0.5], rng.beta(0.5, 0.5, 40)]))
    return p, rng.normal(size=p.size) / p.size


def test_cosine_sums_equal_cosines(points):
    """Rotations keep eleven digits over a thousand steps."""
    p, r = points
    k = np.arange(1001)
    np.testing.assert_allclose(
        cosine_sums(p, r, 1000), np.cos(np.pi * np.outer(k, p)) @ r, atol=1e-11
    )


def test_spread_keeps_mass_and_is_exact_for_cubics(points):
    """Away from the ends; points on nodes stay there."""
    p, r = points
    inside = (p > 0.1) & (p < 0.9)
    p, r = p[inside], r[inside]
    start, place = cells(p, 32)
    nodes = np.empty(33)
    spread(r, np.ones(p.size), start, place, nodes)
    for power in range(4):
        assert nodes @ np.linspace(0, 1, 33) ** power == pytest.approx(r @ p**power, abs=1e-15)
    start, place = cells(np.array([0.0, 0.25, 0.25, 1.0]), 4)
    nodes = np.empty(5)
    spread(np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), start, place, nodes)
    np.testing.assert_allclose(nodes, [1.0, 5.0, 0.0, 0.0, 4.0], atol=1e-15)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_corrected_trapezoid_is_exact_to_third_order_at_kinks(k):
    """The mean of |cos(k pi t)| is 2 / pi; without the correction the error is of second order."""
    t = np.linspace(0, 1, 203)
    value = corrected_trapezoid(np.cos(k * np.pi * t))
    assert value == pytest.approx(2 / np.pi, abs=0.02 * (k / 202) ** 3 * k)


def test_corrected_trapezoid_takes_values_whose_squares_underflow():
    assert corrected_trapezoid(np.array([1.0, 1e-200, -1e-200, 0.0])) == pytest.approx(1 / 6)
    assert corrected_trapezoid(np.array([1.0, 0.0, -5e-324, 0.0])) == pytest.approx(1 / 6)


def test_integral_between_roots_splits_in_stretches_of_noise():
    """Two far clusters of opposite sign: the integral is the sum of their masses."""
    p, r = np.array([0.2, 0.8]), np.array([0.5, -0.25])
    assert integral_between_roots(cosine_sums(p, r, 2800), 1e-3) == pytest.approx(0.75, rel=1e-12)


@pytest.mark.parametrize("start", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("exponent", [0.0, -0.5, -1.0])
def test_fixed_point_of_power_laws(start, exponent):
    """The solution of c x^a = x is c^(1 / (1 - a))."""
    scale = np.array([0.03, 0.5])
    solution = fixed_point(lambda x, some: scale[some] * x**exponent, start, 1e-6, 2)
    assert solution == pytest.approx(scale ** (1 / (1 - exponent)), rel=1e-9)


def test_fixed_point_below_the_floor_is_nan():
    """The caller then resolves finer, or returns the value at the floor."""
    found = fixed_point(lambda _, some: np.array([1e-4, 0.0, 0.2])[some], 0.1, 1e-3, 3)
    assert np.array_equal(found, [np.nan, np.nan, 0.2], equal_nan=True)
