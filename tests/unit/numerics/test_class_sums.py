"""Sums over pairs of redrawn labels equal double loops."""

import numpy as np
import pytest

from caltest.numerics.class_sums import (
    FEW,
    add_class_sums,
    add_labels,
    add_pair_sums,
    class_lists,
    label_sums,
)

pytestmark = pytest.mark.loops


@pytest.fixture(scope="module")
def labels():
    """99 rows of 9 labels of 4 classes each."""
    return np.random.default_rng(0).integers(0, 4, (99, 9)).astype(np.uint8)


def test_class_lists_sort_the_columns_by_label(labels):
    """The columns of class k stand between start[k] and start[k + 1], in order."""
    columns, start = class_lists(labels, 5)
    for row, listed, first in zip(labels, columns, start, strict=True):
        for k in range(5):
            np.testing.assert_array_equal(listed[first[k] : first[k + 1]], np.flatnonzero(row == k))


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("m", [4, FEW + 1])
def test_add_class_sums_adds_the_sum_over_the_tile(m, dense):
    """Row labels are those of the tile's rows, column labels those of its columns."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, m, (5, 40)).astype(np.uint8)
    tile, out = rng.random((30, 40)), np.full(len(labels), 10.0)
    matrix = rng.random((m, m)) if dense else np.diag(np.arange(m) - 1.0)
    listed = [np.flatnonzero(row) for row in matrix]
    partners = np.array([np.append(found, [-1] * (m + 1 - found.size)) for found in listed])
    rows = np.ascontiguousarray(labels[:, :30])
    add_class_sums(tile, rows, *class_lists(labels, m), matrix, partners, out)
    expected = [10 + np.sum(tile * matrix[np.ix_(row[:30], row)]) for row in labels]
    np.testing.assert_allclose(out, expected, rtol=1e-13)


def test_add_labels_adds_features_beyond_the_predicted_class():
    """The sums over the rows of each label, less those over the rows with that prediction."""
    rng = np.random.default_rng(4)
    features, labels = rng.integers(-9, 9, (700, 3)).astype(np.int32), rng.integers(0, 4, (2, 700))
    top, out = rng.integers(0, 4, 700).astype(np.uint8), np.ones((2, 4, 3), np.int64)
    add_labels(features, top, labels.astype(np.uint8), out)
    before = np.eye(4, dtype=int)[top].T @ features
    expected = [1 + np.eye(4, dtype=int)[row].T @ features - before for row in labels]
    np.testing.assert_array_equal(out, expected)


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
