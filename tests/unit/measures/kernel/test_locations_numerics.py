"""Sums and moments at test locations, and Hotelling's statistic from moments."""

import numpy as np
import pytest

from caltest.measures.kernel.cme import (
    LANES,
    ROWS,
    add_location_moments,
    add_location_sums,
    hotelling,
)

pytestmark = pytest.mark.loops


@pytest.mark.parametrize("size", [1, LANES, LANES + 3])
@pytest.mark.parametrize("n", [1, ROWS + 5])
@pytest.mark.parametrize(("terms", "count"), [(1, 1), (2, 4)])
def test_sums_and_moments_equal_those_of_whole_arrays(size, n, terms, count):
    """They agree at sizes below and above a block, and add to what is there."""
    rng = np.random.default_rng(0)
    kappa, shift = rng.random((terms, n, count)), rng.random((n, count))
    gain, labels = rng.random((terms, 3, count)), rng.integers(3, size=(size, n), dtype=np.uint8)
    raw = (kappa[:, None] * gain[:, labels]).sum(axis=0)
    sums, products = np.ones((size, count)), np.ones((size, count, count))
    add_location_sums(kappa, gain, labels, sums)
    np.testing.assert_allclose(sums, 1 + raw.sum(axis=1))
    z, sums[:] = raw - shift, 1.0
    add_location_moments(kappa, gain, shift, labels, sums, products)
    np.testing.assert_allclose(sums, 1 + z.sum(axis=1))
    np.testing.assert_allclose(products, 1 + np.einsum("bij,bik->bjk", z, z))


def moments(z):
    """Return the sum of the rows of z and that of their products, as of one resample."""
    return z.sum(axis=0)[None], (z.T @ z)[None]


@pytest.mark.parametrize(("n", "count"), [(2, 1), (30, 1), (30, 7)])
def test_hotelling_equals_the_solved_system(n, count):
    """The value is n mean' S^-1 mean with ddof = 1, and the rank of S."""
    z = np.random.default_rng(n).normal(0.3, 1.0, (n, count)) * np.logspace(0, -8, count)
    covariance = np.cov(z.T).reshape(count, count)
    expected = n * z.mean(axis=0) @ np.linalg.solve(covariance, z.mean(axis=0))
    statistic, rank = hotelling(*moments(z), n)
    assert statistic[0] == pytest.approx(expected, rel=1e-9)
    assert rank[0] == count


def test_hotelling_of_dependent_columns_is_that_of_a_basis():
    """A column that is the sum of two others changes nothing."""
    z = np.random.default_rng(0).normal(0.3, 1.0, (40, 2))
    both = hotelling(*moments(np.column_stack([z, z.sum(axis=1), 0 * z[:, 0]])), 40)
    alone = hotelling(*moments(z), 40)
    assert both[0][0] == pytest.approx(alone[0][0], rel=1e-9)
    assert both[1][0] == alone[1][0] == 2


def test_hotelling_of_zeros_is_zero_and_of_constants_is_cut_off():
    """Rank 0 in both cases, for there is no variance."""
    statistic, rank = hotelling(*moments(np.zeros((10, 2))), 10)
    assert (statistic[0], rank[0]) == (0.0, 0)
    statistic, rank = hotelling(*moments(np.full((10, 2), 0.3)), 10)
    assert (statistic[0], rank[0]) == (pytest.approx(9e10, rel=1e-5), 0)
