"""The jackknife standard error of the unbiased SKCE."""

from __future__ import annotations

import numpy as np
import pytest

from caltest import NotApplicable
from caltest.datasets import generative_model
from caltest.kernels import Exponential, Gaussian
from caltest.measures import SKCE, skce
from caltest.measures.kernel.skce import jackknife_error, second_moment


@pytest.mark.parametrize("kernel", [Exponential(bandwidth=0.5), Gaussian(bandwidth=0.5)])
@pytest.mark.parametrize("m", [2, 3])
def test_jackknife_is_that_of_estimates_without_one_row(kernel, m):
    """On the line and by tiles."""
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


def test_second_moment_is_the_mean_square_of_h():
    """Over all pairs where they are few, over a sample where they are many."""
    data = generative_model("M2", n=700, m=3, rng=0)
    kernel = Exponential(bandwidth=0.5)
    delta = np.eye(3)[data.labels] - data.probs
    distance = np.abs(data.probs[:, None] - data.probs).sum(axis=2) / 2
    h = np.exp(-distance / 0.5) * (delta @ delta.T)
    pairs = SKCE(kernel=kernel).bind_all_pairs(data)
    assert second_moment(pairs) == pytest.approx(
        np.square(h[np.tri(700, k=-1) > 0]).mean(), rel=0.1
    )
    few = SKCE(kernel=kernel).bind_all_pairs(data.subset(np.arange(50)))
    expected = np.square(h[:50, :50][np.tri(50, k=-1) > 0]).mean()
    assert second_moment(few) == pytest.approx(expected, rel=1e-12)


def test_jackknife_of_two_rows_is_not_applicable():
    """Without one of them there is no pair."""
    data = generative_model("M1", n=2, m=3, rng=0)
    with pytest.raises(NotApplicable, match="at least three observations, and there are 2; use"):
        jackknife_error(SKCE().bind_all_pairs(data))
