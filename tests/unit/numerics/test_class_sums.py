"""Sums of redrawn labels over tiles of pairs, and tables of their terms."""

from fractions import Fraction

import numpy as np
import pytest

from caltest.numerics.class_sums import (
    add_class_sums,
    add_labels,
    brier_table,
    class_lists,
    deviation_table,
)

pytestmark = pytest.mark.loops


def ones(codes, m):
    """The unit vectors of classes, 0 for m."""
    return np.eye(m + 1)[codes][..., :m]


@pytest.mark.parametrize("has_usual", [True, False])
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("m", [4, 33])
def test_add_class_sums_adds_the_sum_over_the_tile(m, dense, has_usual):
    """Row labels are those of the tile's rows, column labels those of its columns."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, m, (5, 80)).astype(np.uint8)
    tile, out = rng.random((60, 80)), np.ones(5)
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
    """The sums over the rows of each label, less those over the rows with that prediction.

    What another label gains is added up.
    """
    rng = np.random.default_rng(4)
    features, labels = rng.integers(-9, 9, (700, 3)).astype(np.int32), rng.integers(0, 4, (2, 700))
    top, out = rng.integers(0, 4, 700).astype(np.uint8), np.ones((2, 4, 3), np.int64)
    gains, sums = rng.integers(-9, 9, (700, 4)), np.ones(2, np.int64)
    gains[np.arange(700), top] = 0
    add_labels(features, gains, top, labels.astype(np.uint8), out, sums)
    np.testing.assert_array_equal(sums, 1 + gains[np.arange(700), labels].sum(axis=1))
    before = np.eye(4, dtype=int)[top].T @ features
    expected = [1 + np.eye(4, dtype=int)[row].T @ features - before for row in labels]
    np.testing.assert_array_equal(out, expected)


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
