"""The monotone sweep against the plainest code."""

import numpy as np
import pytest

from caltest.measures.bins.ece import sweep_counts, tie_runs

pytestmark = pytest.mark.loops


def plain_bins(labels, values, bins):
    """Return the labels in each of the occupied bins of equal mass, ties in the lower one."""
    quantiles = [values[-(-k * len(values) // bins) - 1] for k in range(1, bins)]
    cells = np.searchsorted(quantiles, values)
    return [labels[cells == c] for c in np.unique(cells)]


def plain_count(labels, values):
    """Grow the number of bins from 1 until the mean labels are not monotone."""
    for bins in range(2, len(values) + 1):
        means = [part.mean() for part in plain_bins(labels, values, bins)]
        if (np.diff(means) < -1e-12).any():
            return bins - 1
    return len(values)


def counts(labels, values):
    """Return the numbers of bins of the compiled sweep."""
    return sweep_counts(labels, *tie_runs(values))


@pytest.mark.parametrize("digits", [17, 1])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 57, 200])
def test_sweep_stops_where_the_plain_one_does(n, digits):
    """For calibrated labels, with and without ties."""
    rng = np.random.default_rng(n)
    values = np.sort(np.round(rng.random(n), digits))
    labels = (rng.random((30, n)) < values).astype(np.uint8)
    expected = [plain_count(row, values) for row in labels]
    np.testing.assert_array_equal(counts(labels, values), expected)


@pytest.mark.parametrize("swaps", [0, 1, 3])
def test_sweep_of_separated_labels_stops_where_the_plain_one_does(swaps):
    """Few bins around the border decide; the others are passed over."""
    rng = np.random.default_rng(swaps)
    values = np.sort(rng.random(80))
    labels = (np.arange(80) >= 40).astype(np.uint8)
    for at in 39 + rng.integers(-3, 3, swaps):
        labels[[at, at + 1]] = labels[[at + 1, at]]
    assert counts(labels[None], values)[0] == plain_count(labels, values)


@pytest.mark.full
def test_sweep_of_sorted_labels_is_fast():
    """No violation at all: as many bins as rows, without looking at each of them n times."""
    values = np.linspace(0.1, 0.9, 200_000)
    labels = (values > 0.5).astype(np.uint8)[None]
    assert counts(labels, values)[0] == values.size
