"""Platt scaling of several classes."""

from __future__ import annotations

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.svm import LinearSVC

from caltest.classifiers.platt import fit_sigmoids, normalised

X, Y = make_blobs(300, centers=3, cluster_std=4, random_state=0)


def test_sigmoids_are_those_of_scikit_learn():
    """Of three classes, one vs rest, divided by the sum."""
    svm = LinearSVC(random_state=0).fit(X[:100], Y[:100])
    peer = CalibratedClassifierCV(FrozenEstimator(svm), method="sigmoid", ensemble=False)
    peer.fit(X[100:], Y[100:])
    found = fit_sigmoids(svm.decision_function(X[100:]), Y[100:])(svm.decision_function(X))
    np.testing.assert_allclose(found, peer.predict_proba(X), atol=1e-4)


def test_two_classes_have_one_sigmoid():
    """Of the score of the second."""
    scores = np.column_stack([np.zeros(300), X[:, 0]])
    found = fit_sigmoids(scores, (Y > 0).astype(np.int64))
    assert found.slopes.shape == (1,)
    np.testing.assert_allclose(found(scores).sum(axis=1), 1)


def test_rows_of_zeros_become_equal_shares():
    """Nothing speaks for any class."""
    found = normalised(np.array([[0.0, 0.0], [1.0, 3.0]]))
    np.testing.assert_array_equal(found, [[0.5, 0.5], [0.25, 0.75]])
