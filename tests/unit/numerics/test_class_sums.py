"""Sums over pairs of redrawn labels equal double loops."""

from fractions import Fraction

import numpy as np
import pytest

from caltest.numerics.class_sums import (
    add_class_sums,
    add_labels,
    add_pair_sums,
    brier_table,
    cell_sums,
    class_lists,
    deviation_table,
    label_sums,
    times_drawn,
)

pytestmark = pytest.mark.loops


@pytest.fixture(scope="module")
def labels():
    """99 rows of 9 labels of 4 classes each."""
    return np.random.default_rng(0).integers(0, 4, (99, 9)).astype(np.uint8)


def ones(codes, m):
    """The unit vectors of classes, 0 for m."""
    return np.eye(m + 1)[codes][..., :m]


@pytest.mark.parametrize("usual", [None, [3, 1, 1, 4, 0, 4, 2, 1, 0]])
def test_class_lists_have_the_ones_of_each_class_and_then_the_minus_ones(labels, usual):
    """The columns of class k stand between start[k] and start[k + 1], in order."""
    of = None if usual is None else np.array(usual)
    columns, start = class_lists(labels, of, 4)
    for row, listed, first in zip(labels, columns, start, strict=True):
        parts = ones(row, 4).T if of is None else (ones(row, 4) - ones(of, 4)).T
        for code, part in enumerate(parts if of is None else np.vstack([parts, -parts])):
            own = listed[first[code] : first[code + 1]]
            np.testing.assert_array_equal(own, np.flatnonzero(part == 1))


@pytest.mark.parametrize("has_usual", [True, False])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("m", [4, 33])
def test_add_class_sums_adds_the_sum_over_the_tile(m, dense, has_usual):
    """Row labels are those of the tile's rows, column labels those of its columns."""
    rng = np.random.default_rng(1)
    labels, tile, out = (
        rng.integers(0, m, (5, 80)).astype(np.uint8),
        rng.random((60, 80)),
        np.ones(5),
    )
    usual = rng.integers(0, m + 1, 80) if has_usual else None
    matrix = rng.random((m, m)) if dense else np.diag(np.arange(m) - 1.0)
    listed = [np.flatnonzero(row) for row in matrix]
    partners = np.array([np.append(found, [-1] * (m + 1 - found.size)) for found in listed])
    rows = np.ascontiguousarray(labels[:, :60]), usual[:60] if has_usual else None
    add_class_sums(tile, *rows, *class_lists(labels, usual, m), matrix, partners, out)
    s = ones(labels, m) - (ones(usual, m) if has_usual else 0.0)
    expected = 1 + np.einsum("ij,bik,kl,bjl->b", tile, s[:, :60], matrix, s, optimize=True)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-11)


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


def test_tables_keep_digits_and_have_mean_zero():
    """Of nearly certain predictions."""
    probs = np.array([[1 - 1e-9, 1e-9, 0.0]])
    assert brier_table(probs)[0, 0] == pytest.approx(2e-18, rel=1e-6)
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 5)
    table = deviation_table(probs)
    np.testing.assert_allclose((probs * table).sum(axis=1), 0, atol=1e-16)
    p = [Fraction(x) for x in probs[0]]
    expected = [float(sum(x * x for x in p) - x) for x in p]
    np.testing.assert_allclose(table[0], expected, atol=1e-15)


@pytest.mark.parametrize("m", [3, 7, 10])
def test_deviation_of_equal_probabilities_is_exactly_zero(m):
    """1/m is not a binary fraction, and its rounding noise must not be scaled up."""
    probs = np.zeros((2, m + 1))
    probs[0, :m] = 1 / m
    probs[1, 0] = 1.0
    table = deviation_table(probs)
    assert not table[probs > 0].any()


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
