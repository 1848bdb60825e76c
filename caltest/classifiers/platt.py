"""Platt scaling of the scores of K one-vs-rest classifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from caltest.numerics.logistic import fit_logistic

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sigmoids:
    """One sigmoid for each class or, of two classes, for the second.

    Attributes
    ----------
    slopes, intercepts : (K,) or (1,) array
        Of P(class) = expit(slope score + intercept), before rows are divided by their sums.
    """

    slopes: Floats
    intercepts: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Return probabilities, (..., K), of scores, (..., K)."""
        if len(self.slopes) == 1:
            event = expit(self.slopes[0] * scores[..., 1] + self.intercepts[0])
            return np.stack([1 - event, event], axis=-1)
        return normalised(expit(self.slopes * scores + self.intercepts))


def fit_sigmoids(scores: Floats, codes: NDArray[np.int64]) -> Sigmoids:
    """Fit them to scores, (n, K), of rows that the classifier was not fitted on."""
    K = scores.shape[1]
    classes = [1] if K == 2 else list(range(K))
    fits = [fit_sigmoid(scores[:, k], codes == k) for k in classes]
    slopes, intercepts = np.array(fits).T
    return Sigmoids(slopes, intercepts)


def fit_sigmoid(scores: Floats, event: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and intercept of P(event) = expit(slope score + intercept).

    The targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2), so that the fit is finite where the
    scores separate the labels (Platt 1999, section 2.2). The slope of constant scores is 0.

    Parameters
    ----------
    scores : (n,) array
        Any real numbers.
    event : (n,) array of bool
        Labels.
    """
    n, positive = len(event), event.sum()
    targets = np.where(event, (positive + 1) / (positive + 2), 1 / (n - positive + 2))
    centre, spread = scores.mean(), scores.std()
    z = (scores - centre) / spread if spread > 0 else np.zeros(n)
    design = np.stack([z, np.ones(n)])
    beta, _ = fit_logistic(design, targets, np.full(n, 1 / n), np.zeros(2))
    slope = float(beta[0] / spread) if spread > 0 else 0.0
    return slope, float(beta[1] - slope * centre)


def normalised(shares: Floats) -> Floats:
    """Divide by the sums over the last axis; where all are 0, the classes are equally probable."""
    total = shares.sum(axis=-1, keepdims=True)
    out: Floats = np.full_like(shares, 1 / shares.shape[-1])
    np.divide(shares, total, out=out, where=total > 0)
    return out
