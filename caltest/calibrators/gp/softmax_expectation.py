r"""Expectations of log softmax over normal latent variables, with their derivatives.

Wenger et al. (2020), equation 7: with :math:`f \sim N(\phi, C)` and :math:`\sigma` the softmax of
:math:`\phi`, the Taylor expansion of the second order about the mean is

.. math:: E \log softmax_y(f) \approx \log \sigma_y
    + \frac12 (\sigma^T C \sigma - diag(C)^T \sigma).

It takes C as two arrays, its diagonal and the product C sigma, and so serves one latent function
for all classes as well as one for each (C diagonal).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@njit()
def softmax_rows(mean: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """Return the softmax of each row, (n, K), and the logarithm of its entry y, (n,)."""
    n, K = mean.shape
    sigma, log_prob = np.empty((n, K)), np.empty(n)
    for i in range(n):
        top = mean[i].max()
        total = 0.0
        for k in range(K):
            sigma[i, k] = np.exp(mean[i, k] - top)
            total += sigma[i, k]
        for k in range(K):
            sigma[i, k] /= total
        log_prob[i] = mean[i, codes[i]] - top - np.log(total)
    return sigma, log_prob


@njit()
def taylor(
    sigma: Floats, log_prob: Floats, product: Floats, variance: Floats, codes: Codes, weight: Floats
) -> tuple[float, Floats]:
    """Return the weighted sum of equation 7 over rows and its derivative by the means, (n, K).

    The derivative by the entries of C, seen as one matrix per row, is w (sigma sigma' -
    diag(sigma)) / 2.

    Parameters
    ----------
    sigma : (n, K) array
        Softmax of the means.
    log_prob : (n,) array
        Logarithm of entry y of sigma.
    product : (n, K) array
        C sigma; for a diagonal C, `variance * sigma`.
    variance : (n, K) array
        The diagonal of C.
    codes : (n,) array
        y.
    weight : (n,) array
        w.
    """
    n, K = sigma.shape
    value = 0.0
    by_mean = np.empty((n, K))
    for i in range(n):
        second = pull = 0.0
        for k in range(K):
            second += sigma[i, k] * (product[i, k] - variance[i, k])
            pull += sigma[i, k] * (product[i, k] - 0.5 * variance[i, k])
        value += weight[i] * (log_prob[i] + 0.5 * second)
        for k in range(K):
            r = product[i, k] - 0.5 * variance[i, k] - pull - 1
            by_mean[i, k] = weight[i] * sigma[i, k] * r
        by_mean[i, codes[i]] += weight[i]
    return value, by_mean


@njit()
def subtract_largest(draws: Floats) -> None:
    """Subtract, in each row and draw of (n, K, S), the largest over classes."""
    n, K, S = draws.shape
    top = np.empty(S)
    for i in range(n):
        top[:] = -np.inf
        for k in range(K):
            for s in range(S):
                top[s] = max(top[s], draws[i, k, s])
        for k in range(K):
            for s in range(S):
                draws[i, k, s] -= top[s]


@njit()
def monte_carlo(draws: Floats, codes: Codes, weight: Floats) -> float:
    """Return the weighted sum over rows of the mean of log softmax_y over draws, (n, K, S).

    The draws are overwritten by the derivatives by them.
    """
    n, K, S = draws.shape
    subtract_largest(draws)
    value, total = 0.0, np.empty(S)
    for i in range(n):
        part = weight[i] / S
        value += part * draws[i, codes[i]].sum()
        total[:] = 0.0
        for k in range(K):
            for s in range(S):
                draws[i, k, s] = np.exp(draws[i, k, s])
                total[s] += draws[i, k, s]
        value -= part * np.log(total).sum()
        for k in range(K):
            draws[i, k] *= -part / total
        draws[i, codes[i]] += part
    return value


@njit(fastmath={"contract", "nsz", "reassoc"})
def mean_shares(values: Floats, out: Floats) -> None:
    """Write the mean over draws of each class's share of the sum, from (n, K, S) to (n, K)."""
    n, K, S = values.shape
    total = np.empty(S)
    for i in range(n):
        total[:] = 0.0
        for k in range(K):
            for s in range(S):
                total[s] += values[i, k, s]
        for s in range(S):
            total[s] = 1 / (S * total[s])
        for k in range(K):
            share = 0.0
            for s in range(S):
                share += values[i, k, s] * total[s]
            out[i, k] = share
