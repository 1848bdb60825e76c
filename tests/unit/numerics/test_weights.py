"""Sample weights as shares of their sum."""

import numpy as np
import pytest

from caltest.numerics.sorted_scores import shares

pytestmark = pytest.mark.loops


def test_shares_sum_to_one_and_keep_the_sum():
    weight = np.array([3.0, 1, 7, 0])
    share, total = shares(weight, 4)
    assert total == 11
    assert share == pytest.approx(weight / 11, rel=1e-15)


def test_shares_of_no_weights_are_equal():
    share, total = shares(None, 4)
    assert (share.tolist(), total) == ([0.25] * 4, 4)


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1.5e308])
def test_shares_of_extreme_weights_are_finite(size):
    """Their sum overflows, or has few digits."""
    share, total = shares(np.full(3, size), 3)
    assert share == pytest.approx(1 / 3)
    assert total == pytest.approx(min(3 * size / 1e300, 1e8) * 1e300, rel=1e-12)
