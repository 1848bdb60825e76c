"""Bounds from all blocks of neighbouring groups against two loops."""

import math

import numpy as np
import pytest

from caltest.measures.isotonic.band_loops import (
    hoeffding_excess,
    hoeffding_lower_bounds,
)

pytestmark = pytest.mark.loops


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
