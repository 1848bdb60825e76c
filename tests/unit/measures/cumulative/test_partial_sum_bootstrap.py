"""Bootstrap counts and the largest recentred partial sums."""

import numpy as np
import pytest

from caltest.measures.cumulative.cumulative import draw_poisson

pytestmark = pytest.mark.loops


def test_counts_have_the_moments_of_a_poisson_law():
    """Mean, variance and third central moment are 1."""
    counts = draw_poisson(np.random.default_rng(0), 1000, 1000).astype(float)
    centred = counts - counts.mean()
    assert counts.mean() == pytest.approx(1.0, abs=0.005)
    assert np.square(centred).mean() == pytest.approx(1.0, abs=0.01)
    assert (centred**3).mean() == pytest.approx(1.0, abs=0.03)
