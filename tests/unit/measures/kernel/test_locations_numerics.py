"""Sums and moments at test locations equal those of whole arrays."""

import numpy as np
import pytest

from caltest.measures.kernel.cme import LANES, ROWS, add_location_moments, add_location_sums

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
