"""Structured scaling against its formula in plain NumPy, minimised by SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize, root
from scipy.special import logsumexp, softmax

from caltest.calibrators import StructuredMatrixScaling, StructuredVectorScaling, TemperatureScaling
from caltest.calibrators.linear import softmax_regression
from caltest.calibrators.linear.softmax_regression import minimise
from caltest.errors import DegenerateDataWarning

M, LAMS = 4, {"diagonal_lam": 0.5, "intercept_lam": 2.0}
KINDS = [
    StructuredVectorScaling(from_logits=True, **LAMS),
    StructuredMatrixScaling(from_logits=True, off_diagonal_lam=0.3, **LAMS),
]


@pytest.fixture(scope="module")
def data():
    """Overconfident logits of four classes, labels and weights."""
    rng = np.random.default_rng(3)
    z = rng.normal(0, 3, (300, M))
    weight = rng.integers(0, 3, 300).astype(float)
    return z, (z @ rng.normal(0, 0.3, (M, M)) + rng.gumbel(size=z.shape)).argmax(axis=1), weight


def smoothed(z, y, weight):
    """Return the mixture of temperature scaling and one row in n + 1 of uniform probabilities."""
    n = weight.sum()
    p = TemperatureScaling(from_logits=True).fit(z, y, weight).predict_proba(z)
    return n / (n + 1) * p + 1 / (n + 1) / M


def problem(s, y, weight, free):
    """Return objective and gradient of the free entries of (W, b)."""
    n = weight.sum()
    lam = np.full((M, M + 1), 0.3 * (M - 1))
    np.fill_diagonal(lam, 0.5)
    lam[:, M] = 2.0
    X, one, theta = np.column_stack([s, np.ones(len(s))]), np.eye(M)[y], np.eye(M, M + 1)

    def both(values):
        theta[free] = values
        away, scores = theta - np.eye(M, M + 1), X @ theta.T
        loss = weight @ (logsumexp(scores, axis=1) - (scores * one).sum(axis=1)) / n
        slope = ((softmax(scores, axis=1) - one) * weight[:, None]).T @ X / n
        return loss + M / n * (lam * away**2).sum(), (slope + 2 * M / n * lam * away)[free]

    return both


@pytest.mark.parametrize("calibrator", KINDS)
def test_structured_scaling_is_the_minimum_that_scipy_finds(calibrator, data):
    """Parameters to 1e-8."""
    z, y, weight = data
    s, whole = np.log(smoothed(z, y, weight)), isinstance(calibrator, StructuredMatrixScaling)
    free = np.eye(M, M + 1) + np.eye(M + 1)[M] + whole > 0
    both, start = problem(s, y, weight, free), np.eye(M, M + 1)[free]
    found = minimize(both, start, jac=True, method="BFGS").x
    found = root(lambda x: both(x)[1], found, tol=1e-13).x
    calibrator.fit(z, y, weight)
    W = calibrator.weights_ if whole else np.diag(calibrator.weights_)
    theta = np.column_stack([W, calibrator.biases_])
    np.testing.assert_allclose(theta[free], found, rtol=0, atol=1e-8)
    assert np.linalg.norm(both(theta[free])[1]) < 1e-9
    expected = softmax(s @ W.T + calibrator.biases_, axis=1)
    np.testing.assert_allclose(calibrator.predict_proba(z), expected, rtol=1e-12)


def test_minimum_of_separated_labels_takes_few_steps(monkeypatch):
    """Rounding of a loss near 0 does not hide that a step leads to the minimum."""
    found = []

    def counted(task):
        found.append(minimise(task))
        return found[-1]

    monkeypatch.setattr(softmax_regression, "minimise", counted)
    z = np.random.default_rng(0).normal(size=(3000, 2))
    with pytest.warns(DegenerateDataWarning, match="each label is the most probable class"):
        StructuredMatrixScaling(from_logits=True).fit(z, z.argmax(axis=1))
    assert found[0].steps < 10
    assert found[0].norm < 1e-12
