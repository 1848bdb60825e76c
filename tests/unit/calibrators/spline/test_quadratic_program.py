"""Quadratic programmes meet the conditions of Karush, Kuhn and Tucker."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from caltest.calibrators.spline.cumulative_spline import quadratic_minimum

pytestmark = pytest.mark.loops


def problem(seed, K, rows):
    """Return a random programme of which the point `inside` is an inner point."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2 * K, K))
    A = rng.normal(size=(rows, K))
    inside = rng.normal(size=K)
    b = A @ inside - rng.exponential(size=rows) - 0.01
    return root.T @ root, 5 * rng.normal(size=K), A, b


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 20))
def test_minimum_meets_the_conditions(seed, K, rows):
    """It is feasible, and its gradient is a positive sum of the active rows."""
    G, c, A, b = problem(seed, K, rows)
    y = quadratic_minimum(G, c, A, b)
    scale = 1 + np.abs(y).max()
    slack = A @ y - b
    assert slack.min() >= -1e-9 * scale
    active = A[slack <= 1e-7 * scale]
    gradient = G @ y - c
    distance = nnls(active.T, gradient)[1] if len(active) else np.linalg.norm(gradient)
    assert distance <= 1e-6 * (1 + np.abs(gradient).max())
