"""Linear interpolation between ascending scores."""

import numpy as np
import pytest

from caltest.numerics.sorted_scores import interpolate

pytestmark = pytest.mark.loops


def test_interpolate_is_that_of_numpy():
    """Between the scores, at them and outside."""
    rng = np.random.default_rng(2)
    score, values = np.sort(rng.random(30)), rng.random(30)
    x = np.concatenate([[0, 1], score, rng.random(100)])
    np.testing.assert_allclose(interpolate(x, score, values), np.interp(x, score, values))
    np.testing.assert_array_equal(interpolate(score, score, values), values)


def test_interpolate_stays_between_the_values():
    """To the last bit: rounding errors of rise and sum would carry it beyond the upper one."""
    rng = np.random.default_rng(0)
    values = np.sort(rng.random((2000, 2)), axis=1)
    x = np.array([np.nextafter(1.0, 0.0)])
    for low, high in values:
        assert low <= interpolate(x, np.array([0.0, 1.0]), np.array([low, high]))[0] <= high


def test_interpolate_does_not_overflow():
    """Between neighbouring doubles the slope is infinite."""
    score = np.array([0.0, 5e-324, 1e-300])
    x = np.array([0.0, 5e-324, 5e-301, 1.0])
    found = interpolate(x, score, np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(found, [0, 0.5, 0.75, 1])
