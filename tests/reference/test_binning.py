"""Bins of small cases, from the test suite of CalibrationErrors.jl 0.6.4 (rows count from 0)."""

import numpy as np
import pytest

import caltest as ct
from caltest.measures import ECE, ece

P5 = np.array([[0.4, 0.1, 0.5], [0.5, 0.3, 0.2], [0.3, 0.7, 0.0], [0.1, 0.0, 0.9], [0.8, 0.1, 0.1]])
Y5 = np.array([0, 1, 2, 0, 1])

UNIFORM = [
    (3, 2, [{2}, {0, 1}]),
    (3, 1, [{0, 1, 2}]),
    (5, 3, [{0}, {1}, {2}, {3}, {4}]),
    (5, 2, [{3}, {2}, {0, 1}, {4}]),
    (5, 1, [{0, 1, 2, 3, 4}]),
]
MEDIAN_VARIANCE = [
    (3, 1, [{0}, {1}, {2}]),
    (3, 2, [{0, 1, 2}]),
    (5, 1, [{4}, {2}, {1}, {0}, {3}]),
    (5, 2, [{2, 4}, {0, 1, 3}]),
    (5, 3, [{0, 1, 2, 3, 4}]),
]


def partition(n, **options):
    """Return the bins of the first n predictions as sets of rows."""
    data = ct.Predictions(P5[:n], Y5[:n], classes=[0, 1, 2])
    cells, count = ECE(**options).cells(data)
    assert count == cells.max() + 1
    return {frozenset(np.flatnonzero(cells == c).tolist()) for c in range(count)}


@pytest.mark.parametrize(("n", "bins", "expected"), UNIFORM)
def test_uniform_bins_are_those_of_julia(n, bins, expected):
    assert partition(n, bins=bins) == set(map(frozenset, expected))


@pytest.mark.parametrize(("n", "min_size", "expected"), MEDIAN_VARIANCE)
def test_median_variance_bins_are_those_of_julia(n, min_size, expected):
    found = partition(n, binning="median-variance", min_size=min_size)
    assert found == set(map(frozenset, expected))


@pytest.mark.parametrize(("p", "expected"), [(0, 0), (0.1, 0), (0.45, 4), (1, 9)])
def test_bin_of_a_probability_is_that_of_julia(p, expected):
    """Of 10: binindex(0, 10) = 1 and so on, numbered from 1 there."""
    data = ct.Predictions(np.append(np.arange(0.05, 1, 0.1), p), np.zeros(11, int), classes=[0, 1])
    assert ECE(bins=10).cells(data)[0][-1] == expected


@pytest.mark.parametrize(
    ("probs", "labels"),
    [
        ([[0, 1], [1, 0]], [1, 0]),
        ([[0, 1], [0.5, 0.5], [0.5, 0.5], [1, 0]], [1, 1, 0, 0]),
        ([0, 0.5, 0.5, 1], [0, 0, 1, 1]),
    ],
)
@pytest.mark.parametrize("distance", ["tv", "cityblock", "sqeuclidean"])
def test_ece_is_zero_where_it_is_in_julia(probs, labels, distance):
    """In every bin as many events as predicted."""
    assert ece(probs, labels, bins=10, distance=distance) == 0.0
