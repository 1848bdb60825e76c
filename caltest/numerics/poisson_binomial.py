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
FEW_ROWS, GRID = 512, 4096  # of a bin with weights, and the points of the grid of their sum
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
    lower : (bins,) array
        The smallest counts k with P(N <= k) >= error.
    upper : (bins,) array
        The smallest counts k with P(N > k) <= error.
    """
    bins = start.size - 1
    lower, upper = np.empty(bins, np.int64), np.empty(bins, np.int64)
    for b in range(bins):
        first, pmf = count_law(event[start[b] : start[b + 1]])
        lower[b] = first + _exceeding(pmf, error * (1.0 - SLACK))
        upper[b] = first + pmf.size - 1 - _exceeding(pmf[::-1], error * (1.0 + SLACK))
    return lower, upper


@numba.njit(nogil=True, cache=True)
def _exceeding(pmf: Floats, error: float) -> int:
    """Return the first index up to which the sum exceeds the error."""
    total = 0.0
    for j in range(pmf.size):
        total += pmf[j]
        if total > error:
            return j
    return pmf.size - 1


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
    event: Floats, weight: Floats, start: Ints, error: float, quantile: float
) -> tuple[Floats, Floats]:
    """Return the limits of `count_limits` for the weighted sum of the events, (bins,).

    In bins of up to 512 rows the law is convolved on a grid, exactly where all weights are
    multiples of the smallest; larger ones take the expansion of Cornish and Fisher to the fourth
    cumulant.
    `quantile` is the 1 - `error` quantile of the standard normal law.
    """
    bins = start.size - 1
    lower, upper = np.empty(bins), np.empty(bins)
    for b in range(bins):
        p, w = event[start[b] : start[b + 1]], weight[start[b] : start[b + 1]]
        if p.size <= FEW_ROWS:
            pmf, step = _sum_law(p, w)
            lower[b] = step * _exceeding(pmf, error * (1.0 - SLACK))
            upper[b] = step * (pmf.size - 1 - _exceeding(pmf[::-1], error * (1.0 + SLACK)))
        else:
            lower[b], upper[b] = _expansion_limits(p, w, quantile)
        upper[b] = min(upper[b], w.sum())
    return lower, upper


@numba.njit(nogil=True, cache=True)
def _sum_law(event: Floats, weight: Floats) -> tuple[Floats, float]:
    """Return the law of the weighted sum on the multiples of a step, and the step.

    A weight between two multiples is split between them so that its mean stays.
    """
    total, step = weight.sum(), weight.min()
    if total > GRID * step or np.any(np.abs(weight / step - np.rint(weight / step)) > 1e-9):
        step = total / GRID
    size = math.ceil(total / step) + event.size + 1
    pmf = np.zeros(size)
    pmf[0] = 1.0
    top = 0
    for i in range(event.size):
        steps = weight[i] / step
        k = math.floor(steps + 1e-9)
        part = max(steps - k, 0.0) if steps - k > 1e-9 else 0.0
        p = event[i]
        top = min(top + k + (part > 0.0), size - 1)
        for j in range(top, -1, -1):
            moved = pmf[j - k] * (1.0 - part) if j >= k else 0.0
            if j >= k + 1:
                moved += pmf[j - k - 1] * part
            pmf[j] = (1.0 - p) * pmf[j] + p * moved
    return pmf, step


@numba.njit(nogil=True, cache=True)
def _expansion_limits(event: Floats, weight: Floats, quantile: float) -> tuple[float, float]:
    mean = variance = third = fourth = 0.0
    for i in range(event.size):
        p, w = event[i], weight[i]
        v = p * (1.0 - p)
        mean += w * p
        variance += w**2 * v
        third += w**3 * v * (1.0 - 2.0 * p)
        fourth += w**4 * v * (1.0 - 6.0 * v)
    if variance == 0.0:
        return mean, mean
    deviation = math.sqrt(variance)
    skew, excess = third / variance / deviation, fourth / variance**2
    low = mean + deviation * _expansion(-quantile, skew, excess)
    high = mean + deviation * _expansion(quantile, skew, excess)
    # With very few expected events the expansion may cross itself.
    return min(max(low, 0.0), mean), max(high, mean)


@numba.njit(nogil=True, cache=True)
def _expansion(z: float, skew: float, excess: float) -> float:
    """Return the quantile of the standardised law (Cornish and Fisher 1938)."""
    return (
        z
        + (z * z - 1.0) * skew / 6.0
        + (z**3 - 3.0 * z) * excess / 24.0
        - (2.0 * z**3 - 5.0 * z) * skew**2 / 36.0
    )
