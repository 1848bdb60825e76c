"""Maps that are linear in logits are minima of convex losses; no order has a part in them."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp, softmax

from caltest import DegenerateDataWarning
from caltest.calibrators import (
    DirichletCalibrator,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from caltest.calibrators.linear.linear_maps import generative_to_linear, linear_to_generative
from caltest.calibrators.linear.scaling import RIDGE
from caltest.numerics.softmax import inverse_temperature

# ---- temperature ---------------------------------------------------------------------------------

SETTINGS = settings.get_profile("some")


@st.composite
def samples(draw, rows=(1, 60)):
    """Logits of some scale with ties, labels from a model of some temperature, and weights."""
    m = draw(st.sampled_from([2, 3, 10]))
    n = draw(st.integers(*rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    z = rng.normal(0, draw(st.sampled_from([0.1, 1.0, 10.0])), (n, m))
    z = z.round() if draw(st.booleans()) else z
    probs = softmax(z * draw(st.sampled_from([0.0, 0.3, 1.0])), axis=1)
    y = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, m - 1)
    return z, y, rng.integers(1, 4, n)


def fit(z, y, weight=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DegenerateDataWarning)
        calibrator = TemperatureScaling(from_logits=True, classes=np.arange(z.shape[1]))
        calibrator.fit(z, y, sample_weight=weight)
    assume(calibrator.temperature_stderr_ is not None)
    assert not [w for w in caught if "every label" not in str(w.message)]
    return calibrator


@SETTINGS
@given(samples())
def test_slope_vanishes_at_the_optimum(sample):
    """Its terms cancel up to rounding errors."""
    z, y, weight = sample
    beta = 1 / fit(z, y, weight).temperature_
    centred = z - z.max(axis=1, keepdims=True)
    means = (softmax(beta * centred, axis=1) * centred).sum(axis=1)
    terms = weight * (means - centred[np.arange(len(y)), y])
    assert abs(terms.sum()) <= 1e-11 * (weight @ np.abs(centred).max(axis=1))


@SETTINGS
@given(samples(), st.floats(-8, 8))
def test_any_start_gives_the_same_temperature(sample, log_start):
    z, y, weight = sample
    beta = 1 / fit(z, y, weight).temperature_
    start = 10.0**log_start
    found, _ = inverse_temperature(z, y, weight.astype(float), (1e-6, 1e6), start)
    assert found == pytest.approx(beta, rel=1e-11)


# ---- vector --------------------------------------------------------------------------------------


def fit_of_vector(z, y, weight=None):
    """Fit whatever the data determine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        calibrator = VectorScaling(from_logits=True, classes=np.arange(z.shape[1]))
        return calibrator.fit(z, y, sample_weight=weight)


def gradient_of_vector(theta, z, y, weight, ridge):
    """Return the gradient of the weighted mean log loss plus the penalty."""
    m, rows = z.shape[1], np.arange(len(y))
    share = weight / weight.sum()
    residuals = softmax(theta[:m] * z + theta[m:], axis=1)
    residuals[rows, y] -= 1
    residuals *= share[:, np.newaxis]
    away = theta - np.repeat([1.0, 0.0], m)
    gradient = np.concatenate([(residuals * z).sum(axis=0), residuals.sum(axis=0)])
    return gradient + ridge * away


def parameters(calibrator):
    """Return theta, and the strength of the penalty that was needed."""
    ridge = RIDGE if calibrator.weights_stderr_ is None else 0.0
    return np.concatenate([calibrator.weights_, calibrator.biases_]), ridge


@SETTINGS
@given(samples((1, 120)))
def test_gradient_vanishes_at_the_optimum(sample):
    """Below 1e-8 of the size of the logits, with the penalty where it was needed."""
    z, y, weight = sample
    theta, ridge = parameters(fit_of_vector(z, y, weight))
    gradient = gradient_of_vector(theta, z, y, weight, ridge)
    size = np.sqrt(np.average(z**2, axis=0, weights=weight))
    assert (np.abs(gradient) <= 1e-8 * np.concatenate([size, np.ones(len(size))])).all()


# ---- matrix --------------------------------------------------------------------------------------

FEW = settings.get_profile("few")


@st.composite
def calibration_sets(draw):
    """Logits that are no log probabilities, with labels."""
    m = draw(st.sampled_from([2, 3, 10]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logits = 1 + 2 * rng.normal(size=(30 * m, m))
    return logits, (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)


def with_every_class(logits, y):
    m = logits.shape[1]
    return np.vstack([logits, np.zeros((m, m))]), np.append(y, np.arange(m))


@FEW
@given(calibration_sets())
def test_probabilities_are_mapped_as_by_dirichlet_calibration(data):
    logits, y = with_every_class(*data)
    probs = softmax(logits, axis=1)
    expected = DirichletCalibrator().fit(probs, y).predict_proba(probs)
    assert (MatrixScaling().fit(probs, y).predict_proba(probs) == expected).all()


@FEW
@given(calibration_sets(), st.sampled_from(["odir", "l2"]))
def test_gradient_vanishes_at_the_fit(data, reg):
    """Of the mean log loss and the penalty, written out, relative to that of the softmax."""
    logits, y = with_every_class(*data)
    n, m = logits.shape
    fitted = MatrixScaling(reg=reg, lam=0.3, mu=0.2, from_logits=True).fit(logits, y)
    X = np.column_stack([logits, np.ones(n)])
    off = np.ones((m, m)) if reg == "l2" else (1 - np.eye(m)) / (m * (m - 1))
    penalty = 2 * np.column_stack([0.3 * off, np.full(m, 0.2 if reg == "l2" else 0.2 / m)])
    norms = []
    for theta in (np.eye(m, m + 1), np.column_stack(fitted.linear_)):
        residual = softmax(X @ theta.T, axis=1) - np.eye(m)[y]
        norms.append(np.linalg.norm(residual.T @ X / n + penalty * theta))
    assert norms[1] < 1e-8 * norms[0]


@FEW
@given(calibration_sets(), st.floats(0.01, 100))
def test_unit_of_the_logits_does_not_matter_without_penalty(data, unit):
    """Logits in other units, with the weights in the inverse ones."""
    logits, y = with_every_class(*data)
    plain = MatrixScaling(lam=0, from_logits=True).fit(logits, y)
    scaled = MatrixScaling(lam=0, from_logits=True).fit(unit * logits, y)
    expected = plain.predict_proba(logits)
    assert scaled.predict_proba(unit * logits) == pytest.approx(expected, abs=1e-5)


@FEW
@given(calibration_sets())
def test_constant_in_a_row_of_logits_matters(data):
    """Unlike in Dirichlet calibration, which sees probabilities only."""
    logits, y = with_every_class(*data)
    fitted = DirichletCalibrator(from_logits=True).fit(logits, y)
    expected = fitted.predict_proba(logits)
    assert fitted.predict_proba(logits + 5) == pytest.approx(expected, abs=1e-12)
    shifted = log_softmax(logits, axis=1)
    assert fitted.predict_proba(shifted) == pytest.approx(expected, abs=1e-12)


# ---- dirichlet -----------------------------------------------------------------------------------


@st.composite
def calibration_sets_of_dirichlet(draw, sizes=(2, 3, 10)):
    """Overconfident predictions with labels of every class, and integer weights."""
    m = draw(st.sampled_from(sizes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = 30 * m
    logits = draw(st.sampled_from([0.5, 2.0])) * rng.normal(size=(n, m))
    y = (logits / 2 + rng.gumbel(size=(n, m))).argmax(axis=1)
    y[:m] = np.arange(m)
    probs = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    return probs, y, rng.integers(1, 4, size=n)


penalties = st.sampled_from([0.01, 0.1, 1.0, 10.0])


def objective_of_dirichlet(theta, X, y, weight, quadratic):
    """Plain log loss and penalty with their gradient, for scipy."""
    theta = theta.reshape(-1, X.shape[1])
    z = X @ theta.T
    log_probs = z - logsumexp(z, axis=1, keepdims=True)
    share = weight / weight.sum()
    residual = share[:, None] * (np.exp(log_probs) - np.eye(len(theta))[y])
    value = -share @ log_probs[np.arange(len(y)), y] + np.sum(quadratic * theta**2)
    return value, (residual.T @ X + 2 * quadratic * theta).ravel()


def penalty_of_the_paper(m, reg, lam, mu):
    """Factors of the squared weights, written out."""
    quadratic = np.empty((m, m + 1))
    for i in range(m):
        for j in range(m):
            off = 0.0 if i == j else lam / (m * (m - 1))
            quadratic[i, j] = off if reg == "odir" else lam
        quadratic[i, m] = mu / m if reg == "odir" else mu
    return quadratic


@FEW
@given(calibration_sets_of_dirichlet(), st.sampled_from(["odir", "l2"]), penalties, penalties)
def test_fit_is_the_minimum_that_scipy_finds(data, reg, lam, mu):
    """The same objective by BFGS, and a gradient below 1e-8 of that of the identity map."""
    probs, y, weight = data
    fitted = DirichletCalibrator(reg=reg, lam=lam, mu=mu).fit(probs, y, sample_weight=weight)
    X = np.column_stack([np.log(probs), np.ones(len(y))])
    args = X, y, weight, penalty_of_the_paper(X.shape[1] - 1, reg, lam, mu)
    start = np.eye(X.shape[1] - 1, X.shape[1]).ravel()
    peer = minimize(
        objective_of_dirichlet, start, args, "L-BFGS-B", jac=True, options={"maxiter": 300}
    )
    value, gradient = objective_of_dirichlet(np.column_stack(fitted.linear_), *args)
    assert value <= peer.fun + 1e-12
    assert value == pytest.approx(peer.fun, abs=1e-4)
    assert np.linalg.norm(gradient) < 1e-8 * np.linalg.norm(objective_of_dirichlet(start, *args)[1])
    assert fitted.gradient_norm_ == pytest.approx(np.linalg.norm(gradient), abs=1e-12)


@FEW
@given(calibration_sets_of_dirichlet())
def test_temperature_scaling_lies_in_the_family(data):
    """Proposition 1: W = I / T, b = 0; with those constraints it is the temperature."""
    probs, y, _ = data
    log_probs = np.log(probs)
    assume(log_probs[np.arange(len(y)), y].mean() > log_probs.mean() + 0.05)  # T is finite
    options = {"diagonal": "common", "off_diagonal": "zero", "intercept": False, "lam": 0}
    fitted = DirichletCalibrator(**options).fit(probs, y)
    temperature = TemperatureScaling().fit(probs, y).temperature_
    weights, b = fitted.linear_
    assert weights == pytest.approx(np.eye(len(b)) / temperature, rel=1e-6)
    assert not b.any()


@FEW
@given(calibration_sets_of_dirichlet(sizes=(2,)))
def test_two_classes_are_beta_calibration(data):
    """A logistic regression on ln p and -ln(1 - p), without constraints, by scipy."""
    probs, y, weight = data
    fitted = DirichletCalibrator(lam=0).fit(probs, y, sample_weight=weight)
    X = np.column_stack([np.log(probs[:, 1]), -np.log(probs[:, 0]), np.ones(len(y))])

    def loss(beta):
        residual = expit(X @ beta) - y
        value = np.average(np.logaddexp(0, (1 - 2 * y) * (X @ beta)), weights=weight)
        return value, (weight * residual) @ X / weight.sum()

    peer = minimize(loss, [1, 1, 0], jac=True, method="BFGS", options={"gtol": 1e-9}).x
    assert fitted.predict_proba(probs)[:, 1] == pytest.approx(expit(X @ peer), abs=1e-5)
    W, b = fitted.linear_
    beta = np.array([W[1, 1] - W[0, 1], W[0, 0] - W[1, 0], b[1] - b[0]])
    assert beta == pytest.approx(peer, abs=1e-3 * np.abs(peer).max())


@FEW
@given(calibration_sets_of_dirichlet(sizes=(3,)), st.lists(penalties, min_size=2, max_size=4))
def test_path_is_that_of_cold_fits(data, lams):
    """Each fit of a path starts from another; results keep the order of the grid."""
    probs, y, _ = data
    cold = [DirichletCalibrator(lam=lam).fit(probs, y) for lam in lams]
    grid = [{"lam": lam} for lam in lams]
    path = DirichletCalibrator()._fit_path(cold[0]._calibration_set, grid)
    for warm, fitted in zip(path, cold, strict=True):
        assert warm.lam == warm.lam_ == fitted.lam_
        assert np.column_stack(warm.linear_) == pytest.approx(
            np.column_stack(fitted.linear_), abs=1e-6
        )


@FEW
@given(calibration_sets_of_dirichlet(), penalties)
def test_generative_form_is_that_of_the_linear_form(data, lam):
    """Theorem 1, on fitted maps: there and back."""
    probs, y, _ = data
    fitted = DirichletCalibrator(lam=lam).fit(probs, y)
    alpha, pi = fitted.generative_
    again = linear_to_generative(*generative_to_linear(alpha, pi))
    assert alpha.min() == 1
    assert again[0] == pytest.approx(alpha, abs=1e-9)
    assert again[1] == pytest.approx(pi, abs=1e-9)
    assert fitted.canonical_[0] == pytest.approx(alpha - 1, abs=1e-12)
