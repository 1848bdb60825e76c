"""Scalar kernels: profiles, what they are called, and when they are positive semi-definite."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from caltest.errors import InvalidInput
from caltest.kernels import Exponential, Gaussian, Matern32, Matern52, RationalQuadratic

KERNELS = [Exponential, Gaussian, Matern32, Matern52, RationalQuadratic]


def hellinger(s, t):
    """Return a distance that caltest does not know."""
    return np.sqrt(np.sum((np.sqrt(s) - np.sqrt(t)) ** 2) / 2)


@pytest.mark.parametrize("m", [2, 3, 6])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("metric", ["tv", "euclidean"])
def test_gram_matrix_is_psd_where_the_kernel_says_so(kernel, metric, m):
    k = kernel(bandwidth=0.3, metric=metric)
    rows = np.random.default_rng(0).dirichlet(np.full(m, 0.3), 60)
    distances = squareform(pdist(rows, "cityblock" if metric == "tv" else "euclidean"))
    if k.is_psd(m):
        assert np.linalg.eigvalsh(k.profile(distances / 0.3))[0] > -1e-10


def test_kernel_of_a_callable_is_not_known_to_be_psd():
    """Nothing is known about a user's metric, not even for two classes."""
    assert not Exponential(metric=hellinger).is_psd(2)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Exponential(), "exponential of total variation"),
        (Matern32(), "Matern 3/2 of Euclidean distance"),
        (Matern52(metric="logit"), "Matern 5/2 of logit distance"),
        (Gaussian(metric=hellinger), "Gaussian of hellinger"),
        (RationalQuadratic(alpha=2.5), "rational quadratic of Euclidean distance, alpha = 2.5"),
    ],
)
def test_kernel_prints_its_profile_and_metric(kernel, words):
    assert str(kernel) == words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth": 0}, "bandwidth must be a positive number; got 0"),
        ({"bandwidth": -1.0}, "bandwidth must be a positive number; got -1.0"),
        ({"bandwidth": float("nan")}, "bandwidth must be a positive number; got nan"),
        ({"bandwidth": "medain"}, "bandwidth must be one of .* did you mean 'median'"),
        ({"metric": "l2"}, "metric must be one of 'tv', 'euclidean', 'logit'; got 'l2'"),
        ({"alpha": 0}, "alpha must be a positive number; got 0"),
    ],
)
def test_kernel_refuses_bad_options(options, message):
    """The error names the argument, the rule and the value."""
    for kernel in [RationalQuadratic] if "alpha" in options else KERNELS:
        with pytest.raises(InvalidInput, match=message):
            kernel(**options)
