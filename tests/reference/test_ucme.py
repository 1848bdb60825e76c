"""UCME values of CalibrationErrors.jl, and the statistic of CalibrationTests.jl."""

import math

import numpy as np
import pytest

import caltest as ct
from caltest.kernels import Exponential, Gaussian
from caltest.measures import cme, ucme

# CalibrationErrors.jl 0.6.4, test/ucme.jl, "UCME: Binary examples" (shared/reference/skce.json):
# predictions (1, 0) and (0, 1), SqExponentialKernel x WhiteKernel, classes count from 1.
LOCATIONS = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], [0, 0, 1]
ONE_RIGHT = (math.exp(-2) + math.exp(-0.5) + 1) / 12
VALUES = [
    ((1, 2), 0.0, 0.0),
    ((1, 1), 0.1451554952457705, ONE_RIGHT),
    ((2, 1), 0.06659606681562134, (1 - math.exp(-1)) ** 2 / 6),
    ((2, 2), 0.1451554952457705, ONE_RIGHT),
]


@pytest.mark.parametrize(("labels", "expected", "formula"), VALUES)
def test_ucme_of_two_points(labels, expected, formula):
    """The closed forms of Julia's test; Julia calls the squared embedding UCME, as we do."""
    codes = np.subtract(labels, 1)
    value = ucme([[1, 0], [0, 1]], codes, locations=LOCATIONS, kernel=Gaussian(1.0))
    assert value == pytest.approx(expected, rel=1e-13, abs=1e-15)
    assert formula == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("labels", "expected", "formula"), VALUES)
def test_ucme_of_two_probabilities(labels, expected, formula):
    """Julia's test with scalar predictions: locations 1, 0.5, 0 and targets true, true, false."""
    locations = [1.0, 0.5, 0.0], [True, True, False]
    codes = np.equal(labels, 1)
    value = ucme([1.0, 0.0], codes, locations=locations, kernel=Gaussian(1.0))
    assert value == pytest.approx(formula, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("n", [50, 100])
@pytest.mark.parametrize("m", [2, 10, 100])
def test_cme_is_the_statistic_of_julia(m, n):
    """CalibrationTests.jl 0.6.3, test/cme.jl: n mean' inv(S) mean with exp(-0.1 ||p - q||)."""
    rng = np.random.default_rng(m + n)
    probs, labels = rng.dirichlet(np.ones(m), n), rng.integers(m, size=n)
    points, classes = rng.dirichlet(np.ones(m), n // 10), rng.integers(m, size=n // 10)
    kappa = np.exp(-0.1 * np.linalg.norm(probs[:, None] - points, axis=2))
    z = kappa * ((labels[:, None] == classes) - probs[:, classes])
    expected = (
        n * z.mean(axis=0) @ np.linalg.solve(np.cov(z.T).reshape(-1, n // 10), z.mean(axis=0))
    )
    options = {"locations": (points, classes), "kernel": Exponential(10.0, "euclidean")}
    assert cme(probs, labels, **options) == pytest.approx(expected, rel=1e-7)
    estimate = ucme(probs, labels, **options)
    assert estimate == pytest.approx(np.mean(z.mean(axis=0) ** 2), rel=1e-12)


@pytest.mark.parametrize("m", [2, 10])
def test_cme_rejects_labels_of_one_class_only(m):
    """CalibrationTests.jl 0.6.3, test/cme.jl, "consistency": Dir(1) and n = 100 gives p < 0.05."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(m), 100)
    locations = rng.dirichlet(np.ones(m), 5), rng.integers(m, size=5)
    options = {"locations": locations, "kernel": Exponential(10.0, "euclidean")}
    for null in ("exact", "asymptotic"):
        result = ct.test_calibration(
            probs, np.zeros(100, int), test="cme", null=null, rng=0, **options
        )
        assert result.pvalue < 0.05
