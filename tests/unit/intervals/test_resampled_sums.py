"""Sums over drawn rows against indexing with them."""

from __future__ import annotations

import numpy as np
import pytest

from caltest.intervals.resampling import cell_sums, class_cell_sums, partial_sums, total_of

RNG = np.random.default_rng(1)
N, BINS, M = 50, 4, 3
ROWS = RNG.integers(N, size=N, dtype=np.int32)
GAP = RNG.normal(size=(N, M))


@pytest.mark.parametrize("weight", [np.ones(1), RNG.uniform(size=N)])
def test_cell_sums_are_those_of_the_drawn_rows(weight):
    """One cell at a time."""
    cell = RNG.integers(BINS, size=N)
    mass, sums = cell_sums(ROWS, cell, GAP, weight, BINS)
    w = np.broadcast_to(weight, N)
    for b in range(BINS):
        drawn = ROWS[cell[ROWS] == b]
        assert mass[b] == pytest.approx(w[drawn].sum())
        np.testing.assert_allclose(sums[b], w[drawn] @ GAP[drawn], atol=1e-12)


@pytest.mark.parametrize("weight", [np.ones(1), RNG.uniform(size=N)])
def test_class_cell_sums_are_those_of_each_class(weight):
    """Each class has bins of its own."""
    codes = RNG.integers(BINS, size=(N, M)).astype(np.uint8)
    mass, sums = class_cell_sums(ROWS, codes, GAP, weight, BINS)
    for k in range(M):
        cell, gap = codes[:, k].astype(np.int64), np.ascontiguousarray(GAP[:, k : k + 1])
        expected = cell_sums(ROWS, cell, gap, weight, BINS)
        np.testing.assert_allclose(mass[k], expected[0])
        np.testing.assert_allclose(sums[k], expected[1][:, 0], atol=1e-12)


def test_partial_sums_are_taken_at_the_step_ends():
    """The drawn rows in their order, up to the end of each step."""
    gap, ends = GAP[:, 0].copy(), np.arange(N) % 3 == 1
    expected = [gap[ROWS[end >= ROWS]].sum() for end in np.flatnonzero(ends)]
    np.testing.assert_allclose(partial_sums(ROWS, gap, ends), expected, atol=1e-12)


def test_total_is_the_sum_of_the_drawn_values():
    """Repeated rows count as often as they are drawn."""
    assert total_of(ROWS, GAP[:, 0].copy()) == pytest.approx(GAP[ROWS, 0].sum())
