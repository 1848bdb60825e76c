"""Platt scaling of several classes."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit, log_ndtr
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.svm import LinearSVC

from caltest.classifiers.base import fit_sigmoid, fit_sigmoids, normalised

X, Y = make_blobs(300, centers=3, cluster_std=4, random_state=0)


def test_sigmoids_are_those_of_scikit_learn():
    """Two classes have one; rows of zeros become equal shares."""
    svm = LinearSVC(random_state=0).fit(X[:100], Y[:100])
    peer = CalibratedClassifierCV(FrozenEstimator(svm), method="sigmoid", ensemble=False)
    peer.fit(X[100:], Y[100:])
    found = fit_sigmoids(svm.decision_function(X[100:]), Y[100:])(svm.decision_function(X))
    np.testing.assert_allclose(found, peer.predict_proba(X), atol=1e-4)
    scores = np.column_stack([np.zeros(300), X[:, 0]])
    found = fit_sigmoids(scores, (Y > 0).astype(np.int64))
    assert found.keywords["slopes"].shape == (1,)
    np.testing.assert_allclose(found(scores).sum(axis=1), 1)
    found = normalised(np.array([[0.0, 0.0], [1.0, 3.0]]))
    np.testing.assert_array_equal(found, [[0.5, 0.5], [0.25, 0.75]])


@pytest.mark.parametrize("event", [np.zeros(9, bool), np.arange(9) < 3, np.ones(9, bool)])
def test_sigmoid_of_constant_scores_is_the_mean_target(event):
    slope, intercept = fit_sigmoid(np.full(9, 4.0), event)
    N, rest = event.sum(), (~event).sum()
    target = (N * (N + 1) / (N + 2) + rest / (rest + 2)) / 9
    assert slope == 0
    assert expit(intercept) == pytest.approx(target, rel=1e-9)


def test_sigmoid_sees_no_order_in_rounding():
    """Scores that differ in their last digits are constant, as after another unit of features."""
    slope, intercept = fit_sigmoid(0.75 + np.array([0.0, 1e-16, 2e-16, 0.0]), np.arange(4) < 1)
    assert (slope, intercept) == fit_sigmoid(np.full(4, 0.75), np.arange(4) < 1)


def test_probit_is_the_best_where_scores_nearly_separate():
    """The gradient of the mean log loss vanishes: steps of Fisher scoring ended far from there."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=1000)
    event = scores + 0.01 * rng.normal(size=1000) > 0
    N, rest = event.sum(), (~event).sum()
    targets = np.where(event, (N + 1) / (N + 2), 1 / (rest + 2))

    def loss(beta):
        eta = beta[0] * scores + beta[1]
        return -np.mean(targets * log_ndtr(eta) + (1 - targets) * log_ndtr(-eta))

    found = np.array(fit_sigmoid(scores, event, probit=True))
    np.testing.assert_allclose(approx_fprime(found, loss), 0, atol=1e-6)
