"""The jackknife standard error of the unbiased SKCE."""

import numpy as np
import pytest

from caltest import NotApplicable
from caltest.datasets import generative_model
from caltest.kernels import Exponential, Gaussian, Matern32, Matern52, Sum
from caltest.measures import SKCE, skce
from caltest.measures.kernel.bounds import jackknife_error


@pytest.mark.parametrize("kernel", [Exponential(bandwidth=0.5), Gaussian(bandwidth=0.5)])
@pytest.mark.parametrize("m", [2, 3])
def test_jackknife_is_that_of_estimates_without_one_row(kernel, m):
    data = generative_model("M2", n=30, m=m, rng=1)
    rest = [data.subset(np.delete(np.arange(30), i)) for i in range(30)]
    values = np.array([skce(part, kernel=kernel) for part in rest])
    estimate, error = jackknife_error(SKCE(kernel=kernel).bind_all_pairs(data))
    assert estimate == pytest.approx(skce(data, kernel=kernel), rel=1e-12)
    assert error == pytest.approx(np.sqrt(29 * values.var()), rel=1e-9)


def test_jackknife_of_calibrated_models_is_larger_than_the_standard_deviation():
    """The second-order variance is counted twice, so its root is 1.4 times too large."""
    kernel = Exponential(bandwidth=0.5)
    sets = [generative_model("M1", n=100, m=3, rng=seed) for seed in range(200)]
    pairs = [jackknife_error(SKCE(kernel=kernel).bind_all_pairs(data)) for data in sets]
    values, errors = np.array(pairs).T
    assert 1.0 < np.sqrt(np.square(errors).mean()) / values.std() < 1.8


KERNELS = [
    Exponential(bandwidth=0.5),
    Gaussian(bandwidth=0.5),
    Matern52(bandwidth=0.4),
    Sum(Matern32(bandwidth=0.3), Exponential(bandwidth=2.0, metric="logit")),
    Sum(Matern32(bandwidth=0.3), Matern52(bandwidth=2.0, metric="logit")),
]


def pair_values(data, kernel):
    """Return h_ij of all pairs i > j, as a matrix with zeros elsewhere."""
    values = np.zeros((data.n, data.n))
    for i, j in zip(*np.tril_indices(data.n, -1), strict=True):
        values[i, j] = skce(data.subset(np.array([i, j])), kernel=kernel)
    return values


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_second_moment_is_the_mean_square_over_all_pairs(kernel, m):
    """On the line and by tiles, for sums of kernels of two metrics too."""
    if m > 2 and "logit" in str(kernel):
        pytest.skip("log odds are of two classes")
    data = generative_model("M2", n=16, m=m, rng=0)
    h = pair_values(data, kernel)
    sums, squares = SKCE(kernel=kernel).bind_all_pairs(data).row_moments()
    assert squares == pytest.approx(np.square(h).sum() / (16 * 15 / 2), rel=1e-9)
    expected = (h + h.T).sum(axis=1)
    np.testing.assert_allclose(np.sort(sums), np.sort(expected), atol=1e-12)


def test_second_moment_of_blocks_is_that_of_their_pairs():
    data, kernel = generative_model("M2", n=23, m=3, rng=0), Exponential(bandwidth=0.5)
    measure = SKCE(estimator="block", block_size=5, kernel=kernel)
    h = pair_values(data, kernel)
    blocks = [h[i : i + 5, i : i + 5] for i in range(0, 20, 5)]
    expected = np.mean([np.square(block).sum() / 10 for block in blocks])
    assert measure.bind(data).second_moment() == pytest.approx(expected, rel=1e-12)


def test_jackknife_of_two_rows_is_not_applicable():
    """Without one of them there is no pair."""
    data = generative_model("M1", n=2, m=3, rng=0)
    with pytest.raises(NotApplicable, match="at least three observations, and there are 2; use"):
        jackknife_error(SKCE().bind_all_pairs(data))
