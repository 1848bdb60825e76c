"""Tails of the binomial distribution in logarithms, and their inverse."""

import math

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_STEPS = 100
HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
# log(k!) minus Stirling's formula.
SMALL = np.array(
    [0.0]
    + [math.lgamma(k + 1.0) - (k + 0.5) * math.log(k) + k - HALF_LOG_2_PI for k in range(1, 16)]
)


@numba.njit(nogil=True, cache=True)
def _stirling_error(k: float) -> float:
    """Return log(k!) minus Stirling's formula."""
    if k < SMALL.size:
        return float(SMALL[int(k)])
    s = 1.0 / (k * k)
    series = 1.0 / 1260.0 - (1.0 / 1680.0 - (1.0 / 1188.0 - 691.0 / 360360.0 * s) * s) * s
    return (1.0 / 12.0 - (1.0 / 360.0 - series * s) * s) / k


@numba.njit(nogil=True, cache=True)
def deviance(k: float, mean: float) -> float:
    """Return k log(k / mean) + mean - k without cancellation; the mean is positive."""
    if abs(k - mean) >= 0.1 * (k + mean):
        return (k * math.log(k / mean) if k > 0 else 0.0) + mean - k
    v = (k - mean) / (k + mean)
    total = (k - mean) * v
    term = 2.0 * k * v
    for j in range(1, 1000):
        term *= v * v
        new = total + term / (2 * j + 1)
        if new == total:
            break
        total = new
    return total


@numba.njit(nogil=True, cache=True)
def log_pmf(k: float, n: float, x: float) -> float:
    """Return log P(K = k) for K ~ Bin(n, x), 0 < x < 1, by Loader's saddle-point expansion."""
    if k == 0:
        return n * math.log1p(-x)
    if k == n:
        return n * math.log(x)
    part = _stirling_error(n) - _stirling_error(k) - _stirling_error(n - k)
    part -= deviance(k, n * x) + deviance(n - k, n * (1.0 - x))
    return part - HALF_LOG_2_PI - 0.5 * (math.log(k) + math.log1p(-k / n))


@numba.njit(nogil=True, cache=True)
def log_upper_tail(k: float, n: float, x: float) -> float:
    """Return log P(K >= k) for K ~ Bin(n, x) and k of at least the mean; -inf where it is 0."""
    if k <= 0 or x >= 1.0:
        return 0.0
    if x <= 0.0:
        return -np.inf
    odds = x / (1.0 - x)
    total = term = 1.0
    i = k
    while i < n and term > 1e-17 * total:
        term *= (n - i) / (i + 1.0) * odds
        total += term
        i += 1.0
    return min(log_pmf(k, n, x) + math.log(total), 0.0)


@numba.njit(nogil=True, cache=True)
def lower_limit(k: float, n: float, log_error: float, start: float) -> float:
    """Return the x with log P(K >= k) = log_error, Clopper's and Pearson's lower limit of k / n.

    `start` is 0 or a point below it. The tail is log-concave in x, as the distribution function of
    a beta law, so Newton's method goes up to the limit and not beyond it.
    """
    # The tail is at most binom(n, k) x^k, so that this is below the limit too.
    choose = math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
    x = max(start, math.exp((log_error - choose) / k))
    for _ in range(MOST_STEPS):
        tail = log_upper_tail(k, n, x)
        step = (log_error - tail) * x / k * math.exp(tail - log_pmf(k, n, x))
        x = min(x + step, 1.0)
        if abs(step) <= 4e-16 * x:
            break
    return x
