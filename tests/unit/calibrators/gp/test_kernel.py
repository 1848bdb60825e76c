"""The kernel on the line, its derivatives, and draws from the process."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from caltest.calibrators.gp.process import (
    KERNELS,
    fourier,
    fourier_draws,
    fourier_features,
    kernel_line,
    kernel_line_back,
    pair_products,
)

pytestmark = pytest.mark.loops

PEERS = {"rbf": RBF(), "matern32": Matern(nu=1.5), "matern52": Matern(nu=2.5)}
RNG = np.random.default_rng(0)
X, Z = RNG.uniform(0, 1, 7), RNG.uniform(0, 1, 4)


@pytest.mark.cases(3)
@pytest.mark.parametrize("which", KERNELS)
def test_derivatives_of_the_kernel_are_its_differences(which):
    """By log variance, log scale and the first places; pairs within a row have the same."""
    kernel, peer = KERNELS[which], PEERS[which]
    weight = RNG.normal(size=(7, 4))

    def value(values):
        return np.sum(weight * kernel_line(values[:7], Z, *np.exp(values[7:]), kernel))

    at = np.concatenate([X, np.log([1.7, 0.3])])
    steps = 1e-6 * np.eye(9)
    differences = np.array([value(at + d) - value(at - d) for d in steps]) / 2e-6
    by_variance, by_scale, by_x = kernel_line_back(weight, X, Z, 1.7, 0.3, kernel)
    assert [*by_x, by_variance, by_scale] == pytest.approx(differences, abs=1e-8)
    dense = 1.7 * peer(X[:, None] / 0.3, Z[:, None] / 0.3)
    np.testing.assert_allclose(kernel_line(X, Z, 1.7, 0.3, kernel), dense, rtol=1e-12)
    product, by_scale = pair_products(X[None], weight[:, :1].T.copy(), 1.7, 0.3, kernel.order)
    block, s = 1.7 * peer(X[:, None] / 0.3), weight[:, 0]
    np.testing.assert_allclose(product[0], block @ s, rtol=1e-12)
    near = [s @ peer(X[:, None] / 0.3 / np.exp(d)) @ s for d in (1e-6, -1e-6)]
    assert by_scale[0] == pytest.approx(1.7 * (near[0] - near[1]) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("which", ["matern32", "matern52"])
def test_fourier_sum_of_a_matern_kernel_lacks_its_highest_frequencies(which):
    omega, weight = fourier(5.0, KERNELS[which])
    d = np.linspace(0, 5, 301)
    expected = PEERS[which](np.zeros((1, 1)), d[:, None])[0]
    assert np.abs(np.cos(np.outer(d, omega)) @ weight - expected).max() < 3e-6


def test_pair_products_are_those_of_the_whole_block():
    """B sigma, and the derivative of sigma' B sigma by log scale."""
    z, sigma = RNG.uniform(0, 1, (3, 6)), RNG.dirichlet(np.ones(6), 3)
    product, by_scale = pair_products(z, sigma, 1.7, 0.3, 0)
    for i in range(3):
        block = kernel_line(z[i], z[i], 1.7, 0.3)
        distance = (z[i][:, None] - z[i]) / 0.3
        assert product[i] == pytest.approx(block @ sigma[i])
        assert by_scale[i] == pytest.approx(sigma[i] @ (block * distance**2) @ sigma[i])


@pytest.mark.parametrize("extent", [0.5, 5.0, 100.0])
def test_fourier_sum_is_the_kernel_up_to_its_extent(extent):
    """The trapezoidal rule is exact to the precision of a double."""
    omega, weight = fourier(extent)
    d = np.linspace(0, extent, 301)
    assert np.cos(np.outer(d, omega)) @ weight == pytest.approx(np.exp(-(d**2) / 2), abs=1e-14)


@pytest.mark.parametrize("scale", [0.02, 0.3, 5.0])
def test_features_are_a_factor_of_the_kernel_and_of_its_slope(scale):
    """To 1e-12, with fewer columns than there are places."""
    x = np.linspace(2, 3, int(12 / scale) + 30)
    features, slope = fourier_features(x, 1.7, scale)
    kernel = kernel_line(x, x, 1.7, scale)
    by_scale = kernel * ((x[:, None] - x) / scale) ** 2
    assert np.abs(features @ features.T - kernel).max() < 1e-12
    assert np.abs(features * slope @ features.T - by_scale).max() < 1e-12
    assert features.shape[1] < max(40, x.size)


def test_draws_have_the_covariance_of_the_kernel_and_their_own_slope():
    """The features give the kernel matrix without sampling: unit numbers, one at a time."""
    J = fourier(6.0)[0].size
    normal = np.eye(2 * J).reshape(2, J, 2 * J)
    values, slopes = fourier_draws(X, 1.7, 0.3, 6.0, normal)
    assert values @ values.T == pytest.approx(kernel_line(X, X, 1.7, 0.3), abs=1e-13)
    above, below = (fourier_draws(X + d, 1.7, 0.3, 6.0, normal)[0] for d in (1e-6, -1e-6))
    assert slopes == pytest.approx((above - below) / 2e-6, abs=1e-7)
