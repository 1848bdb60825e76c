"""Median-variance bins against the plainest code."""

import numpy as np
import pytest

from caltest.measures.binning import median_variance_bins

pytestmark = pytest.mark.loops

UNLIMITED = 10**9


def partition(cells):
    return {frozenset(np.flatnonzero(cells == c).tolist()) for c in np.unique(cells)}


def plain_bins(points, rows, min_size):
    """Split at the median of the component that varies most, as long as both halves allow it."""
    part = points[rows]
    if len(rows) < 2 * min_size:
        return [rows]
    variance = part.var(axis=0, ddof=1)
    values = part[:, np.argmax(variance >= (1 - 1e-10) * variance.max())]  # the first of equal ones
    middle = np.sort(values)[[(len(rows) - 1) // 2, len(rows) // 2]]
    cut = middle.mean() if middle[0] < middle[1] else middle[0]
    below, above = rows[values < cut], rows[values >= cut]
    if min(len(below), len(above)) < min_size:
        return [rows]
    return plain_bins(points, below, min_size) + plain_bins(points, above, min_size)


@pytest.mark.parametrize("min_size", [1, 2, 5, 30])
@pytest.mark.parametrize("seed", range(4))
def test_bins_are_those_of_repeated_median_splits(seed, min_size):
    points = np.random.default_rng(seed).dirichlet(np.ones(3), 100)
    if seed % 2:
        points = np.round(points, 1)
    cells, count = median_variance_bins(points, np.ones(100), float(min_size), UNLIMITED)
    expected = plain_bins(points, np.arange(100), min_size)
    assert partition(cells) == {frozenset(rows.tolist()) for rows in expected}
    assert count == len(expected)


def test_limit_leaves_the_bins_that_vary_most_split():
    """The bin with the larger variance is split first."""
    points = np.array([[0.1], [0.11], [0.5], [0.9]])
    cells, count = median_variance_bins(points, np.ones(4), 1.0, 3)
    assert count == 3
    assert partition(cells) == {frozenset({0, 1}), frozenset({2}), frozenset({3})}


def test_equal_points_stay_together():
    cells, count = median_variance_bins(np.full((20, 3), 1 / 3), np.ones(20), 2.0, UNLIMITED)
    assert count == 1
    assert not cells.any()


@pytest.mark.parametrize("min_size", [2, 5])
def test_weights_count_rows(min_size):
    """Weights that are whole numbers give the bins of repeated rows."""
    rng = np.random.default_rng(min_size)
    points = np.round(rng.dirichlet(np.ones(3), 60), 2)
    weight = rng.integers(1, 4, 60)
    weighted, _ = median_variance_bins(points, weight.astype(float), float(min_size), UNLIMITED)
    repeated = np.repeat(np.arange(60), weight)
    cells, _ = median_variance_bins(
        points[repeated], np.ones(repeated.size), float(min_size), UNLIMITED
    )
    expected = {frozenset(repeated[list(rows)].tolist()) for rows in partition(cells)}
    assert partition(weighted) == expected
