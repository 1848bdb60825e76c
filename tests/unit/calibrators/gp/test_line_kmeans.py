"""k-means on the line."""

import numpy as np
import pytest

from caltest.calibrators.gp.fit import line_kmeans

pytestmark = pytest.mark.loops


def test_few_points_are_their_own_centres():
    assert line_kmeans(np.array([3.0, 1.0, 3.0]), np.ones(3), 5) == pytest.approx([1, 3])


def test_centres_are_the_weighted_means_of_their_cells():
    """Lloyd's fixed point, with weights that count points."""
    rng = np.random.default_rng(0)
    x, weight = rng.beta(0.2, 1, 500), rng.integers(0, 4, 500).astype(float)
    centres = line_kmeans(x, weight, 6)
    nearest = np.abs(x[:, None] - centres).argmin(axis=1)
    means = [np.average(x[nearest == j], weights=weight[nearest == j]) for j in range(6)]
    assert centres == pytest.approx(means)
    assert centres == pytest.approx(
        line_kmeans(x.repeat(weight.astype(int)), np.ones(int(weight.sum())), 6)
    )


def test_clusters_that_stand_apart_are_found():
    x = np.concatenate([np.full(90, 0.0), np.full(5, 0.5), np.full(5, 1.0), [0.01, 0.49]])
    assert line_kmeans(x, np.ones(x.size), 3) == pytest.approx([0, 0.5, 1], abs=0.01)
