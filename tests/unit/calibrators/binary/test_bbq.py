"""Sums of steps that lose nothing."""

import math

import numpy as np
import pytest

from caltest.calibrators.binary.binning import binnings, running_sums

pytestmark = pytest.mark.loops


def test_running_sums_carry_their_rounding_errors():
    rng = np.random.default_rng(1)
    jumps = rng.normal(size=2000) * 10.0 ** rng.integers(-12, 1, 2000)
    sums = running_sums(0.5, jumps)
    exact = [math.fsum([0.5, *jumps[:k]]) for k in range(2001)]
    assert sums == pytest.approx(exact, rel=1e-15, abs=1e-15)


def test_binnings_reach_equal_shares():
    """Of ten scores of mass one; a large mass takes several shares."""
    starts, ends = binnings(np.cumsum(np.ones(10)), np.array([1, 3, 5]))
    assert starts.tolist() == [0, 1, 4, 9]
    assert ends.tolist() == [9, 3, 6, 9, 1, 3, 5, 7, 9]
    _, ends = binnings(np.cumsum([1.0, 8.0, 1.0]), np.array([5]))
    assert ends.tolist() == [1, 2]
