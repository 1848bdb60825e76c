r"""Expectations of log-likelihoods of labels under independent normal latent variables.

Two classes have one latent function and the logistic likelihood: Gauss-Hermite quadrature. More
classes have one each and the softmax: the mean over fixed, antithetic quasi-random points. Both
are smooth functions of means and variances, and the derivatives are theirs, not estimates.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from caltest.classifiers.softmax_normal import normal_samples

Floats = NDArray[np.float64]


Codes = NDArray[np.int64]


SMALLEST = 1e-12  # variance; below it differences of log-likelihoods are rounding errors


def hermite(size: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of the mean over a standard normal variable."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(size)
    return nodes, weights / weights.sum()


def antithetic(size: int, K: int) -> Floats:
    """Return at least `size` points of K standard normal variables, with their negatives."""
    half = normal_samples((size + 1) // 2, K, np.random.default_rng(0))
    return np.concatenate([half, -half])


@numba.njit(nogil=True, cache=True)
def bernoulli(
    mean: Floats, variance: Floats, codes: Codes, nodes: Floats, weights: Floats
) -> tuple[float, Floats, Floats]:
    """Return the sum over rows of E log expit(+-f), and its derivatives by mean and variance.

    Parameters
    ----------
    mean, variance : (1, n) array
        Of the latent variable.
    codes : (n,) array
        0 or 1; f speaks for 1.
    nodes, weights : (S,) array
        From `hermite`.
    """
    n = mean.shape[1]
    by_mean, by_variance = np.zeros((1, n)), np.zeros((1, n))
    value = 0.0
    for i in range(n):
        sign = 2.0 * codes[i] - 1.0
        deviation = np.sqrt(max(variance[0, i], SMALLEST))
        for s in range(nodes.size):
            f = sign * (mean[0, i] + deviation * nodes[s])
            small = np.exp(-abs(f))
            value += weights[s] * (min(f, 0.0) - np.log1p(small))
            rest = weights[s] * sign * (small if f > 0 else 1.0) / (1.0 + small)
            by_mean[0, i] += rest
            by_variance[0, i] += rest * nodes[s]
        by_variance[0, i] /= 2.0 * deviation
    return value, by_mean, by_variance


@numba.njit(nogil=True, cache=True)
def softmax(
    mean: Floats, variance: Floats, codes: Codes, points: Floats
) -> tuple[float, Floats, Floats]:
    """Return the sum over rows of E log softmax_y(f), and its derivatives by mean and variance.

    Parameters
    ----------
    mean, variance : (K, n) array
        Of the latent variables.
    codes : (n,) array
        y, 0 to K - 1.
    points : (S, K) array
        From `antithetic`.
    """
    (K, n), S = mean.shape, points.shape[0]
    by_mean, by_variance = np.zeros((K, n)), np.zeros((K, n))
    f, value = np.empty(K), 0.0
    for i in range(n):
        y, deviation = codes[i], np.sqrt(np.maximum(variance[:, i], SMALLEST))
        first, second = np.zeros(K), np.zeros(K)
        for s in range(S):
            top = -np.inf
            for k in range(K):
                f[k] = mean[k, i] + deviation[k] * points[s, k]
                top = max(top, f[k])
            value += (f[y] - top) / S
            total = 0.0
            for k in range(K):
                f[k] = np.exp(f[k] - top)
                total += f[k]
            value -= np.log(total) / S
            for k in range(K):
                share = f[k] / total
                first[k] -= share
                second[k] -= share * points[s, k]
        # The mean of the points of class y is 0: they are antithetic.
        first[y] += S
        by_mean[:, i] = first / S
        by_variance[:, i] = second / (2.0 * deviation * S)
    return value, by_mean, by_variance
