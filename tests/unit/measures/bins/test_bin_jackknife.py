"""The unbiased squared error over bins, row by row."""

import numpy as np
import pytest

from caltest.measures.bins.debiased_ece import spread_at_zero, unbiased_bin_errors

pytestmark = pytest.mark.loops


def plain(delta, start, single):
    """Sum the products of different rows of each cell; a single row adds its square."""
    total = 0.0
    for rows in np.split(delta, start[1:-1]):
        n = len(rows)
        products = rows @ rows.T
        if n == 1:
            total += single * products[0, 0]
        elif n:
            total += (products.sum() - np.trace(products)) / (n - 1)
    return total / len(delta)


def cells_of(sizes, m):
    """Draw rows for cells of some sizes."""
    delta = np.random.default_rng(0).normal(size=(sum(sizes), m))
    return delta, np.append(0, np.cumsum(sizes))


@pytest.mark.parametrize("single", [0.0, 1.0])
@pytest.mark.parametrize("m", [1, 3])
def test_estimates_are_those_of_the_definition(m, single):
    """With all rows, and without each of them; cells of one, two and more rows."""
    sizes = np.array([1, 4, 2, 1, 7, 3])
    delta, start = cells_of(sizes, m)
    value, without, _ = unbiased_bin_errors(delta, start, single)
    assert value == pytest.approx(plain(delta, start, single))
    for i in range(len(delta)):
        cells = np.delete(np.repeat(np.arange(6), sizes), i)
        rest = np.append(0, np.cumsum(np.bincount(cells, minlength=6)))
        expected = plain(np.delete(delta, i, axis=0), rest, single)
        assert without[i] == pytest.approx(expected, abs=1e-12)


def test_moments_are_the_variance_at_zero_and_the_largest_mean_square():
    """With many rows of independent noise the variance is 2 / n^2 times the number of cells."""
    delta, start = cells_of([2000] * 5, 1)
    _, without, largest = unbiased_bin_errors(delta, start, 0.0)
    variance = spread_at_zero(delta, start)
    assert variance == pytest.approx(2 * 5 / 10_000**2, rel=0.1)
    squares = [np.square(rows).mean() for rows in np.split(delta, start[1:-1])]
    assert largest == pytest.approx(max(squares))
    assert without.size == 10_000
