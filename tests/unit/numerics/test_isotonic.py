"""Blocks of equal shares; that the fit is isotonic regression is asked in tests/properties."""

import numpy as np
import pytest

from caltest.numerics.isotonic import pool_steps

pytestmark = pytest.mark.loops


def test_equal_shares_of_weights_are_one_block():
    """1 of 5 and 3 of 15 are equal, which their rounded products are not."""
    labels = np.array([1, 0, 1, 0], np.uint8)
    weight = 15 / 38 * np.array([1.0, 4.0, 3.0, 12.0])
    _, _, last = pool_steps(labels, weight, np.array([False, True, False, True]))
    assert last.tolist() == [3]
