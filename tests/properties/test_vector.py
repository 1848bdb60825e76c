"""Vector scaling is the minimum of a convex loss, alone or with its penalty."""

import warnings

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from caltest.calibrators import VectorScaling
from caltest.calibrators.linear.scaling import RIDGE
from caltest.errors import DegenerateDataWarning

SETTINGS = settings.get_profile("some")


@st.composite
def samples(draw, rows=(1, 120)):
    """Logits of some scale with ties, labels from a model, and weights."""
    m = draw(st.sampled_from([2, 3, 10]))
    n = draw(st.integers(*rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    z = rng.normal(0, draw(st.sampled_from([0.1, 1.0, 10.0])), (n, m))
    z = z.round() if draw(st.booleans()) else z
    probs = softmax(z * draw(st.sampled_from([0.0, 0.3, 1.0])), axis=1)
    y = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, m - 1)
    return z, y, rng.integers(1, 4, n)


def fit(z, y, weight=None):
    """Fit whatever the data determine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        calibrator = VectorScaling(from_logits=True, classes=np.arange(z.shape[1]))
        return calibrator.fit(z, y, sample_weight=weight)


def objective(theta, z, y, weight, ridge):
    """Return the weighted mean log loss plus the penalty, and the gradient."""
    m, rows = z.shape[1], np.arange(len(y))
    share = weight / weight.sum()
    logs = log_softmax(theta[:m] * z + theta[m:], axis=1)
    residuals = np.exp(logs)
    residuals[rows, y] -= 1
    residuals *= share[:, np.newaxis]
    away = theta - np.repeat([1.0, 0.0], m)
    gradient = np.concatenate([(residuals * z).sum(axis=0), residuals.sum(axis=0)])
    return -share @ logs[rows, y] + ridge / 2 * away @ away, gradient + ridge * away


def parameters(calibrator):
    """Return theta, and the strength of the penalty that was needed."""
    ridge = RIDGE if calibrator.weights_stderr_ is None else 0.0
    return np.concatenate([calibrator.weights_, calibrator.biases_]), ridge


@SETTINGS
@given(samples())
def test_gradient_vanishes_at_the_optimum(sample):
    """Below 1e-8 of the size of the logits, with the penalty where it was needed."""
    z, y, weight = sample
    theta, ridge = parameters(fit(z, y, weight))
    _, gradient = objective(theta, z, y, weight, ridge)
    size = np.sqrt(np.average(z**2, axis=0, weights=weight))
    assert (np.abs(gradient) <= 1e-8 * np.concatenate([size, np.ones(len(size))])).all()


@SETTINGS
@given(samples())
def test_objective_is_not_above_that_of_scipy(sample):
    """BFGS from the identity, which ends at a gradient of 1e-7 at best."""
    z, y, weight = sample
    theta, ridge = parameters(fit(z, y, weight))
    start = np.repeat([1.0, 0.0], z.shape[1])
    arguments = (z, y, weight, ridge)
    found = minimize(objective, start, arguments, jac=True, method="BFGS", options={"gtol": 1e-7})
    assert objective(theta, *arguments)[0] <= found.fun + 1e-13 * max(1, found.fun)


@SETTINGS
@given(samples((60, 120)))
def test_parameters_are_those_of_scipy(sample):
    """Within a ten-thousandth of their standard errors, since BFGS stops before the optimum."""
    z, y, weight = sample
    calibrator = fit(z, y, weight)
    theta, ridge = parameters(calibrator)
    assume(ridge == 0)
    start = np.repeat([1.0, 0.0], z.shape[1])
    arguments = (z, y, weight, ridge)
    found = minimize(objective, start, arguments, jac=True, method="BFGS", options={"gtol": 1e-9})
    stderr = np.concatenate([calibrator.weights_stderr_, calibrator.biases_stderr_])
    assert (np.abs(theta - found.x) <= 1e-4 * stderr).all()


@SETTINGS
@given(samples(), st.randoms(use_true_random=False))
def test_permuted_classes_permute_the_fit(sample, random):
    z, y, weight = sample
    order = random.sample(range(z.shape[1]), z.shape[1])
    permuted = fit(z[:, order], np.argsort(order)[y], weight)
    ours = fit(z, y, weight)
    probs = permuted.predict_proba(z[:, order])
    np.testing.assert_allclose(probs, ours.predict_proba(z)[:, order], atol=1e-8)
    determined = ours.weights_stderr_ is not None
    assert (permuted.weights_stderr_ is not None) == determined
    if determined:
        np.testing.assert_allclose(permuted.weights_, ours.weights_[order], rtol=1e-6, atol=1e-8)
