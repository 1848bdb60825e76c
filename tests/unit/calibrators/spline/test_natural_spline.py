"""Least-squares splines against scipy's, slopes against differences."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.linalg import null_space

from caltest.calibrators.spline.cumulative_spline import (
    curvature_map,
    extreme_places,
    mean_slopes,
    normal_equations,
    slope_rows,
)

pytestmark = pytest.mark.loops

ENDS = {
    "natural": np.array([1.0, 0.0, 0.0]),
    "parabolic": np.array([1.0, -1.0, 0.0]),
    "cubic": np.array([1.0, -2.0, 1.0]),
}
runouts = pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)


def all_splines(K):
    """Return scipy's cubic splines on the knots, a basis, and their second derivatives there."""
    knots = np.linspace(0, 1, K)
    values = np.vstack([np.eye(K), np.zeros((2, K))])
    ends = np.vstack([np.zeros((K, 2)), np.eye(2)])
    basis = [
        CubicSpline(knots, y, bc_type=((2, a), (2, b)))
        for y, (a, b) in zip(values, ends, strict=True)
    ]
    return basis, np.column_stack([spline(knots, 2) for spline in basis])


def fitted_by_scipy(t, h, weight, K, end):
    """Fit by lstsq in the null space of the end conditions."""
    basis, second = all_splines(K)
    free = null_space(np.vstack([end @ second[:3], end[::-1] @ second[-3:]]))
    design = np.column_stack([spline(t) for spline in basis]) @ free
    root = np.sqrt(weight)
    found = np.linalg.lstsq(design * root[:, np.newaxis], h * root, rcond=None)[0]
    return (free @ found)[:K]


def fitted(t, h, K, end, longest=1.0):
    """Fit by the normal equations."""
    E = np.vstack([np.eye(K), curvature_map(K, end)])
    P, r = normal_equations(np.append(0.0, t), np.append(0.0, h), K, longest)
    return np.linalg.solve(E.T @ P @ E, E.T @ r)


@runouts
@pytest.mark.parametrize("K", [4, 6, 14])
def test_fit_is_that_of_scipy_splines_and_lstsq(K, end):
    """Each point has the weight of the step that ends in it."""
    rng = np.random.default_rng(K)
    weight = rng.exponential(size=300)
    weight /= weight.sum()
    t = np.cumsum(weight)
    t[-1] = 1.0
    h = np.cumsum(weight * rng.random(300))
    expected = fitted_by_scipy(t, h, weight, K, end)
    np.testing.assert_allclose(fitted(t, h, K, end), expected, atol=1e-12)


def test_three_knots_have_run_out():
    """With three, the parabolic run-out leaves one parabola: y = t^2 is met exactly."""
    t = np.linspace(0.01, 1, 100)
    y = fitted(t, t**2, 3, ENDS["parabolic"])
    np.testing.assert_allclose(y, [0, 0.25, 1], atol=1e-13)


@runouts
def test_a_long_step_is_a_chord(end):
    """One step, or few, count as points on straight lines."""
    y = fitted(np.array([1.0]), np.array([0.3]), 6, end, longest=1 / 15)
    np.testing.assert_allclose(y, 0.3 * np.linspace(0, 1, 6), atol=1e-14)
    few = fitted(np.array([0.4, 1.0]), np.array([0.4, 0.4]), 6, end, longest=1 / 15)
    t = np.concatenate([np.linspace(0, 0.4, 7)[1:], np.linspace(0.4, 1.0, 10)[1:]])
    many = fitted(t, np.minimum(t, 0.4), 6, end)
    np.testing.assert_allclose(few, many, atol=1e-13)


def spline_values(t, y, d):
    """The spline itself, from its values and second derivatives at the knots."""
    place = t * (len(y) - 1)
    j = np.minimum(place.astype(int), len(y) - 2)
    u = place - j
    a = 1 - u
    return y[j] * a + y[j + 1] * u + d[j] * (a**3 - a) + d[j + 1] * (u**3 - u)


@runouts
def test_slopes_are_differences(end):
    """The mean slope is exact, and that of a point is the derivative."""
    rng = np.random.default_rng(0)
    D = curvature_map(6, end)
    y = rng.normal(size=6)
    d = D @ y
    start, stop = np.sort(rng.random((2, 50)), axis=0)
    exact = (spline_values(stop, y, d) - spline_values(start, y, d)) / (stop - start)
    np.testing.assert_allclose(mean_slopes(start, stop, y, d), exact, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(slope_rows(start, stop, D) @ y, exact, rtol=1e-9, atol=1e-9)
    t, step = 0.01 + 0.98 * start, 1e-5
    central = spline_values(t + step, y, d) - spline_values(t - step, y, d)
    np.testing.assert_allclose(mean_slopes(t, t, y, d), central / (2 * step), atol=1e-6)


def test_extremes_of_the_derivative_are_listed():
    """No other place has a larger or a smaller derivative."""
    D = curvature_map(9, ENDS["natural"])
    y = np.random.default_rng(1).normal(size=9)
    at, grid = extreme_places(D @ y), np.linspace(0, 1, 10_001)
    listed, everywhere = (mean_slopes(t, t, y, D @ y) for t in (at, grid))
    assert listed.min() <= everywhere.min()
    assert listed.max() >= everywhere.max()
    assert listed.min() == pytest.approx(everywhere.min(), abs=1e-4)
