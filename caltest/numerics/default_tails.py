"""Tails of the number of defaults D of n obligors with the same probability of default.

Each function returns P(D >= d) and P(D <= d), or what takes their place.
"""

import math

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import betainc, ndtr, ndtri

Tails = tuple[float, float]

NODES, WEIGHTS = leggauss(16)
FARTHEST = 38.0  # the normal density underflows beyond
STEPS = np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0])


def certain_tails(d: int, n: int, pd: float) -> Tails:
    """Where pd is 0 or 1 the number of defaults is certain."""
    certain = n * round(pd)
    return float(d <= certain), float(d >= certain)


def binomial_tails(d: int, n: int, pd: float) -> Tails:
    """Independent defaults; the tails are incomplete beta functions."""
    upper = float(betainc(d, n - d + 1, pd)) if d > 0 else 1.0
    lower = float(betainc(n - d, d + 1, 1.0 - pd)) if d < n else 1.0
    return upper, lower


def jeffreys_tails(d: int, n: int, pd: float) -> Tails:
    """Posterior probability, from Jeffreys' prior, of a rate of at most pd, and of at least pd."""
    upper = float(betainc(d + 0.5, n - d + 0.5, pd))
    lower = float(betainc(n - d + 0.5, d + 0.5, 1.0 - pd))
    return upper, lower


def normal_score(d: int, n: int, pd: float) -> float:
    """Return the number of defaults in standard deviations from its mean; 0 < pd < 1."""
    return (d - n * pd) / math.sqrt(n * pd * (1.0 - pd))


def factor_tails(d: int, n: int, pd: float, correlation: float) -> Tails:
    """Defaults that are independent given one normal factor, Vasicek 2002; 0 < correlation < 1.

    The binomial tails given the factor z are integrated over its density by Gauss-Legendre
    quadrature in panels, narrow where the conditional rate passes d / n. All terms are positive,
    so that small tails keep their relative precision.
    """
    z, weight = _factor(d, n, pd, correlation)
    mass = weight * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    x = (ndtri(pd) + math.sqrt(correlation) * z) / math.sqrt(1.0 - correlation)
    upper = float(mass @ betainc(d, n - d + 1, ndtr(x))) if d > 0 else 1.0
    lower = float(mass @ betainc(n - d, d + 1, ndtr(-x))) if d < n else 1.0
    return min(upper, 1.0), min(lower, 1.0)


def factor_limit_tails(d: int, n: int, pd: float, correlation: float) -> Tails:
    """The same for n to infinity, where the default rate given the factor is that of the model."""
    with np.errstate(divide="ignore"):  # no default, or nothing but defaults
        rate = ndtri(d / n)
    z = (math.sqrt(1.0 - correlation) * rate - ndtri(pd)) / math.sqrt(correlation)
    return float(ndtr(-z)), float(ndtr(z))


def _factor(
    d: int, n: int, pd: float, correlation: float
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    """Return nodes and weights for the factor."""
    rate = (d + 0.5) / (n + 1.0)
    x = float(ndtri(rate))
    slope = (
        math.sqrt(correlation / (1.0 - correlation))
        * math.exp(-0.5 * x**2)
        / math.sqrt(2.0 * math.pi)
    )
    centre = (math.sqrt(1.0 - correlation) * x - float(ndtri(pd))) / math.sqrt(correlation)
    width = math.sqrt(rate * (1.0 - rate) / (n + 1.0)) / slope
    cuts = np.concatenate([np.linspace(-FARTHEST, FARTHEST, 77), [centre]])
    cuts = np.concatenate([cuts, centre + width * STEPS, centre - width * STEPS])
    cuts = np.unique(np.clip(cuts, -FARTHEST, FARTHEST))
    half = np.diff(cuts) / 2.0
    nodes = (cuts[:-1] + half)[:, None] + half[:, None] * NODES
    return nodes.ravel(), (half[:, None] * WEIGHTS).ravel()
