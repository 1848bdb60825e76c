"""Distances by tiles and by pairs equal those of SciPy."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from caltest.kernels.fitted import PACK, l1_tile, l2_tile

pytestmark = pytest.mark.loops

TILES = {"cityblock": l1_tile, "euclidean": l2_tile}
SHAPES = [(1, 1), (2, 3), (5, PACK), (6, PACK + 1), (7, 2 * PACK + 5)]


@pytest.mark.parametrize("metric", TILES)
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 11])
def test_tile_equals_scipy(metric, m, case):
    """Odd numbers of rows, coordinates beyond a multiple of four and several packs are all in."""
    rng = np.random.default_rng(m)
    for shape in SHAPES:
        left, right, out = rng.random((shape[0], m)), rng.random((shape[1], m)), np.empty(shape)
        TILES[metric](left, right, out)
        with case(shape):
            np.testing.assert_allclose(out, cdist(left, right, metric), rtol=1e-13)


def test_l2_tile_does_not_cancel():
    """Rows 1e-9 apart are 1e-9 apart, which |s|^2 + |t|^2 - 2 s't would round to 0 or 1e-8."""
    out = np.empty((1, 1))
    l2_tile(np.array([[0.5, 0.5]]), np.array([[0.5 + 1e-9, 0.5]]), out)
    assert out[0, 0] == pytest.approx(1e-9, rel=1e-6)
