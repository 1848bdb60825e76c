"""Sums over pairs of redrawn labels equal double loops."""

import numpy as np
import pytest

from caltest.numerics.class_sums import (
    RESAMPLES,
    add_class_sums,
    add_pair_sums,
    class_lists,
    label_sums,
)

pytestmark = pytest.mark.loops


@pytest.fixture(scope="module")
def labels():
    """More rows of labels than are kept in the cache at a time, 9 labels of 4 classes each."""
    return np.random.default_rng(0).integers(0, 4, (RESAMPLES + 3, 9)).astype(np.uint8)


def test_class_lists_sort_the_columns_by_label(labels):
    """The columns of class k stand between start[k] and start[k + 1], in order."""
    columns, start = class_lists(labels, 5)
    for row, listed, first in zip(labels, columns, start, strict=True):
        for k in range(5):
            np.testing.assert_array_equal(listed[first[k] : first[k + 1]], np.flatnonzero(row == k))


@pytest.mark.parametrize("dense", [True, False])
def test_add_class_sums_adds_the_sum_over_the_tile(labels, dense):
    """Row labels are those of the tile's rows, less the likely ones; column labels its columns'."""
    rng = np.random.default_rng(1)
    tile, out = rng.random((6, 9)), np.full(len(labels), 10.0)
    matrix = rng.random((4, 4)) if dense else np.diag([1.0, 0.0, 2.0, 3.0])
    listed = [np.flatnonzero(row) for row in matrix]
    partners = np.array([np.append(found, [-1] * (5 - found.size)) for found in listed])
    rows = np.ascontiguousarray(labels[:, :6])
    likely = np.array([2, -1, 0, -1, 3, 1])
    add_class_sums(tile, rows, likely, *class_lists(labels, 4), matrix, partners, out)
    less = np.where(likely[:, None] >= 0, matrix[likely], 0.0)
    expected = [10 + np.sum(tile * (matrix[row[:6]] - less)[:, row]) for row in labels]
    np.testing.assert_allclose(out, expected, rtol=1e-13)


def test_label_sums_gather_one_entry_for_each_label(labels):
    """Each row of labels picks one column of every row of the table."""
    table = np.random.default_rng(2).random((9, 4))
    expected = [sum(table[i, k] for i, k in enumerate(row)) for row in labels]
    np.testing.assert_allclose(label_sums(table, labels), expected, rtol=1e-13)


def test_add_pair_sums_adds_the_sum_over_the_pairs(labels):
    """Every pair counts with its kernel value and the matrix entry of its two labels."""
    rng = np.random.default_rng(3)
    kappa, matrix, out = rng.random(5), rng.random((4, 4)), np.full(len(labels), 10.0)
    left, right = rng.integers(0, 9, (2, 5))
    add_pair_sums(kappa, left, right, labels, matrix, out)
    expected = [10 + np.sum(kappa * matrix[row[left], row[right]]) for row in labels]
    np.testing.assert_allclose(out, expected, rtol=1e-13)
