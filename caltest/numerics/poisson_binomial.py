"""Quantiles of the number of events among independent ones with unequal probabilities.

The law is read from its characteristic function at the frequencies of a discrete Fourier transform,
Hong (2013), On computing the distribution function for the Poisson binomial distribution, section
2.2. Two bounds leave a few dozen frequencies of the n + 1, at any n: counts further than `_reach`
from the mean, and frequencies at which the function is below e^-40, are left out. What is lost is
less than the rounding.
"""

import math

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EXPONENT = 40.0  # what is left out is below e^-40, 4e-18
SLACK = 1e-12  # a level that is reached up to rounding counts as reached


@numba.njit(nogil=True, cache=True)
def count_limits(event: Floats, start: Ints, error: float) -> tuple[Ints, Ints]:
    """Return the `error` and 1 - `error` quantiles of the number of events in each bin.

    Parameters
    ----------
    event : (n,) array
        P(Y = 1), sorted by bin.
    start : (bins + 1,) array
        Where each bin starts, and where the last one ends; no bin is empty.
    error : float
        At most 1/2.

    Returns
    -------
    lower, upper : (bins,) array
        The smallest counts k with P(N <= k) >= error, and >= 1 - error.
    """
    low, high = error * (1.0 - SLACK), (1.0 - error) * (1.0 - SLACK)
    bins = start.size - 1
    lower, upper = np.empty(bins, np.int64), np.empty(bins, np.int64)
    for b in range(bins):
        first, pmf = count_law(event[start[b] : start[b + 1]])
        lower[b] = upper[b] = first + pmf.size - 1
        below = 0.0
        for j in range(pmf.size):
            if below < low <= below + pmf[j]:
                lower[b] = first + j
            below += pmf[j]
            if below >= high:
                upper[b] = first + j
                break
    return lower, upper


@numba.njit(nogil=True, cache=True)
def count_law(event: Floats) -> tuple[int, Floats]:
    """Return P(N = first), P(N = first + 1), ... with N the number of events, and `first`.

    What is left out has less than 1e-16 of the mass.
    """
    mean = variance = 0.0
    for p in event:
        mean += p
        variance += p * (1.0 - p)
    reach = _reach(variance)
    first = max(0, math.floor(mean - reach))
    last = min(event.size, math.ceil(mean + reach))
    size = last - first + 1
    real, imaginary = _characteristic(event, first, size, variance)
    pmf = np.empty(size)
    for j in range(size):
        total = 1.0
        for k in range(1, real.size):
            # k * j is taken modulo the size: large angles would lose digits.
            angle = 2.0 * math.pi * ((k * j) % size) / size
            twice = 1.0 if 2 * k == size else 2.0
            total += twice * (real[k] * math.cos(angle) + imaginary[k] * math.sin(angle))
        pmf[j] = max(total / size, 0.0)
    return first, pmf


@numba.njit(nogil=True, cache=True)
def _reach(variance: float) -> float:
    """Return the t at which Bernstein's bound of P(|N - mean| > t) is 2 e^-40."""
    third = EXPONENT / 3.0
    return third + math.sqrt(third * third + 2.0 * EXPONENT * variance)


@numba.njit(nogil=True, cache=True)
def _characteristic(event: Floats, first: int, size: int, variance: float) -> tuple[Floats, Floats]:
    """Return E exp(2 pi i k (N - first) / size) for k = 0, 1, ... as long as it can matter.

    Its modulus is at most exp(-variance (1 - cos t)), from |1 - p + p e^it|^2 = 1 - 2 p (1 - p)
    (1 - cos t); the frequencies above size / 2 are the conjugates of those below.
    """
    count = 1
    while count <= size // 2:
        if variance * (1.0 - math.cos(2.0 * math.pi * count / size)) > EXPONENT:
            break
        count += 1
    cosine, sine = np.empty(count), np.empty(count)
    real, imaginary = np.ones(count), np.zeros(count)
    for k in range(count):
        half = math.pi * k / size
        cosine[k] = -2.0 * math.sin(half) ** 2  # cos - 1 without cancellation
        sine[k] = math.sin(2.0 * half)
    for p in event:
        for k in range(count):
            a, b = 1.0 + p * cosine[k], p * sine[k]
            x, y = real[k], imaginary[k]
            real[k] = x * a - y * b
            imaginary[k] = x * b + y * a
    for k in range(count):
        angle = 2.0 * math.pi * ((k * first) % size) / size
        c, s = math.cos(angle), math.sin(angle)
        x, y = real[k], imaginary[k]
        real[k] = x * c + y * s
        imaginary[k] = y * c - x * s
    return real, imaginary


@numba.njit(nogil=True, cache=True)
def sum_limits(
    event: Floats, weight: Floats, start: Ints, quantile: float
) -> tuple[Floats, Floats]:
    """Return approximate limits of the weighted sum of the events in each bin, (bins,).

    `quantile` is that of the standard normal law, positive. The expansion of Cornish and Fisher to
    the fourth cumulant, held between 0 and the sum of the weights.
    """
    bins = start.size - 1
    lower, upper = np.empty(bins), np.empty(bins)
    for b in range(bins):
        mass = mean = variance = third = fourth = 0.0
        for i in range(start[b], start[b + 1]):
            p, w = event[i], weight[i]
            v = p * (1.0 - p)
            mass += w
            mean += w * p
            variance += w**2 * v
            third += w**3 * v * (1.0 - 2.0 * p)
            fourth += w**4 * v * (1.0 - 6.0 * v)
        deviation = math.sqrt(variance)
        skew = third / variance / deviation if variance > 0.0 else 0.0
        excess = fourth / variance**2 if variance > 0.0 else 0.0
        lower[b] = max(mean + deviation * _expansion(-quantile, skew, excess), 0.0)
        upper[b] = min(mean + deviation * _expansion(quantile, skew, excess), mass)
    return lower, upper


@numba.njit(nogil=True, cache=True)
def _expansion(z: float, skew: float, excess: float) -> float:
    """Return the quantile of the standardised law (Cornish and Fisher 1938)."""
    return (
        z
        + (z * z - 1.0) * skew / 6.0
        + (z**3 - 3.0 * z) * excess / 24.0
        - (2.0 * z**3 - 5.0 * z) * skew**2 / 36.0
    )
