"""Tail probabilities: normal, of Brownian limits, of tubes."""

from __future__ import annotations

import math

import numpy as np
import scipy

from caltest.types import Floats


def normal_sf(z: float) -> float:
    """Return P(Z > z) for a standard normal Z."""
    return float(scipy.special.ndtr(-z))


def normal_isf(p: float) -> float:
    """Return z with P(Z > z) = p for a standard normal Z."""
    return -float(scipy.special.ndtri(p))


def student_isf(p: float, df: float) -> float:
    """Return t with P(T > t) = p for Student's T with `df` degrees of freedom."""
    return -float(scipy.special.stdtrit(df, p))


def student_sf(t: float, degrees: float) -> float:
    """Return P(T > t) for Student's T."""
    return float(scipy.special.stdtr(degrees, -t))


MODULUS_MEETING, RANGE_MEETING = 1.0, 1.5


TERMS = 26  # Phi(-40) is the smallest normal tail in double precision, and 26 x 1.5 is 39


NEAR_ZERO, FAR_OUT = 0.1, 1e3  # beyond these the tail is 1 or 0 to double precision


ODD = 2.0 * np.arange(4) + 1.0


SMALLEST_TAIL = 5e-324  # a tail is positive, so one that underflows is rounded up


def modulus_sf(x: float) -> float:
    r"""Return P(sup |B| > x) for a Brownian motion B on [0, 1].

    .. math::
        4 \sum_{k \ge 0} (-1)^k \Phi(-(2k + 1) x)
        = 1 - \frac{4}{\pi} \sum_{k \ge 0} \frac{(-1)^k}{2k + 1} e^{-(2k + 1)^2 \pi^2 / (8 x^2)}.

    Parameters
    ----------
    x : float
        At least 0.

    Returns
    -------
    float
        In (0, 1]; a tail below the smallest positive number is that number.

    References
    ----------
    Feller (1971), An introduction to probability theory and its applications II, section X.5.
    """
    if x < NEAR_ZERO:
        return 1.0
    if x < MODULUS_MEETING:
        terms = np.exp(-np.square(ODD * (math.pi / x)) / 8.0) / ODD
        return 1.0 - 4.0 / math.pi * float(terms[0] - terms[1] + terms[2] - terms[3])
    k = np.arange(TERMS)
    tail = 4.0 * math.fsum(
        (1.0 - 2.0 * (k % 2)) * scipy.special.ndtr(-(2.0 * k + 1.0) * min(x, FAR_OUT))
    )
    return max(tail, SMALLEST_TAIL)


def range_sf(r: float) -> float:
    r"""Return P(max B - min B > r) for a Brownian motion B on [0, 1].

    .. math::
        8 \sum_{k \ge 1} (-1)^{k-1} k \, \Phi(-k r)
        = 1 - 8 \sum_{j \ge 0} \Bigl(\frac{1}{r^2} + \frac{1}{(2j + 1)^2 \pi^2}\Bigr)
          e^{-(2j + 1)^2 \pi^2 / (2 r^2)}.

    Parameters
    ----------
    r : float
        At least 0.

    Returns
    -------
    float
        In (0, 1]; a tail below the smallest positive number is that number.

    References
    ----------
    Feller (1951), The asymptotic distribution of the range of sums of independent random variables,
    equation 3.7.
    """
    if r < NEAR_ZERO:
        return 1.0
    if r < RANGE_MEETING:
        frequency = np.square(ODD * math.pi)
        terms = (1.0 / r / r + 1.0 / frequency) * np.exp(-frequency / r / r / 2.0)
        return 1.0 - 8.0 * float(terms.sum())
    k = np.arange(1, TERMS + 1)
    tail = 8.0 * math.fsum((2.0 * (k % 2) - 1.0) * k * scipy.special.ndtr(-k * min(r, FAR_OUT)))
    return max(tail, SMALLEST_TAIL)


def path_length(standard: Floats) -> float:
    """Return the length of the path of directions of the rows (points, terms) on the sphere."""
    size = np.linalg.norm(standard, axis=1, keepdims=True)
    unit = standard / np.where(size > 0, size, 1.0)
    return float(np.linalg.norm(np.diff(unit, axis=0), axis=1).sum())


def path_length_of_products(square: Floats, product: Floats) -> float:
    """Return the same from squared norms (points,) and products of neighbours (points - 1,)."""
    norms = np.sqrt(square[1:] * square[:-1])
    cosine = np.divide(product, norms, out=np.ones_like(product), where=norms > 0)
    return float(np.sqrt(np.maximum(2.0 - 2.0 * cosine, 0.0)).sum())


def tube_quantile(length: float, level: float) -> float:
    """Return the c that the largest modulus of a Gaussian process exceeds with 1 - level.

    Its standardised terms run along a path of this length on the sphere.
    """

    def excess(c: float) -> float:
        tails = 2.0 * scipy.special.ndtr(-c) + length / math.pi * math.exp(-0.5 * c * c)
        return float(tails) - (1.0 - level)

    return float(scipy.optimize.brentq(excess, 0.0, 40.0))
