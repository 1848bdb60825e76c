"""Fourier sums and centres on the line; the kernel and its grid are asked in test_elbo.py."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from caltest.calibrators.gp.fit import line_kmeans
from caltest.calibrators.gp.process import KERNELS, LatentPosterior, Paths, fourier, fourier_draws

pytestmark = pytest.mark.loops

X, Z = np.split(np.random.default_rng(0).uniform(0, 1, 11), [7])


@pytest.mark.parametrize(("which", "nu"), [("matern32", 1.5), ("matern52", 2.5)])
def test_fourier_sum_of_a_matern_kernel_lacks_its_highest_frequencies(which, nu):
    omega, weight = fourier(5.0, KERNELS[which])
    d = np.linspace(0, 5, 301)
    expected = Matern(nu=nu)(np.zeros((1, 1)), d[:, None])[0]
    assert np.abs(np.cos(np.outer(d, omega)) @ weight - expected).max() < 3e-6


def test_draws_have_the_covariance_of_the_kernel_and_their_own_slope():
    """The features give the kernel matrix without sampling: unit numbers, one at a time."""
    J = fourier(6.0)[0].size
    normal = np.eye(2 * J).reshape(2, J, 2 * J)
    q = LatentPosterior(Z, Z, Z, 1.7, 0.3, 0.0)
    paths = Paths(normal, Z, Z, Z, 6.0)
    values, slopes = fourier_draws(X, q, paths)
    assert values @ values.T == pytest.approx(1.7 * RBF(0.3)(X[:, None]), abs=1e-13)
    above, below = (fourier_draws(X + d, q, paths)[0] for d in (1e-6, -1e-6))
    assert slopes == pytest.approx((above - below) / 2e-6, abs=1e-7)


def test_centres_are_few_points_or_clusters_that_stand_apart():
    assert line_kmeans(np.array([3.0, 1.0, 3.0]), np.ones(3), 5) == pytest.approx([1, 3])
    x = np.concatenate([np.full(90, 0.0), np.full(5, 0.5), np.full(5, 1.0), [0.01, 0.49]])
    assert line_kmeans(x, np.ones(x.size), 3) == pytest.approx([0, 0.5, 1], abs=0.01)


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
