"""AdaBoost with class probabilities (SAMME.R), which scikit-learn had until version 1.6."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

Floats = NDArray[np.float64]


class RealAdaBoost(ClassifierMixin, BaseEstimator):
    """SAMME.R of Zhu et al. (2009) with trees of one split, as Wenger et al. (2020) used it.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    random_state : int
        Seed of the trees, which decides between equal splits.
    """

    def __init__(self, n_estimators: int = 100, random_state: int = 0) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Floats, y: NDArray[np.int64]) -> RealAdaBoost:
        """Fit the trees in turn to weights that grow where the last ones were wrong."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        self.classes_, codes = np.unique(y, return_inverse=True)
        m = len(self.classes_)
        coding = np.where(np.eye(m)[codes] > 0, 1.0, -1 / (m - 1))
        weight = np.full(len(y), 1 / len(y))
        self.trees_ = []
        for step in range(self.n_estimators):
            tree = DecisionTreeClassifier(max_depth=1, random_state=self.random_state + step)
            tree.fit(X, codes, sample_weight=weight)
            self.trees_.append(tree)
            logs = _logs(tree, X)
            weight *= np.exp(-(m - 1) / m * (coding * logs).sum(axis=1))
            weight /= weight.sum()
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Softmax of the mean of the trees' centred log probabilities."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        mean = sum(_logs(tree, X) for tree in self.trees_) / len(self.trees_)
        scores = np.exp(mean - mean.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)


def _logs(tree: DecisionTreeClassifier, X: Floats) -> Floats:
    return np.log(np.maximum(tree.predict_proba(X), np.finfo(float).eps))
