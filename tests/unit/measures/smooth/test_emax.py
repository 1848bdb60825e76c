"""Emax is the largest of the errors whose mean is the ICI (test_ici.py)."""

from __future__ import annotations

import numpy as np
import pytest

from caltest.measures import emax


def test_value_of_four_rows_by_hand():
    """A span of one half fits two rows: with far neighbours, each row is its own loess."""
    p, y = np.array([0.1, 0.3, 0.6, 1.0]), np.array([0, 1, 1, 1])
    errors = np.abs(y - p)  # .1, .7, .4, 0
    assert emax(p, y, span=0.5) == pytest.approx(errors.max())
