"""Bootstrap counts and the largest recentred partial sums."""

import numpy as np
import pytest

from caltest.measures.cumulative.cumulative import resampled_extremes
from caltest.measures.tolerance import draw_poisson

pytestmark = pytest.mark.loops


@pytest.mark.parametrize("rows", [1, 8, 13])
def test_extremes_are_those_of_cumulated_sums(rows):
    """For a number of rows that fills the lanes, and others."""
    rng = np.random.default_rng(rows)
    counts = draw_poisson(rng, rows, 40)
    residuals = rng.normal(size=40)
    up, down = np.where(rng.random((2, 40)) < 0.3, rng.normal(size=(2, 40)) / 10, -np.inf)
    sums = np.cumsum((counts - counts.mean(axis=1, keepdims=True)) * residuals, axis=1) / 40
    expected = np.maximum((up + sums).max(axis=1), (down - sums).max(axis=1))
    np.testing.assert_allclose(resampled_extremes(counts, residuals, up, down), expected)
