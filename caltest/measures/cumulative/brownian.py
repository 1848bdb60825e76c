r"""Upper tails of the largest modulus and of the range of Brownian motion on [0, 1].

Each distribution has two series: one of normal tails, for large arguments, and its theta-function
dual, whose terms are those of the distribution function, for small ones. Where they meet both need
a few terms and cancel nothing: P(sup |B| > 1) = 0.63, P(range > 1.5) = 0.51.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

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
