"""UCME and T^2 equal sums over explicit kernel matrices, for observed and redrawn labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caltest as ct
from caltest.kernels import Diagonal, Exponential, Gaussian, Matern32, Product, Scaled, Sum
from caltest.measures import CME, UCME, cme, ucme
from caltest.numerics.labels import resample_keys

A = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, -1.0], [0.0, -1.0, 3.0]])


def kernels(m):
    """Return kernels with the terms kappa(s, t) A written out."""
    one = lambda s, t: np.exp(-np.abs(s - t).sum() / 2 / 0.5)  # noqa: E731
    two = lambda s, t: np.exp(-((s - t) @ (s - t)) / 0.5)  # noqa: E731
    a, eye = A[:m, :m], np.eye(m)
    first, second = Exponential(0.5), Gaussian(0.5)
    return {
        "identity": (first, lambda s, t: one(s, t) * eye),
        "matrix": (Scaled(second, a), lambda s, t: two(s, t) * a),
        "sum": (Sum(first, Scaled(second, a)), lambda s, t: one(s, t) * eye + two(s, t) * a),
        "product": (Product(Scaled(first, a), second), lambda s, t: one(s, t) * two(s, t) * a),
        "diagonal": (
            Diagonal([first, second, first][:m]),
            lambda s, t: np.diag([one(s, t), two(s, t), one(s, t)][:m]),
        ),
    }


@st.composite
def data(draw):
    """Draw predictions with ties, zeros and ones, and test locations."""
    m, n, size = draw(st.integers(2, 3)), draw(st.integers(4, 9)), draw(st.integers(1, 3))
    counts = st.lists(st.integers(0, 3), min_size=m, max_size=m).filter(any)
    rows = np.array(
        [
            np.divide(row, sum(row))
            for row in draw(st.lists(counts, min_size=n + size, max_size=n + size))
        ]
    )
    labels = draw(st.lists(st.integers(0, m - 1), min_size=n + size, max_size=n + size))
    return ct.Predictions(rows[:n], labels[:n]), (rows[n:], labels[n:])


def deviations(predictions, labels, locations, kernel):
    """Return z_ij = e_c' k(t_j, p_i) (e_y - p_i)."""
    eye = np.eye(predictions.m)
    return np.array(
        [
            [eye[c] @ kernel(t, p) @ (eye[y] - p) for t, c in zip(*locations, strict=True)]
            for p, y in zip(predictions.probs, labels, strict=True)
        ]
    )


@given(data(), st.sampled_from(list(kernels(2))), st.booleans())
def test_ucme_is_the_mean_of_squared_mean_deviations(drawn, name, weighted):
    """J^-1 sum_j (mean_i z_ij)^2, the mean a weighted one where there are weights."""
    predictions, locations = drawn
    kernel, matrix = kernels(predictions.m)[name]
    w = np.arange(1.0, predictions.n + 1) if weighted else np.ones(predictions.n)
    given_weights = w if weighted else None
    p = ct.Predictions(predictions.probs, predictions.labels, sample_weight=given_weights)
    bound = UCME(kernel=kernel, locations=locations).bind(p)
    labels = np.vstack([p.labels, bound.redraw(resample_keys(0, 3))]).astype(np.uint8)
    z = [w @ deviations(p, row, locations, matrix) / w.sum() for row in labels]
    expected = np.square(z).mean(axis=1)
    np.testing.assert_allclose(bound.values(labels), expected, atol=1e-14)
    value = ucme(p, locations=locations, kernel=kernel)
    assert value == pytest.approx(expected[0], rel=1e-10, abs=1e-14)


@given(data(), st.sampled_from(list(kernels(2))))
def test_cme_is_hotellings_statistic(drawn, name):
    """The value is n mean' S^-1 mean where S is far from singular."""
    predictions, locations = drawn
    kernel, matrix = kernels(predictions.m)[name]
    bound = CME(kernel=kernel, locations=locations).bind(predictions)
    labels = bound.redraw(resample_keys(0, 3))
    for row, value in zip(labels, bound.values(labels), strict=True):
        z = deviations(predictions, row, locations, matrix)
        covariance = np.cov(z.T).reshape(z.shape[1], -1)
        assert 0 <= value <= 1e10 * predictions.n
        if np.linalg.cond(covariance) < 1e6:
            t = len(z) * z.mean(axis=0) @ np.linalg.solve(covariance, z.mean(axis=0))
            assert value == pytest.approx(t, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("m", [2, 5])
def test_cme_does_not_depend_on_the_units_of_a_location(m):
    """A location far from all predictions has tiny deviations, and counts as any other."""
    predictions = ct.datasets.generative_model("M2", n=200, m=m, alpha=2.0, rng=0)
    near = predictions.probs[:3], [0, 1, 0]
    scaled = [Scaled(Matern32(0.3), factor * np.eye(m)) for factor in (1.0, 1e-12)]
    values = [cme(predictions, locations=near, kernel=kernel) for kernel in scaled]
    assert values[0] == pytest.approx(values[1], rel=1e-9)
