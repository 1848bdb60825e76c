"""Two classifiers as scikit-learn 0.21 had them, which the papers of 2019 and 2020 used.

AdaBoost was SAMME.R by default (Kull et al. 2019, Wenger et al. 2020), and later versions have only
SAMME. Quadratic discriminant analysis (Kull et al. 2019) went on where a class has fewer
observations than there are features, and later versions do not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax, xlogy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

Floats = NDArray[np.float64]
EPS = np.finfo(float).eps


class AdaBoostSammeR(ClassifierMixin, BaseEstimator):
    r"""Boosted stumps whose votes are their log probabilities.

    With :math:`p_t(x)` the class probabilities of stump t, the predictions are the softmax of

    .. math:: \frac{1}{T} \sum_t \Big(\ln p_t(x) - \frac{1}{m} \sum_k \ln p_{tk}(x)\Big).

    Parameters
    ----------
    n_estimators : int, default 200
        Number of stumps T.
    random_state : int, optional
        Seed of the stumps.

    References
    ----------
    Zhu et al. (2009), Multi-class AdaBoost, Statistics and its interface 2, algorithm 4.
    """

    def __init__(self, *, n_estimators: int = 200, random_state: int | None = None) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X: Floats, y: NDArray[np.int64]) -> AdaBoostSammeR:
        """Fit the stumps one after the other."""
        rng = np.random.RandomState(self.random_state)
        self.classes_ = np.unique(y)
        m = self.classes_.size
        coding = np.where(self.classes_ == y[:, None], 1.0, -1 / (m - 1))
        weight = np.full(len(y), 1 / len(y))
        self.estimators_: list[DecisionTreeClassifier] = []
        for _ in range(self.n_estimators):
            stump = DecisionTreeClassifier(max_depth=1, random_state=rng.randint(2**31 - 1))
            self.estimators_.append(stump.fit(X, y, sample_weight=weight))
            probs = np.clip(stump.predict_proba(X), EPS, None)
            wrong = self.classes_[probs.argmax(axis=1)] != y
            if weight[wrong].sum() <= 0:
                break
            vote = -(m - 1) / m * xlogy(coding, probs).sum(axis=1)
            weight = weight * np.exp(np.where((weight > 0) | (vote < 0), vote, 0.0))
            weight /= weight.sum()
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of the classes, (n, m)."""
        total = np.zeros((len(X), self.classes_.size))
        for stump in self.estimators_:
            logs = np.log(np.clip(stump.predict_proba(X), EPS, None))
            total += logs - logs.mean(axis=1, keepdims=True)
        return softmax(total / len(self.estimators_), axis=1)

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Classes with the largest probability."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class RegularizedQDA(ClassifierMixin, BaseEstimator):
    """Normal distribution of each class, with its covariance shrunk to the identity.

    The variances along the principal axes of a class are (1 - reg_param) of those seen, plus
    reg_param. A class of fewer observations than features has as many axes as observations.

    Parameters
    ----------
    reg_param : float, default 0.1
        Share of the identity, in [0, 1].
    """

    def __init__(self, *, reg_param: float = 0.1) -> None:
        self.reg_param = reg_param

    def fit(self, X: Floats, y: NDArray[np.int64]) -> RegularizedQDA:
        """Find mean, axes and variances of each class."""
        self.classes_, counts = np.unique(y, return_counts=True)
        self.priors_ = counts / counts.sum()
        self.normals_: list[tuple[Floats, Floats, Floats]] = []
        for k, count in zip(self.classes_, counts, strict=True):
            own = X[y == k]
            mean = own.mean(axis=0)
            _, lengths, axes = np.linalg.svd(own - mean, full_matrices=False)
            variance = (1 - self.reg_param) * lengths**2 / (count - 1) + self.reg_param
            self.normals_.append((mean, axes.T, variance))
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of the classes, (n, m)."""
        logs = [
            -0.5 * (np.square((X - mean) @ axes) / variance + np.log(variance)).sum(axis=1)
            for mean, axes, variance in self.normals_
        ]
        return softmax(np.column_stack(logs) + np.log(self.priors_), axis=1)

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Classes with the largest probability."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
