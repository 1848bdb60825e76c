"""Kernels on a line: sums over all pairs equal double loops."""

import numpy as np
import pytest

from caltest.kernels import (
    Exponential,
    FittedKernel,
    Gaussian,
    Matern32,
    Matern52,
    Product,
    RationalQuadratic,
    Scaled,
)
from caltest.kernels.fitted import LineKernel

A = np.array([[2.0, 1.0], [1.0, 3.0]])
MARKOV = [Exponential, Matern32, Matern52]


def line_and_gram(kernel, event):
    """Return the sorted line and the kernel matrix times a, in sorted order."""
    probs = np.column_stack([1 - event, event])
    (term,) = FittedKernel(kernel, probs).terms
    order = np.argsort(event)
    rows = np.repeat(order, event.size)
    columns = np.tile(order, event.size)
    line = LineKernel(term, event[order])
    return line, line.factor * term.pairs(rows, columns).reshape(event.size, -1)


@pytest.fixture(scope="module")
def event():
    """Probabilities with ties, zeros and ones, in no order."""
    return np.array([0.5, 0.0, 1.0, 0.5, 0.25, 1e-9, 1.0, 0.7, 0.9, 0.5])


@pytest.mark.parametrize("metric", ["tv", "euclidean", "logit"])
@pytest.mark.parametrize("kernel", MARKOV)
def test_pair_sums_equal_the_lower_triangle(kernel, metric, event):
    """Each row of counts gives the sum of a kappa_ij d_i d_j over j < i."""
    line, gram = line_and_gram(Scaled(kernel(0.4, metric), A), event)
    rng = np.random.default_rng(0)
    scale, shift = rng.random((2, event.size))
    counts = rng.integers(0, 3, (5, event.size)).astype(np.uint8)
    d = scale * (counts - shift)
    expected = np.einsum("bi,ij,bj->b", d, np.tril(gram, -1), d)
    np.testing.assert_allclose(line.pair_sums(scale, shift, counts), expected, atol=1e-13)


@pytest.mark.parametrize("metric", ["tv", "euclidean", "logit"])
@pytest.mark.parametrize("kernel", MARKOV)
def test_row_sums_leave_out_the_diagonal(kernel, metric, event):
    """The i-th value is d_i times the sum of a kappa_ij d_j over j != i."""
    line, gram = line_and_gram(Scaled(kernel(0.4, metric), A), event)
    d = np.random.default_rng(1).normal(size=event.size)
    expected = d * ((gram - np.diag(np.diag(gram))) @ d)
    np.testing.assert_allclose(line.row_sums(d), expected, atol=1e-12)


@pytest.mark.parametrize("kernel", MARKOV)
def test_tiny_bandwidth_leaves_only_ties(kernel):
    """Points that are infinitely far apart in units of the bandwidth do not make nan."""
    line, _ = line_and_gram(Scaled(kernel(1e-100)), np.array([0.1, 0.1, 0.9]))
    ones, zeros = np.ones(3), np.zeros(3)
    assert line.pair_sums(ones, zeros, np.ones((1, 3), np.uint8))[0] == line.factor


def test_factor_is_that_of_opposite_residuals():
    """With delta = d (-1, 1), delta' A delta' = (A_00 - A_01 - A_10 + A_11) d d'."""
    line, _ = line_and_gram(Scaled(Exponential(), A), np.array([0.2, 0.4]))
    assert line.factor == 3.0


@pytest.mark.parametrize(
    ("kernel", "m", "expected"),
    [
        (Exponential(), 2, True),
        (Matern52("mean", "logit"), 2, True),
        (Scaled(Matern32(), A), 2, True),
        (Exponential(), 3, False),
        (Gaussian(), 2, False),
        (RationalQuadratic(), 2, False),
        (Product(Exponential(), Exponential(1.0)), 2, False),
        (Exponential(metric=lambda s, t: abs(s[0] - t[0])), 2, False),
    ],
)
def test_line_takes_two_classes_and_one_markov_factor(kernel, m, expected):
    """Other kernels and more classes go by tiles."""
    probs = np.random.default_rng(0).dirichlet(np.ones(m), 4)
    matrix_kernel = kernel if isinstance(kernel, (Scaled, Product)) else Scaled(kernel)
    (term,) = FittedKernel(matrix_kernel, probs).terms
    assert term.is_line is expected
