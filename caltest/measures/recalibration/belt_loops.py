"""Polynomials in the log odds fitted to labels, the calibration belt: sums, degree, and region."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.measures.recalibration.deviation_fit import (
    ENOUGH,
    STEPS,
    Support,
    deviation_sums,
    factor,
    gain,
    inner,
    maximise,
    solve,
)
from caltest.measures.recalibration.log_odds_basis import NODES, basis_values
from caltest.numerics.logistic import newton_sums
from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]
BLOCK = 4096  # rows whose polynomials stay in the cache
STEEP = 2.0  # change of eta within a bin up to which interpolation has nine digits
POINTS = 48  # of Gauss-Legendre; the integrands are analytic


def polynomial_sums(
    labels: Labels | Floats, p: Floats, z: Floats, w: Floats, shift: Floats, norm: Floats
) -> Floats:
    """Return sum_i w_i phi(z_i) (y_i - p_i) for each row of labels, (B, rank).

    The polynomials of a block of rows stay in the cache for all rows of labels.
    """
    sums = np.zeros((len(labels), shift.size))
    for start in range(0, z.size, BLOCK):
        rows = slice(start, start + BLOCK)
        weighted = basis_values(z[rows], shift, norm).T * w[rows]
        sums += deviation_sums(labels, start, p[rows], weighted)
    return sums


@njit()
def select_degree(
    t: Floats, fit: Support, first: int, last: int, cut: float
) -> tuple[Floats, NDArray[np.int64], Floats, NDArray[np.bool_]]:
    """Raise the degree from `first` while twice the gain of log likelihood is at least `cut`.

    Parameters
    ----------
    t : (B, rank) array
        `polynomial_sums`.

    Returns
    -------
    statistic : (B,) array
        Twice the gain over the predictions.
    degree : (B,) array
        The selected degree.
    gamma : (B, rank) array
        The coefficients; zero beyond the degree.
    attained : (B,) array of bool
        As in `maximise`, for the degree that was selected.
    """
    size, rank = t.shape
    statistic, degree = np.empty(size), np.empty(size, np.int64)
    kept, attained = np.zeros((size, rank)), np.empty(size, np.bool_)
    for b in range(size):
        d = min(first, rank - 1)
        value, attained[b] = maximise(t[b], fit, kept[b, : d + 1], separable=True)
        while d < min(last, rank - 1):
            gamma = np.empty(d + 2)
            for j in range(d + 2):
                gamma[j] = kept[b, j]
            higher, exists = maximise(t[b], fit, gamma, separable=True)
            if 2.0 * (higher - value) < cut:
                break
            d, value, attained[b] = d + 1, higher, exists
            for j in range(d + 1):
                kept[b, j] = gamma[j]
        statistic[b], degree[b] = 2.0 * max(value, 0.0), max(d, first)
    return statistic, degree, kept, attained


def largest_rise(gamma: Floats, fit: Support) -> float:
    """Return the largest variation of eta over the nodes of a bin."""
    eta = (fit.base[0] + gamma @ fit.phi).reshape(-1, NODES)
    return float(np.abs(np.diff(eta, axis=1)).sum(axis=1).max())


@njit(error_model="numpy")
def likelihood_bounds(t: Floats, fit: Support, gamma: Floats, at: Floats, drop: float) -> Floats:
    """Return the least and largest gamma'f over {twice the log likelihood falls by up to drop}.

    Parameters
    ----------
    gamma : (k,) array
        The maximum.
    at : (points, k) array
        The basis f at the points.

    Returns
    -------
    (points, 2) array
        Of gamma'f.
    """
    k = gamma.size
    first, L, direction = np.empty(k), np.empty((k, k)), np.empty(k)
    newton_sums(gamma, fit.phi, fit.weight, fit.base, first, L)
    factor(L)
    level = gain(gamma, t, fit) - drop / 2.0
    bounds = np.empty((len(at), 2))
    start = np.empty(k)
    for i in range(len(at)):
        solve(L, at[i], direction)
        s = math.sqrt(drop / inner(at[i], direction))
        for side in range(2):
            signed = s if side else -s
            for j in range(k):
                start[j] = gamma[j] + signed * direction[j]
            bounds[i, side] = _edge(t, fit, start, signed, at[i], level)
    return bounds


@njit(error_model="numpy")
def _edge(t: Floats, fit: Support, gamma: Floats, s: float, f: Floats, level: float) -> float:
    """Return the extreme gamma'f at which the log likelihood has come down to a level.

    There its gradient is -s f. Newton's method for both equations, from the point that is right
    where the log likelihood is quadratic; a step that changes an eta by r > 1 is shortened to
    log(1 + r), since the third derivative of the logistic loss is bounded by the second.
    """
    k = gamma.size
    first, L = np.empty(k), np.empty((k, k))
    rest, across, along = np.empty(k), np.empty(k), np.empty(k)
    for _ in range(STEPS):
        newton_sums(gamma, fit.phi, fit.weight, fit.base, first, L)
        factor(L)
        short = gain(gamma, t, fit) - level
        for j in range(k):
            rest[j] = t[j] - first[j] + s * f[j]
        solve(L, rest, across)
        solve(L, f, along)
        # short - (s f - rest)'step = 0 with step = across + change * along.
        change = short - s * inner(f, across) + inner(rest, across)
        change /= s * inner(f, along) - inner(rest, along)
        for j in range(k):
            across[j] += change * along[j]
        reach = 0.0
        for i in range(fit.weight.size):
            moved = 0.0
            for j in range(k):
                moved += across[j] * fit.phi[j, i]
            reach = max(reach, abs(moved))
        size = math.log1p(reach) / reach if reach > 1.0 else 1.0
        for j in range(k):
            gamma[j] += size * across[j]
        s += size * change
        if reach <= ENOUGH:
            break
    return inner(gamma, f)


def selected_sf(t: float, degree: int, first: int, threshold: float) -> float:
    """Return P(statistic > t) given the selected degree.

    Parameters
    ----------
    t : float
        The statistic, at least 0.
    degree, first : int
        The selected degree, and that at which the selection starts: 1 for external data, 2 for the
        development sample.
    threshold : float
        Confidence level of the likelihood-ratio tests of the selection.
    """
    steps = degree - first
    cut = float(scipy.special.chdtri(1, 1.0 - threshold))
    if t <= steps * cut:
        return 1.0
    if math.isinf(t):
        return 0.0
    q = 1.0 - threshold
    scaled = float(_scaled_tail(np.array([t]), steps, first, cut, q)[0])
    return min(1.0, math.exp(-t / 2.0) * scaled / q**steps)


def selected_quantile(level: float, degree: int, first: int, threshold: float) -> float:
    """Return the t with P(statistic <= t) = level."""
    low = (degree - first) * float(scipy.special.chdtri(1, 1.0 - threshold))
    high = low + 10.0
    while selected_sf(high, degree, first, threshold) > 1.0 - level:
        high *= 2.0

    def excess(t: float) -> float:
        return selected_sf(t, degree, first, threshold) - (1.0 - level)

    return float(scipy.optimize.brentq(excess, low, high, xtol=1e-12, rtol=1e-14))


def _scaled_tail(t: Floats, steps: int, first: int, cut: float, q: float) -> Floats:
    """Return g_steps(t) for t of at least steps times the cut."""
    if steps == 0:
        # exp(t/2) times the tails of chi^2 with 2 and 1 degrees of freedom.
        return np.ones_like(t) if first == 1 else np.asarray(scipy.special.erfcx(np.sqrt(t / 2.0)))
    left = np.maximum(t - (steps - 1) * cut, cut)
    # r = sqrt(t) sin(a) makes sqrt(t - r^2) smooth up to r^2 = t; squares of the distance to the
    # upper end take away the root that the integral inside has there.
    low, high = np.arcsin(np.sqrt(cut / t)), np.arcsin(np.sqrt(np.minimum(left / t, 1.0)))
    x, weight = _gauss()
    angle = high[..., None] - (high - low)[..., None] * np.square(x)
    inner = _scaled_tail(t[..., None] * np.cos(angle) ** 2, steps - 1, first, cut, q)
    terms = inner * np.cos(angle) @ (2.0 * x * weight)
    integral = math.sqrt(2.0 / math.pi) * np.sqrt(t) * (high - low) * terms
    beyond = (q * math.exp(cut / 2.0)) ** (steps - 1) * scipy.special.erfcx(np.sqrt(left / 2.0))
    return np.asarray(integral + beyond)


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Return points and weights on [0, 1]."""
    x, weight = np.polynomial.legendre.leggauss(POINTS)
    return (x + 1.0) / 2.0, weight / 2.0
