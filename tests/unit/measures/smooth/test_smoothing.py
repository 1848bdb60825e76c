"""Integrals between roots and fixed points; the sums are those of tests/properties."""

import numpy as np
import pytest

from caltest.measures.smooth.smooth_ece import (
    corrected_trapezoid,
    cosine_sums,
    fixed_point,
    integral_between_roots,
)

pytestmark = pytest.mark.loops


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
