r"""Polynomial logistic regression on the log odds z of predictions p, as deviations from them.

Labels enter :math:`\sum_i w_i [y_i \eta_i - \log(1 + e^{\eta_i})]`, with
:math:`\eta = z + \gamma' \phi(z)`, through :math:`t = \sum_i w_i \phi(z_i) (y_i - p_i)` alone: what
the fit gains over the predictions is :math:`\max_\gamma \gamma't - G(\gamma)` with G the sum of
:math:`w [\log(1 + e^\eta) - \log(1 + e^z) - p \gamma'\phi]`. G depends on the predictions only, and
is a smooth function of each z; so many rows are replaced by few nodes with weights.
"""

from __future__ import annotations

import math
from functools import cache

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtri, erfcx, expit

from caltest.measures.recalibration.log_odds_basis import NODES

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]
BLOCK = 512  # rows whose polynomials stay in the cache
STEEP = 1.0  # change of eta within a bin up to which interpolation has nine digits
MOST_STEPS = 200
ENOUGH = 1e-6  # the largest change of an eta in the last step; its error is the square
NO_GAIN = 1e-10  # of log likelihood, where it has no maximum and only approaches its supremum
POINTS = 48  # of Gauss-Legendre; the integrands are analytic


@numba.njit(nogil=True, cache=True)
def deviation_sums(
    labels: Labels, p: Floats, z: Floats, w: Floats, shift: Floats, norm: Floats
) -> Floats:
    """Return sum_i w_i phi(z_i) (y_i - p_i) for each row of labels, (B, rank).

    The polynomials of a block of rows stay in the cache for all rows of labels.
    """
    size, rank = labels.shape[0], shift.size
    sums, phi, rest = np.zeros((size, rank)), np.empty((rank, BLOCK)), np.empty(BLOCK)
    for start in range(0, z.size, BLOCK):
        end = min(start + BLOCK, z.size)
        _weighted_basis(z[start:end], w[start:end], shift, norm, phi)
        for b in range(size):
            for i in range(start, end):
                rest[i - start] = labels[b, i] - p[i]
            for j in range(rank):
                sums[b, j] += _dot(rest[: end - start], phi[j])
    return sums


@numba.njit(nogil=True, cache=True)
def _weighted_basis(z: Floats, w: Floats, shift: Floats, norm: Floats, phi: Floats) -> None:
    for i in range(z.size):
        phi[0, i] = w[i]
    for j in range(1, shift.size):
        scale, before = 1.0 / norm[j], norm[j - 1] if j > 1 else 0.0
        for i in range(z.size):
            last = phi[j - 2, i] if j > 1 else 0.0
            phi[j, i] = scale * ((z[i] - shift[j - 1]) * phi[j - 1, i] - before * last)


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"})
def _dot(x: Floats, y: Floats) -> float:
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


def support_table(z: Floats, w: Floats) -> Floats:
    """Return z, p, 1 - p and w side by side, (K, 4), for `maximise` and those after it."""
    return np.column_stack([z, expit(z), expit(-z), w])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _newton_sums(
    gamma: Floats, k: int, table: Floats, phi: Floats, first: Floats, second: Floats
) -> float:
    """Return G, and its first and second derivatives in the arrays given."""
    first[:k] = 0.0
    second[:k, :k] = 0.0
    total = 0.0
    for i in range(len(table)):
        u = 0.0
        for j in range(k):
            u += gamma[j] * phi[i, j]
        z, p, c, w = table[i]
        if abs(u) < 1.0:  # without the difference of large terms
            rise = math.expm1(u)
            scale = 1.0 + p * rise
            total += w * (math.log1p(p * rise) - p * u)
            slope = w * p * c * rise / scale
            curvature = w * p * c * (1.0 + rise) / (scale * scale)
        else:
            eta = z + u
            e = math.exp(-abs(eta))
            total += w * (max(eta, 0.0) - max(z, 0.0) + math.log1p(e) - p * u)
            total -= w * math.log1p(math.exp(-abs(z)))
            slope = w * ((1.0 if eta >= 0.0 else e) / (1.0 + e) - p)
            curvature = w * e / ((1.0 + e) * (1.0 + e))
        for j in range(k):
            first[j] += slope * phi[i, j]
            part = curvature * phi[i, j]
            for l in range(j + 1):
                second[j, l] += part * phi[i, l]
    return total


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _solve(second: Floats, k: int, right: Floats, out: Floats) -> None:
    """Solve by Cholesky's factors, which replace the lower triangle; 0 along flat directions."""
    for j in range(k):
        diagonal = second[j, j]
        for l in range(j):
            diagonal -= second[j, l] * second[j, l]
        root = math.sqrt(diagonal) if diagonal > 1e-15 * second[j, j] else 0.0
        for i in range(j + 1, k):
            value = second[i, j]
            for l in range(j):
                value -= second[i, l] * second[j, l]
            second[i, j] = value / root if root > 0.0 else 0.0
        second[j, j] = root
        value = right[j]
        for l in range(j):
            value -= second[j, l] * out[l]
        out[j] = value / root if root > 0.0 else 0.0
    for j in range(k - 1, -1, -1):
        value = out[j]
        for l in range(j + 1, k):
            value -= second[l, j] * out[l]
        out[j] = value / second[j, j] if second[j, j] > 0.0 else 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def maximise(t: Floats, k: int, table: Floats, phi: Floats, gamma: Floats) -> tuple[float, bool]:
    """Maximise gamma't - G(gamma) over the first k coefficients, from the gamma given, in place.

    A Newton step that changes an eta by r > 1 is shortened to log(1 + r), which goes up whatever
    the data: the third derivative of the logistic loss is bounded by the second. One predicted
    outlier makes such steps short, so that four times the last share is tried before, and taken
    where it rises by a tenth of what its slope promises.

    Returns
    -------
    value : float
        The maximum, or the supremum.
    attained : bool
        Whether there is a maximum; not where a polynomial separates the labels.
    """
    first, second = np.empty(k), np.empty((k, k))
    rest, step = np.empty(k), np.empty(k)
    value, before, gain, size, safe = 0.0, 0.0, 0.0, 0.0, 1.0
    for _ in range(MOST_STEPS):
        value = -_newton_sums(gamma, k, table, phi, first, second)
        for j in range(k):
            value += gamma[j] * t[j]
            rest[j] = t[j] - first[j]
        if size > safe and not value >= before + 0.1 * size * gain:
            shorter = max(safe, size / 4.0)
            for j in range(k):
                gamma[j] += (shorter - size) * step[j]
            size = shorter
            continue
        _solve(second, k, rest, step)
        reach, gain, before = 0.0, 0.0, value
        for i in range(len(table)):
            reach = max(reach, abs(_inner(phi[i], step)))
        safe = math.log1p(reach) / reach if reach > 1.0 else 1.0
        size = max(safe, min(1.0, 4.0 * size))
        for j in range(k):
            gain += step[j] * rest[j]
            gamma[j] += size * step[j]
        if reach <= ENOUGH:
            return value + gain / 2.0, True
        if gain <= NO_GAIN and reach > 0.1:
            return value + gain, False
    return value, False


@numba.njit(nogil=True, cache=True)
def select_degree(
    t: Floats, table: Floats, phi: Floats, first: int, last: int, cut: float
) -> tuple[Floats, NDArray[np.int64], Floats, NDArray[np.bool_]]:
    """Raise the degree from `first` while twice the gain of log likelihood is at least `cut`.

    Parameters
    ----------
    t : (B, rank) array
        `deviation_sums`.

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
        value, attained[b] = maximise(t[b], d + 1, table, phi, kept[b])
        while d < min(last, rank - 1):
            gamma = kept[b].copy()
            higher, exists = maximise(t[b], d + 2, table, phi, gamma)
            if 2.0 * (higher - value) < cut:
                break
            d, value, attained[b] = d + 1, higher, exists
            kept[b] = gamma
        statistic[b], degree[b] = 2.0 * max(value, 0.0), max(d, first)
    return statistic, degree, kept, attained


@numba.njit(nogil=True, cache=True)
def largest_rise(gamma: Floats, table: Floats, phi: Floats) -> float:
    """Return the largest variation of eta over the nodes of a bin."""
    largest = 0.0
    for start in range(0, len(table), NODES):
        rise, before = 0.0, 0.0
        for i in range(start, start + NODES):
            eta = table[i, 0] + _inner(phi[i], gamma)
            if i > start:
                rise += abs(eta - before)
            before = eta
        largest = max(largest, rise)
    return largest


@numba.njit(nogil=True, cache=True, error_model="numpy")
def likelihood_bounds(
    t: Floats, table: Floats, phi: Floats, gamma: Floats, at: Floats, drop: float
) -> Floats:
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
    first, second, direction = np.empty(k), np.empty((k, k)), np.empty(k)
    top = _inner(gamma, t) - _newton_sums(gamma, k, table, phi, first, second)
    curvature, scratch = second.copy(), np.empty((k, k))
    bounds = np.empty((len(at), 2))
    for i in range(len(at)):
        scratch[:] = curvature
        _solve(scratch, k, at[i], direction)
        s = math.sqrt(drop / _inner(at[i], direction))
        for side in range(2):
            signed = s if side else -s
            start = gamma + signed * direction
            bounds[i, side] = _edge(t, table, phi, start, signed, at[i], top - drop / 2.0)
    return bounds


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _edge(
    t: Floats, table: Floats, phi: Floats, gamma: Floats, s: float, f: Floats, level: float
) -> float:
    """Return the extreme gamma'f at which the log likelihood has come down to a level.

    There its gradient is -s f. Newton's method for both equations, from the point that is right
    where the log likelihood is quadratic; a step that changes an eta by r > 1 is shortened.
    """
    k = gamma.size
    first, second = np.empty(k), np.empty((k, k))
    rest, across, along = np.empty(k), np.empty(k), np.empty(k)
    for _ in range(MOST_STEPS):
        short = -_newton_sums(gamma, k, table, phi, first, second) - level
        for j in range(k):
            short += gamma[j] * t[j]
            rest[j] = t[j] - first[j] + s * f[j]
        scratch = second.copy()
        _solve(second, k, rest, across)
        _solve(scratch, k, f, along)
        # short - (s f - rest)'step = 0 with step = across + change * along.
        change = short - s * _inner(f, across) + _inner(rest, across)
        change /= s * _inner(f, along) - _inner(rest, along)
        reach = 0.0
        for j in range(k):
            across[j] += change * along[j]
        for i in range(len(table)):
            reach = max(reach, abs(_inner(phi[i], across)))
        size = math.log1p(reach) / reach if reach > 1.0 else 1.0
        for j in range(k):
            gamma[j] += size * across[j]
        s += size * change
        if reach <= ENOUGH:
            break
    return _inner(f, gamma)


@numba.njit(nogil=True, cache=True)
def _inner(x: Floats, y: Floats) -> float:
    total = 0.0
    for j in range(y.size):
        total += x[j] * y[j]
    return total


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
    cut = float(chdtri(1, 1.0 - threshold))
    if t <= steps * cut:
        return 1.0
    if math.isinf(t):
        return 0.0
    q = 1.0 - threshold
    scaled = float(_scaled_tail(np.array([t]), steps, first, cut, q)[0])
    return min(1.0, math.exp(-t / 2.0) * scaled / q**steps)


def selected_quantile(level: float, degree: int, first: int, threshold: float) -> float:
    """Return the t with P(statistic <= t) = level."""
    low = (degree - first) * float(chdtri(1, 1.0 - threshold))
    high = low + 10.0
    while selected_sf(high, degree, first, threshold) > 1.0 - level:
        high *= 2.0

    def excess(t: float) -> float:
        return selected_sf(t, degree, first, threshold) - (1.0 - level)

    return float(brentq(excess, low, high, xtol=1e-12, rtol=1e-14))


def _scaled_tail(t: Floats, steps: int, first: int, cut: float, q: float) -> Floats:
    """Return g_steps(t) for t of at least steps times the cut."""
    if steps == 0:
        # exp(t/2) times the tails of chi^2 with 2 and 1 degrees of freedom.
        return np.ones_like(t) if first == 1 else np.asarray(erfcx(np.sqrt(t / 2.0)))
    left = np.maximum(t - (steps - 1) * cut, cut)
    # r = sqrt(t) sin(a) makes sqrt(t - r^2) smooth up to r^2 = t; squares of the distance to the
    # upper end take away the root that the integral inside has there.
    low, high = np.arcsin(np.sqrt(cut / t)), np.arcsin(np.sqrt(np.minimum(left / t, 1.0)))
    x, weight = _gauss()
    angle = high[..., None] - (high - low)[..., None] * np.square(x)
    inner = _scaled_tail(t[..., None] * np.cos(angle) ** 2, steps - 1, first, cut, q)
    terms = inner * np.cos(angle) @ (2.0 * x * weight)
    integral = math.sqrt(2.0 / math.pi) * np.sqrt(t) * (high - low) * terms
    beyond = (q * math.exp(cut / 2.0)) ** (steps - 1) * erfcx(np.sqrt(left / 2.0))
    return np.asarray(integral + beyond)


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Return points and weights on [0, 1]."""
    x, weight = np.polynomial.legendre.leggauss(POINTS)
    return (x + 1.0) / 2.0, weight / 2.0
