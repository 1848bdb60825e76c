"""The mean embedding of the errors against its definition, on the line, by tiles and at points."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.kernels import Diagonal, Exponential, Gaussian, Matern32, Scaled, Sum, as_matrix_kernel
from caltest.kernels.fitted import FittedKernel
from caltest.measures.kernel.skce import KCE, SKCE
from caltest.measures.kernel.witness import Embedding
from caltest.numerics.loops import threads

A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.5]])
KERNELS = {
    "exponential": Exponential(),
    "gaussian": Gaussian(0.7),
    "matrix": Scaled(Exponential(0.5), A),
    "diagonal": Diagonal([Exponential(0.5), Gaussian(0.2), Exponential(0.1)]),
    "sum": Sum(Exponential(0.3), Scaled(Gaussian(0.7), A)),
}


def drawn(m=3, n=40, *, weighted=False):
    """Draw predictions, with weights on request."""
    data = generative_model("M2", n=n, m=m, alpha=1.0, rng=3)
    weights = np.random.default_rng(4).uniform(0.0, 2.0, n) if weighted else None
    return Predictions(data.probs, data.labels, sample_weight=weights)


def brute_force(data, kernel, points):
    """Sum k(s, p_i) delta_i over the rows, one point and one row at a time."""
    fitted = FittedKernel.of(as_matrix_kernel(kernel), data)
    delta = np.eye(data.m)[data.labels] - data.probs
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    out = np.zeros((len(points), data.m))
    for q, point in enumerate(points):
        for i in range(data.n):
            for term in fitted.terms:
                kappa = term.cross(point[None], slice(i, i + 1))[0, 0]
                out[q] += weight[i] * kappa * (term.matrix @ delta[i])
    return out / weight.sum()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("key", KERNELS)
def test_embedding_is_the_weighted_sum_over_rows(key, weighted):
    """At other points of the simplex, and at the predictions themselves."""
    data = drawn(weighted=weighted)
    embedding = Embedding(data, as_matrix_kernel(KERNELS[key]))
    points = np.random.default_rng(0).dirichlet(np.ones(3), 7)
    expected = brute_force(data, KERNELS[key], points)
    np.testing.assert_allclose(embedding.at(points), expected, atol=1e-13)
    expected = brute_force(data, KERNELS[key], data.probs)
    np.testing.assert_allclose(embedding.at_rows, expected, atol=1e-13)


@pytest.mark.parametrize("kernel", [Exponential(0.3), Matern32(0.3), Exponential(metric="logit")])
def test_embedding_on_a_line_is_the_sum_over_rows(kernel):
    """Two classes go by sorting; points may coincide with predictions."""
    data = drawn(2, weighted=True)
    points = np.array([[1.0, 0.0], [0.0, 1.0], data.probs[3], [0.5, 0.5]])
    embedding = Embedding(data, as_matrix_kernel(kernel))
    np.testing.assert_allclose(embedding.at(points), brute_force(data, kernel, points), atol=1e-12)
    expected = brute_force(data, kernel, data.probs)
    np.testing.assert_allclose(embedding.at_rows, expected, atol=1e-12)


@pytest.mark.parametrize("n", [40, 2500])
@pytest.mark.parametrize("m", [2, 3])
def test_length_and_contributions_are_those_of_the_skce(m, n):
    """The norm is the biased KCE; the parts of all rows and classes add up to the unbiased SKCE."""
    data = drawn(m, n, weighted=True)
    with threads(2):
        embedding = Embedding(data, as_matrix_kernel(Exponential(0.4)))
    kernel = Exponential(0.4)
    assert embedding.length == pytest.approx(KCE(kernel=kernel).evaluate(data), rel=1e-10)
    expected = SKCE(kernel=kernel).evaluate(data)
    assert embedding.contributions.sum() == pytest.approx(expected, rel=1e-9)


def test_gap_curve_does_not_depend_on_the_order_of_the_rows():
    """Of two classes, with its limits."""
    data, curves = generative_model("M2", n=40, m=2, rng=1), []
    for order in (np.arange(40), np.arange(40)[::-1]):
        rows = Predictions(data.probs[order], data.labels[order])
        result = calibration_test(rows, test="skce", n_resamples=9, rng=1)
        curves.append(result.witness().gap_curve(21))
    np.testing.assert_allclose(curves[0].gap, curves[1].gap, rtol=1e-9)
    np.testing.assert_allclose(curves[0].limit, curves[1].limit, rtol=1e-6)
