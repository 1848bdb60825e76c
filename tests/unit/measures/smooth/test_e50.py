"""E50 is the median of the errors whose mean is the ICI (test_ici.py)."""

from __future__ import annotations

import numpy as np
import pytest

from caltest.measures import e50


def test_value_of_four_rows_by_hand():
    """A span of one half fits two rows: with far neighbours, each row is its own loess."""
    p, y = np.array([0.1, 0.3, 0.6, 1.0]), np.array([0, 1, 1, 1])
    errors = np.abs(y - p)  # .1, .7, .4, 0
    assert e50(p, y, span=0.5) == pytest.approx(np.median(errors))
