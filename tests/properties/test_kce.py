"""The KCE is the square root of a double sum, and its nulls follow those of the biased SKCE."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caltest as ct
from caltest.kernels import Exponential, Gaussian
from caltest.measures import kce, skce
from caltest.testing import strategies


@given(
    strategies.predictions((1, 9), (2, 5)), st.sampled_from([Exponential(0.5), Gaussian(0.5, "tv")])
)
def test_kce_is_the_root_of_a_double_sum(predictions, kernel):
    """KCE^2 sum of w_i w_j = sum of w_i w_j delta_i' delta_j kappa(p_i, p_j)."""
    p, n = predictions.probs, predictions.n
    w = np.ones(n) if predictions.sample_weight is None else predictions.sample_weight
    delta = np.eye(predictions.m)[predictions.labels] - p
    total = 0.0
    for i in range(n):
        for j in range(n):
            r = np.abs(p[i] - p[j]).sum() / 2 / 0.5
            kappa = math.exp(-r) if isinstance(kernel, Exponential) else math.exp(-(r**2) / 2)
            total += w[i] * w[j] * kappa * (delta[i] @ delta[j])
    expected = math.sqrt(max(total, 0.0)) / w.sum()
    assert kce(predictions, kernel=kernel) == pytest.approx(expected, rel=1e-9, abs=1e-7)


@given(strategies.predictions((1, 9), (2, 5)))
def test_kce_is_the_root_of_the_biased_skce(predictions):
    """The same code gives both, so they agree to the last digit."""
    kernel = Exponential(0.5)
    squared = skce(predictions, estimator="biased", kernel=kernel)
    assert kce(predictions, kernel=kernel) == math.sqrt(max(squared, 0.0))


@pytest.mark.full
@pytest.mark.parametrize("null", ["exact", "consistency", "distribution-free"])
@pytest.mark.parametrize("m", [2, 4])
def test_kce_has_the_pvalue_of_the_biased_skce(m, null):
    """The square root is monotone, so the test is the same."""
    predictions = ct.datasets.generative_model("M2", n=60, m=m, rng=0)
    root = ct.test_calibration(None, predictions, test="kce", null=null, rng=1)
    options = {"estimator": "biased", "null": null, "rng": 1}
    squared = ct.test_calibration(None, predictions, test="skce", **options)
    assert root.pvalue == squared.pvalue
    assert root.statistic**2 == pytest.approx(squared.statistic, rel=1e-12)
