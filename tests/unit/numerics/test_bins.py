"""Bins of equal width and equal mass, and the numbering of cells."""

import numpy as np
import pytest

from caltest.numerics.bins import cell_numbers, quantile_cuts, uniform_bins

pytestmark = pytest.mark.loops


def bins_of(values, bins):
    out = np.empty((len(values), 1), np.uint16)
    uniform_bins(np.asarray(values, float)[:, None], bins, out)
    return out[:, 0]


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


@pytest.mark.parametrize("bins", [2, 3, 10, 15])
def test_quantile_cuts_of_weights_of_one_are_those_without(bins):
    """Running sums of weights and counts reach a share at the same row."""
    values = np.sort(np.random.default_rng(bins).random(300))
    plain = quantile_cuts(values, None, bins)
    np.testing.assert_array_equal(quantile_cuts(values, np.ones(300), bins), plain)
    np.testing.assert_array_equal(quantile_cuts(values, np.full(300, 0.1), bins), plain)
