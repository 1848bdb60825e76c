r"""Parts of the continuous ranked probability score that have a closed form, and their quadrature.

With m = E X, F the cumulative distribution function and X' an independent copy of X,

.. math:: CRPS(F, y) = (y - m) (2 F(y) - 1) - 2 E[(X - m) 1(X \le y)] - E|X - X'| / 2,

by :math:`CRPS(F, y) = E|X - y| - E|X - X'| / 2` (Gneiting and Raftery 2007, eq. 21). So a law has
to know two parts: a mean up to y, and half of a mean difference, which is one number for a row.
The closed forms are those behind Jordan, Krueger and Lerch (2019), appendix A.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from caltest.numerics.loops import blocks, map_threads, njit
from caltest.types import Floats, Ints

NODES = 64
REACH = 60.0  # probabilities down to exp(-60) of the first one: of a tail as heavy as t(2), 1e-13
MANY = 30.0  # negative binomial numbers from which the series is slow
SMALL = 1 << 22  # comparisons that NumPy makes before numba is worth loading
BLOCK = 1 << 14  # rows of a thread
EPS = float(np.finfo(np.float64).eps)
STEPS = 200  # of the search for a quantile: bisection alone needs half of them


class StandardParts(NamedTuple):
    """The parts of a standard law, with location 0 and scale 1, as functions of its shapes.

    Attributes
    ----------
    up_to : callable
        E[X 1(X <= z)] as a function of z and the shapes.
    half_difference : callable
        E|X - X'| / 2 as a function of the shapes.
    """

    up_to: Callable[..., Floats]
    half_difference: Callable[..., Floats | float]


def normal_density(z: Floats) -> Floats:
    """Return the density of the standard normal distribution."""
    return np.asarray(np.exp(-0.5 * np.clip(z, -40, 40) ** 2) / math.sqrt(2 * math.pi))


def _of_t(z: Floats, df: Floats) -> Any:
    power = 0.5 * (df + 1) * np.log1p(z * z / df)
    log_density = -0.5 * np.log(df) - special.betaln(0.5, 0.5 * df) - power
    return -np.exp(log_density + np.log(df + z * z)) / (df - 1)


def _difference_of_t(df: Floats) -> Any:
    logs = special.betaln(0.5, df - 0.5) - 2 * special.betaln(0.5, 0.5 * df)
    return 2 * np.sqrt(df) / (df - 1) * np.exp(logs)


def _of_lognormal(z: Floats, s: Floats) -> Any:
    with np.errstate(divide="ignore"):
        return np.exp(s * s / 2) * special.ndtr(np.log(np.maximum(z, 0)) / s - s)


def _of_weibull(z: Floats, c: Floats) -> Any:
    k = 1 + 1 / c
    return special.gamma(k) * special.gammainc(k, np.maximum(z, 0) ** c)


def _of_beta(z: Floats, a: Floats, b: Floats) -> Any:
    return a / (a + b) * special.betainc(a + 1, b, np.clip(z, 0, 1))


def _difference_of_beta(a: Floats, b: Floats) -> Any:
    return 2 / (a + b) * np.exp(special.betaln(2 * a, 2 * b) - 2 * special.betaln(a, b))


def _of_counts(z: Floats, r: Floats, p: Floats) -> Any:
    """Return the mean up to z of a negative binomial number: that of r + 1 is behind it."""
    k = np.floor(z) - 1
    below = np.where(k < 0, 0.0, special.betainc(r + 1, np.maximum(k, 0) + 1, p))
    return r * (1 - p) / p * below


def _difference_of_counts(r: Floats, p: Floats) -> Any:
    """Return r q / p^2 2F1(r + 1, 1/2; 2; -4 q / p^2), transformed so that it is an integral.

    That of cos(t)^2 (1 - x sin(t)^2)^(r - 1) from 0 to pi / 2, with x = 4 q / (1 + q)^2. SciPy's
    2F1 loses digits where r is large.
    """
    q = 1 - p
    x = 4 * q / (1 + q) ** 2
    few = special.hyp2f1(0.5, 1 - np.minimum(r, MANY), 2, x)
    node, weight = np.polynomial.legendre.leggauss(NODES)
    reach = np.minimum(math.pi, 20.0 / np.sqrt(np.maximum(r, MANY) * x))[..., None] / 4
    angle = reach * (node + 1)
    power = np.exp((r - 1)[..., None] * np.log1p(-x[..., None] * np.sin(angle) ** 2))
    many = 4 / math.pi * np.sum(reach * weight * np.cos(angle) ** 2 * power, axis=-1)
    return r * q / (p * (1 + q)) * np.where(r < MANY, few, many)


def _of_poisson(z: Floats, mu: Floats) -> Any:
    k = np.floor(z) - 1
    return mu * np.where(k < 0, 0.0, special.pdtr(np.maximum(k, 0), mu))


CLOSED = {  # by the name that scipy.stats has for the family
    "norm": StandardParts(lambda z: -normal_density(z), lambda: 1 / math.sqrt(math.pi)),
    "t": StandardParts(_of_t, _difference_of_t),
    "logistic": StandardParts(
        lambda z: -special.entr(special.expit(z)) - special.entr(special.expit(-z)), lambda: 1.0
    ),
    "laplace": StandardParts(lambda z: -0.5 * (1 + np.abs(z)) * np.exp(-np.abs(z)), lambda: 0.75),
    "uniform": StandardParts(lambda z: np.clip(z, 0, 1) ** 2 / 2, lambda: 1 / 6),
    "expon": StandardParts(lambda z: special.gammainc(2.0, np.maximum(z, 0)), lambda: 0.5),
    "gamma": StandardParts(
        lambda z, a: a * special.gammainc(a + 1, np.maximum(z, 0)),
        lambda a: np.exp(-special.betaln(0.5, a)),
    ),
    "lognorm": StandardParts(_of_lognormal, lambda s: np.exp(s * s / 2) * special.erf(s / 2)),
    "weibull_min": StandardParts(
        _of_weibull, lambda c: -special.gamma(1 + 1 / c) * np.expm1(-math.log(2) / c)
    ),
    "beta": StandardParts(_of_beta, _difference_of_beta),
    "poisson": StandardParts(
        _of_poisson, lambda mu: mu * (special.ive(0, 2 * mu) + special.ive(1, 2 * mu))
    ),
    "nbinom": StandardParts(_of_counts, _difference_of_counts),
}


def normal_difference(mean: Floats, sd: Floats) -> Floats:
    """Return E|Z| of a normal Z (Grimit et al. 2006, eq. 5): a term of mixtures of Gaussians."""
    z = mean / sd
    return np.asarray(2 * sd * normal_density(z) + mean * special.erf(z / math.sqrt(2)))


def tail_nodes() -> tuple[Floats, Floats]:
    """Return factors exp(-s) and weights: the mean of q over (0, a) is the sum of w q(a exp(-s)).

    The rule is that of Gauss and Legendre in s: quantiles of a tail are smooth in the logarithm of
    the probability, be the tail bounded, exponential or a power.
    """
    s, weight = np.polynomial.legendre.leggauss(NODES)
    factor = np.exp(-REACH / 2 * (s + 1))
    return factor, REACH / 2 * weight * factor


def row_counts(points: Floats, y: Floats, *, equal: bool) -> Ints:
    """Count in each row the sorted points (n, W) below y, or with `equal` up to y.

    In the shape of y, (n,) or (n, K).
    """
    columns = y.reshape(len(y), -1)
    if points.shape[1] * y.size <= SMALL:
        left, right = points[:, :, None], columns[:, None, :]
        found = (left <= right if equal else left < right).sum(axis=1)
        return np.asarray(found, np.int64).reshape(y.shape)
    out = np.empty(columns.shape, np.int64)
    tasks = [(points[rows], columns[rows], equal, out[rows]) for rows in blocks(len(y), BLOCK)]
    list(map_threads(_count, tasks))
    return out.reshape(y.shape)


@njit()
def _count(points: Floats, y: Floats, equal: bool, out: Ints) -> None:  # noqa: FBT001
    for i in range(y.shape[0]):
        for k in range(y.shape[1]):
            low, high = 0, points.shape[1]
            while low < high:
                middle = (low + high) // 2
                x = points[i, middle]
                if x < y[i, k] or (equal and x == y[i, k]):
                    low = middle + 1
                else:
                    high = middle
            out[i, k] = low


def bracketed(
    cdf: Callable[[Floats], Floats], u: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return finite ends between which the quantiles of u lie, within the support given."""
    ends = []
    for end, sign in ((low, -1.0), (high, 1.0)):
        other = high if sign < 0 else low
        start = np.where(np.isfinite(other), other, 0.0)
        step = np.maximum(1.0, np.abs(start))
        found = np.where(np.isfinite(end), end, start + sign * step)
        for _ in range(1000):
            is_beyond = np.isfinite(end) | ((cdf(found) >= u) == (sign > 0)) | (step > 1e300)
            if is_beyond.all():
                break
            step = np.where(is_beyond, step, 4.0 * step)
            found = np.where(is_beyond, found, start + sign * step)
        ends.append(found)
    return ends[0], ends[1]


def inverted(cdf: Callable[[Floats], Floats], u: Floats, low: Floats, high: Floats) -> Floats:
    """Return the least y with cdf(y) >= u between two ends, as Chandrupatla (1997) searches.

    The ends of the bracket keep cdf(low) < u <= cdf(high): atoms and flat parts are found too. It
    ends where the two are neighbours, or their levels are equal but for rounding.
    """
    x1, x2 = high.astype(np.float64), low.astype(np.float64)
    f1, f2 = cdf(x1) - u, cdf(x2) - u
    answer = np.where(f2 >= 0, x2, x1)
    going = (f2 < 0) & (f1 >= 0)
    t = np.full(np.shape(u), 0.5)
    for _ in range(STEPS):
        if not going.any():
            break
        x = np.where(going, x1 + t * (x2 - x1), answer)
        f = cdf(x) - u
        same = (f >= 0) == (f1 >= 0)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, f
        upper = np.where(f1 >= 0, x1, x2)
        answer = np.where(going, upper, answer)
        width = np.abs(x2 - x1)
        least = 2.0 * EPS * np.abs(upper)
        going &= (width > 2.0 * least) & (np.abs(f1 - f2) > 4.0 * EPS * u)
        with np.errstate(all="ignore"):
            xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
            bent = f1 / (f2 - f1) * f3 / (f2 - f3)
            bent += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
            is_safe = (phi * phi < xi) & ((1 - phi) ** 2 < 1 - xi) & (f3 != f1)
            share = np.minimum(least / width, 0.5)
        t = np.clip(np.where(is_safe, bent, 0.5), share, 1.0 - share)
    return answer
