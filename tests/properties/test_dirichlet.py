"""Dirichlet calibration minimises its objective, and knows no order of classes or rows."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from caltest.calibrators import DirichletCalibrator, TemperatureScaling
from caltest.calibrators.linear.linear_maps import generative_to_linear, linear_to_generative

FEW = settings.get_profile("few")


@st.composite
def calibration_sets(draw, sizes=(2, 3, 10)):
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


def objective(theta, X, y, weight, quadratic):
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
@given(calibration_sets(), st.sampled_from(["odir", "l2"]), penalties, penalties)
def test_fit_is_the_minimum_that_scipy_finds(data, reg, lam, mu):
    """The same objective by BFGS, and a gradient below 1e-8 of that of the identity map."""
    probs, y, weight = data
    fitted = DirichletCalibrator(reg=reg, lam=lam, mu=mu).fit(probs, y, sample_weight=weight)
    X = np.column_stack([np.log(probs), np.ones(len(y))])
    args = X, y, weight, penalty_of_the_paper(X.shape[1] - 1, reg, lam, mu)
    start = np.eye(X.shape[1] - 1, X.shape[1]).ravel()
    peer = minimize(objective, start, args, "L-BFGS-B", jac=True, options={"maxiter": 300})
    value, gradient = objective(np.column_stack(fitted.linear_), *args)
    assert value <= peer.fun + 1e-12
    assert value == pytest.approx(peer.fun, abs=1e-4)
    assert np.linalg.norm(gradient) < 1e-8 * np.linalg.norm(objective(start, *args)[1])
    assert fitted.gradient_norm_ == pytest.approx(np.linalg.norm(gradient), abs=1e-12)


@FEW
@given(calibration_sets(), st.randoms(use_true_random=False), penalties)
def test_permuting_classes_permutes_the_fit(data, random, lam):
    """Columns of probs and codes of labels permuted together."""
    probs, y, _ = data
    order = np.array(random.sample(range(probs.shape[1]), probs.shape[1]))
    fitted = DirichletCalibrator(lam=lam).fit(probs, y)
    permuted = DirichletCalibrator(lam=lam).fit(probs[:, order], np.argsort(order)[y])
    W, b = fitted.linear_
    assert permuted.linear_[0] == pytest.approx(W[np.ix_(order, order)], abs=1e-6)
    assert permuted.linear_[1] == pytest.approx(b[order], abs=1e-6)


@FEW
@given(calibration_sets())
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
@given(calibration_sets(sizes=(2,)))
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
@given(calibration_sets(sizes=(3,)), st.lists(penalties, min_size=2, max_size=4))
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
@given(calibration_sets(), penalties)
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
