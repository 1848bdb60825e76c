"""Maximisation by steps in a region of trust."""

import math

import numpy as np
import pytest

from caltest.numerics import newton


def climbed(height, slope, curvature, start, noise=0.0):
    """Return where a function of one number is largest, and how often it was asked for."""
    asked = []

    def value(x):
        asked.append(float(x[0]))
        return np.array([slope(x[0])]), height(x[0])

    found = newton.climb(value, lambda x: np.sqrt([[curvature(x[0])]]), np.array([start]), noise)
    return float(found[0]), len(asked)


def test_climb_takes_one_step_to_the_top_of_a_parabola():
    """The step promises what it gains, and the next one promises nothing."""
    found, asked = climbed(lambda x: -((x - 0.5) ** 2) / 2, lambda x: 0.5 - x, lambda _: 1.0, 0.0)
    assert (found, asked) == (0.5, 3)


def test_climb_ends_where_rounding_hides_what_a_step_gains():
    """The promise is judged beside the height: 1e9 is known to 1e-7, and no gain below it."""
    found, asked = climbed(
        lambda x: 1e9 - np.cosh(x - 0.3),
        lambda x: -np.sinh(x - 0.3),
        lambda x: np.cosh(x - 0.3),
        2.0,
    )
    assert found == pytest.approx(0.3, abs=1e-3)
    assert asked < 15


def test_climb_to_a_supremum_that_is_not_reached_ends_where_steps_promise_nothing():
    """The height is -log(1 + exp(-x)), whose slope falls for ever."""
    found, asked = climbed(
        lambda x: -np.log1p(np.exp(-x)),
        lambda x: 1.0 / (1.0 + np.exp(x)),
        lambda x: np.exp(-x) / (1.0 + np.exp(-x)) ** 2,
        0.0,
    )
    assert 0 < math.exp(-found) < 3e-13
    assert asked < 60
