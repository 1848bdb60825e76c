from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from caltest.numerics.logistic import (
    BLOCK,
    FEWEST,
    STRIDES,
    any_between,
    class_ranges,
    exp_minus,
    fit_logistic,
    mean_loss,
    newton_sums,
    penalised_loss,
    standardize,
    target_sums,
    weighted_product,
)


def problem(n, k=2, seed=0):
    """Features, labels, weights that sum to 1, and coefficients of moderate size."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(k, n)), np.ones(n)])
    beta = rng.normal(size=k + 1)
    t = (rng.random(n) < expit(beta @ X)).astype(float)
    w = rng.random(n)
    return X, t, w / w.sum(), beta


def gradient(X, t, w, beta):
    """Of the mean loss, as it is written down."""
    return X @ (w * (expit(beta @ X) - t))


@pytest.mark.parametrize("n", [1, 7, BLOCK, 2 * BLOCK + 3])
def test_newton_sums_are_those_of_the_formula(n):
    """Whole blocks and a rest."""
    X, _, w, beta = problem(n)
    p = expit(beta @ X)
    first, second = newton_sums(X, w, beta)
    assert first == pytest.approx(X @ (w * p), rel=1e-13)
    assert second == pytest.approx((X * (w * p * (1 - p))) @ X.T, rel=1e-13)


@pytest.mark.parametrize("eta", [-1e300, -710.0, 0.0, 36.0, 1e300])
def test_newton_sums_of_far_log_odds_are_finite(eta):
    """Neither overflow nor NaN."""
    first, second = newton_sums(np.ones((1, 1)), np.ones(1), np.array([eta]))
    assert first[0] == pytest.approx(expit(eta), rel=1e-15, abs=1e-300)
    assert 0 <= second[0, 0] <= 0.25


def test_exp_minus_is_exact_to_rounding():
    """Within 4e-16 of the library's, up to the smallest normal number."""
    x = np.concatenate([np.linspace(0, 2, 2001), np.linspace(0, 708, 2001)])
    assert np.array([exp_minus(value) for value in x]) == pytest.approx(np.exp(-x), rel=4e-16)
    assert exp_minus(np.inf) == exp_minus(708.0)


def test_mean_loss_is_that_of_the_formula():
    """Targets between 0 and 1 too."""
    X, t, w, beta = problem(BLOCK + 5)
    t = 0.1 + 0.8 * t
    eta = beta @ X
    assert mean_loss(X, t, w, beta) == pytest.approx(w @ (np.logaddexp(0, eta) - t * eta))


def test_mean_loss_of_far_right_predictions_is_zero_without_overflow():
    """The loss of a sure and right prediction underflows."""
    X, ones = np.array([[1.0, -1.0]]), np.array([0.5, 0.5])
    assert mean_loss(X, np.array([1.0, 0.0]), ones, np.array([1e5])) == 0
    assert mean_loss(X, np.array([0.0, 1.0]), ones, np.array([1e5])) == 1e5


@pytest.mark.parametrize("n", [50, FEWEST * STRIDES[-1] + 1, FEWEST * STRIDES[0] + 1])
def test_fit_ends_where_the_gradient_is_zero(n):
    """Whether it starts from all rows, every 8th or every 64th."""
    X, t, w, _ = problem(n)
    beta, hessian = fit_logistic(X, t, w, np.zeros(3))
    assert np.abs(gradient(X, t, w, beta)).max() < 1e-14
    assert hessian == pytest.approx(newton_sums(X, w, beta)[1], rel=1e-6)


def test_fit_with_a_ridge_ends_where_its_gradient_is_zero():
    """Separable data, where the plain loss has no minimum."""
    X = np.array([[-2.0, -1, 1, 2], [1, 1, 1, 1]])
    t, w, ridge = np.array([0.0, 0, 1, 1]), np.full(4, 0.25), np.array([1e-8, 0])
    beta, _ = fit_logistic(X, t, w, ridge)
    assert np.abs(gradient(X, t, w, beta) + ridge * beta).max() < 1e-15
    assert penalised_loss(X, t, w, ridge, beta) < penalised_loss(X, t, w, ridge, 0.9 * beta)


def test_fit_shortens_steps_that_lead_too_far():
    """One row far out, on which the first Newton steps overshoot."""
    X = np.vstack([np.append(np.linspace(-1, 1, 40), 300.0), np.ones(41)])
    t = np.append(np.arange(40) % 3 == 0, False).astype(float)
    w = np.full(41, 1 / 41)
    beta, _ = fit_logistic(X, t, w, np.zeros(2))
    assert np.abs(gradient(X, t, w, beta)).max() < 1e-14


@pytest.mark.parametrize("centred", [True, False])
def test_standardize_divides_by_the_standard_deviation(centred):
    """Or, without centre, by the root mean square."""
    X, _, w, _ = problem(BLOCK + 9)
    features = 3 + 2 * X[:2]
    out = np.ones((3, features.shape[1]))
    mean, scale = standardize(features, w, out, centred)
    assert mean == pytest.approx(features @ w if centred else [0, 0])
    assert out[:2] == pytest.approx((features - mean[:, None]) / scale[:, None])
    assert (out[:2] ** 2) @ w == pytest.approx([1, 1])


def test_standardize_leaves_a_constant_feature_at_zero():
    """Its scale is 0, and nothing is divided by it."""
    out = np.ones((1, 3))
    _, scale = standardize(np.full((1, 3), 0.5), np.array([0.25, 0.5, 0.25]), out, centred=True)
    assert scale[0] == 0
    assert (out == 0).all()


def test_target_sums_and_products_are_those_of_the_formula():
    """Whole blocks and a rest."""
    X, t, w, _ = problem(BLOCK + 9)
    linear, largest = target_sums(X, t, w)
    assert linear == pytest.approx(X @ (w * t), rel=1e-13)
    assert (largest == np.abs(X).max(axis=1)).all()
    assert weighted_product(X[0], X[1], w) == pytest.approx((X[0] * w) @ X[1], rel=1e-13)


def test_class_ranges_tell_the_scores_without_and_with_the_event():
    """A class without rows has an empty range."""
    score, event = np.array([0.3, 0.1, 0.7]), np.array([True, False, True])
    assert class_ranges(score, event).tolist() == [[0.1, 0.1], [0.3, 0.7]]
    assert class_ranges(score, event | True)[0].tolist() == [np.inf, -np.inf]


def test_any_between_leaves_out_the_bounds():
    """Only rows with that label count."""
    score, event = np.array([0.1, 0.2, 0.3]), np.array([True, False, True])
    assert any_between(score, event, which=False, low=0.1, high=0.3)
    assert not any_between(score, event, which=True, low=0.1, high=0.3)
