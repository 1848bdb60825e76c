"""Sums over drawn rows against indexing with them."""

import numpy as np
import pytest

from caltest.numerics.class_sums import cell_sums, times_drawn

pytestmark = pytest.mark.loops

RNG = np.random.default_rng(1)
N, BINS, M = 50, 4, 3
ROWS = RNG.integers(N, size=N, dtype=np.int32)
GAP = RNG.normal(size=(N, M))


@pytest.mark.parametrize("weight", [np.ones(1), RNG.uniform(size=N)])
@pytest.mark.parametrize("classes", [1, M])
def test_cell_sums_are_those_of_the_drawn_rows(classes, weight):
    """One cell at a time, of one table or of one for each class."""
    codes = RNG.integers(BINS, size=(N, M // classes)).astype(np.uint8)
    gap, tables = GAP.reshape(N, -1, classes), np.arange(M // classes)
    mass, sums = cell_sums(ROWS, codes, BINS * tables, gap, weight, BINS * tables.size)
    w = np.broadcast_to(weight, N)
    for t in tables:
        for b in range(BINS):
            drawn = ROWS[codes[ROWS, t] == b]
            assert mass[BINS * t + b] == pytest.approx(w[drawn].sum())
            np.testing.assert_allclose(sums[BINS * t + b], gap[drawn, t].sum(axis=0), atol=1e-12)


def test_rows_count_as_often_as_they_are_drawn():
    """Those that are not drawn count 0 times."""
    assert times_drawn(ROWS, N).tolist() == np.bincount(ROWS, minlength=N).tolist()
