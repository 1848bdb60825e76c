"""A region of trust on functions with a known supremum, at a point or at infinity."""

import numpy as np
import pytest
from scipy.special import expit

from caltest.numerics.newton import climb

pytestmark = pytest.mark.loops


def test_climb_ends_at_the_maximum():
    """Of a quadratic whose axes are not the coordinates, from far away."""
    root = np.array([[1.0, 2.0], [0.0, 1e-3]])
    top = np.array([300.0, -7.0])

    def value(x):
        away = root @ (x - top)
        return -root.T @ away, -away @ away / 2

    found = climb(value, lambda _x: root, np.zeros(2), 0.0)
    assert found == pytest.approx(top, rel=1e-4)


def test_climb_comes_to_a_supremum_at_infinity():
    """-log(1 + exp(a - x)) has no curvature to speak of at the start, and no maximum."""

    def value(x):
        return np.array([expit(500 - x[0])]), -np.logaddexp(0, 500 - x[0])

    def factor(x):
        q = expit(500 - x[0])
        return np.array([[np.sqrt(q * (1 - q))]])

    _, height = value(climb(value, factor, np.zeros(1), 1e-14))
    assert height == pytest.approx(0.0, abs=1e-12)
