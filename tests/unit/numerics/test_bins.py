"""Bins of equal width and equal mass, and the numbering of cells."""

import numpy as np
import pytest

from caltest.numerics.bins import (
    bin_of,
    cell_numbers,
    quantile_cuts,
    sort_by_cell,
    uniform_bins,
    uniform_sums,
)

pytestmark = pytest.mark.loops


def bins_of(values, bins):
    out = np.empty((len(values), 1), np.uint16)
    uniform_bins(np.asarray(values, float)[:, None], bins, out)
    return out[:, 0]


def test_bins_are_right_closed_with_zero_in_the_first():
    """Ten bins: (0, 0.1], ..., (0.9, 1], and 0 beside 0.1."""
    values = [0.0, 5e-324, 0.1, 0.45, 0.7, np.nextafter(0.7, 1), 1.0]
    np.testing.assert_array_equal(bins_of(values, 10), [0, 0, 0, 4, 6, 7, 9])


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 15, 49, 100, 255, 1000])
def test_bins_have_the_doubles_k_over_bins_as_edges(bins):
    """The edges themselves and their neighbours fall where a search among them says."""
    edges = np.arange(bins + 1) / bins
    near = [edges, np.nextafter(edges, 2)[:-1], np.nextafter(edges, -1)[1:]]
    values = np.concatenate([*near, np.random.default_rng(0).random(2000)])
    expected = np.maximum(np.searchsorted(edges, values) - 1, 0)
    np.testing.assert_array_equal(bins_of(values, bins), expected)


@pytest.mark.parametrize(("n", "m", "levels"), [(500, 3, 2), (500, 3, 9), (40, 300, 2), (1, 2, 2)])
def test_cells_number_distinct_rows_in_order_of_appearance(n, m, levels):
    """Equal rows have equal numbers, whatever the number of columns."""
    codes = np.random.default_rng(n).integers(levels, size=(n, m)).astype(np.uint8)
    cells, count = cell_numbers(codes)
    seen = {}
    expected = [seen.setdefault(row.tobytes(), len(seen)) for row in codes]
    np.testing.assert_array_equal(cells, expected)
    assert count == len(seen)


def test_quantile_cuts_never_split_ties():
    """A cut is the smallest value with enough mass; all values equal to it are below."""
    values = np.array([0.1, 0.1, 0.2, 0.3, 0.3, 0.3, 0.9])
    np.testing.assert_array_equal(quantile_cuts(values, None, 3), [0.2, 0.3])
    np.testing.assert_array_equal(quantile_cuts(values, None, 7), [0.1, 0.2, 0.3])
    assert quantile_cuts(np.full(5, 0.4), None, 3).size == 0


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 20, 33])
def test_quantile_cuts_share_the_rows_evenly(bins):
    """Without ties the sizes of the bins differ by one at most."""
    values = np.sort(np.random.default_rng(bins).random(33))
    sizes = np.bincount(np.searchsorted(quantile_cuts(values, None, bins), values))
    assert sizes.size == bins
    assert np.ptp(sizes) <= 1


@pytest.mark.parametrize("bins", [2, 3, 10, 15])
def test_quantile_cuts_of_weights_of_one_are_those_without(bins):
    """Running sums of weights and counts reach a share at the same row."""
    values = np.sort(np.random.default_rng(bins).random(300))
    plain = quantile_cuts(values, None, bins)
    np.testing.assert_array_equal(quantile_cuts(values, np.ones(300), bins), plain)
    np.testing.assert_array_equal(quantile_cuts(values, np.full(300, 0.1), bins), plain)


def test_sorting_by_cell_keeps_the_order_of_the_rows():
    """As a stable sort, with the place where each cell starts."""
    cells = np.array([2, 0, 2, 1, 0, 2])
    order, start = sort_by_cell(cells, 4)
    np.testing.assert_array_equal(order, np.argsort(cells, kind="stable"))
    np.testing.assert_array_equal(start, [0, 2, 3, 6, 6])


@pytest.mark.parametrize("with_edges", [False, True])
def test_uniform_sums_are_those_of_a_loop(with_edges):
    """Of more rows than are binned at a time, on edges or not."""
    rng = np.random.default_rng(0)
    event = rng.uniform(size=3001)
    if with_edges:
        event[1024:2000] = rng.integers(0, 16, 976) / 15
    labels = (rng.uniform(size=3001) < event).astype(np.int64)
    expected = np.zeros((15, 3))
    for p, y in zip(event, labels, strict=True):
        expected[bin_of(p, 15.0)] += 1, p, y
    sums = uniform_sums(event, labels, None, 15)
    np.testing.assert_allclose(sums[:, :3], expected, rtol=1e-12)
    assert np.array_equal(sums[:, 3], expected[:, 0])
