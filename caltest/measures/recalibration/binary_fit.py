r"""Logistic recalibration of two classes, Cox 1958, as a deviation from the predictions.

Labels enter :math:`\sum_i w_i [y_i \eta_i - \log(1 + e^{\eta_i})]`, with
:math:`\eta = x + \gamma' \phi(x)` and the log odds x of the predictions p, through
:math:`t = \sum_i w_i \phi(x_i) (y_i - p_i)` alone: what the fit gains over the predictions is
:math:`\max_\gamma \gamma't - G(\gamma)` with G the sum of
:math:`w [\log(1 + e^\eta) - \log(1 + e^x) - p \gamma'\phi]`. G depends on the predictions only, and
is a smooth function of each x; so many rows are replaced by few nodes with weights, a few hundred
for all redrawn labels.

A recalibration is :math:`\eta = x + \alpha + \beta z` with z = x in standard units: (0, 0) is no
change, and the slope is 1 + beta / sd(x).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from caltest.numerics.logistic import newton_sums
from caltest.numerics.loops import njit
from caltest.types import Floats, Labels

BLOCK = 1024  # rows that stay in the cache
STEPS = 200
HALVINGS = 60
ENOUGH = 1e-6  # the largest change of an eta in the last step; its error is the square
FLAT = 1e-15  # relative pivot of the curvature that counts as none
NOISE = 1e-15  # of a slope, relative to the sum of weights
TRUSTED = 10.0  # change of an eta by a first step
NO_GAIN = 1e-10  # of log likelihood, where it has no maximum and only approaches its supremum
SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)  # as the calibrators take logarithms
SAME = 1e-10  # relative standard deviation of the log odds that counts as none
ROWS_FOR_NODES = 2048  # rows from which on nodes take their place
NODES = 12  # a cell
WIDTH = 0.5  # of a cell of log odds
STEEPEST = 2.0  # slope up to which the nodes give 14 digits


class Support(NamedTuple):
    """Rows, or nodes in their place.

    Attributes
    ----------
    base : (3, K) array
        z, p and 1 - p.
    weight : (K,) array
        w; that of a node can be negative.
    phi : (k, K) array
        The functions, the first of them 1.
    largest : (k,) array
        Their largest sizes.
    noise : float
        What rounding leaves of a slope.
    """

    base: Floats
    weight: Floats
    phi: Floats
    largest: Floats
    noise: float


def support(z: Floats, weight: Floats, phi: Floats) -> Support:
    """Prepare log odds (K,), weights (K,) and functions (k, K)."""
    base = np.stack([z, scipy.special.expit(z), scipy.special.expit(-z)])
    largest = np.abs(phi).max(axis=1, initial=0.0)
    return Support(base, weight, np.ascontiguousarray(phi), largest, NOISE * float(weight.sum()))


@njit(fastmath={"contract", "nsz", "reassoc"})
def deviation_sums(labels: Labels | Floats, start: int, p: Floats, weighted: Floats) -> Floats:
    """Return sum_i w_i phi(z_i) (y_i - p_i) over some columns of labels (B, n), (B, k).

    `p` (size,) and `weighted` (k, size), w phi, belong to the columns from `start` on.
    """
    sums, rest = np.zeros((labels.shape[0], len(weighted))), np.empty(BLOCK)
    for first in range(0, p.size, BLOCK):
        size = min(BLOCK, p.size - first)
        q = p[first : first + size]
        for b in range(labels.shape[0]):
            row = labels[b, start + first : start + first + size]
            for i in range(size):
                rest[i] = row[i] - q[i]
            for j in range(len(weighted)):
                f, total = weighted[j, first : first + size], 0.0
                for i in range(size):
                    total += rest[i] * f[i]
                sums[b, j] += total
    return sums


@njit()
def gain(gamma: Floats, t: Floats, fit: Support) -> float:
    """Return gamma't - G(gamma), what the log likelihood gains over the predictions."""
    total = 0.0
    for i in range(fit.weight.size):
        z, p = fit.base[0, i], fit.base[1, i]
        u = 0.0
        for j in range(gamma.size):
            u += gamma[j] * fit.phi[j, i]
        if abs(u) < 1.0:  # without the difference of large terms
            growth = math.log1p(p * math.expm1(u))
        else:
            growth = max(z + u, 0.0) - max(z, 0.0)
            growth += math.log1p(math.exp(-abs(z + u))) - math.log1p(math.exp(-abs(z)))
        total += fit.weight[i] * (growth - p * u)
    return inner(gamma, t) - total


@njit()
def inner(x: Floats, y: Floats) -> float:
    """Return x'y, of the length of x."""
    total = 0.0
    for j in range(x.size):
        total += x[j] * y[j]
    return total


@njit(error_model="numpy")
def factor(H: Floats) -> bool:
    """Write Cholesky's factor over the lower triangle, 0 along flat directions.

    Returns whether there are none.
    """
    regular = True
    for j in range(len(H)):
        before = H[j, j]
        for l in range(j):
            H[j, j] -= H[j, l] * H[j, l]
        if not H[j, j] > FLAT * before:
            H[j, j] = 0.0
            regular = False
        H[j, j] = math.sqrt(H[j, j])
        for i in range(j + 1, len(H)):
            for l in range(j):
                H[i, j] -= H[i, l] * H[j, l]
            H[i, j] = H[i, j] / H[j, j] if H[j, j] > 0.0 else 0.0
    return regular


@njit(error_model="numpy")
def solve(L: Floats, right: Floats, out: Floats) -> None:
    """Solve with the factor; 0 along flat directions."""
    for j in range(len(L)):
        out[j] = right[j]
        for l in range(j):
            out[j] -= L[j, l] * out[l]
        out[j] = out[j] / L[j, j] if L[j, j] > 0.0 else 0.0
    for j in range(len(L) - 1, -1, -1):
        for l in range(j + 1, len(L)):
            out[j] -= L[l, j] * out[l]
        out[j] = out[j] / L[j, j] if L[j, j] > 0.0 else 0.0


@njit(error_model="numpy")
def maximise(t: Floats, fit: Support, gamma: Floats, separable: bool) -> tuple[float, bool]:  # noqa: FBT001
    """Maximise gamma't - G(gamma), from the gamma given, in place, by Newton's method.

    A step that changes no eta by more than 1 goes up whatever the data (Bach 2010); a longer one is
    halved until it does.

    Parameters
    ----------
    t : (k or more,) array
        `deviation_sums`.
    gamma : (k,) array
        The coefficients of the first k functions.
    separable : bool
        Whether the functions may separate the labels, so that there is no maximum: then directions
        without curvature are left alone. Otherwise they have a slope all the same where labels have
        next to no probability, and steps are damped, so that they change no eta by more than a
        radius.

    Returns
    -------
    value : float
        The maximum, or the supremum.
    attained : bool
        Whether there is a maximum; not where the functions separate the labels.
    """
    k = gamma.size
    first, step, H, L = np.empty(k), np.empty(k), np.empty((k, k)), np.empty((k, k))
    radius = math.inf if separable else TRUSTED
    for _ in range(STEPS):
        newton_sums(gamma, fit.phi, fit.weight, fit.base, first, H)
        rest = t[:k] - first
        reach = _bounded_step(H, L, rest, fit.largest, radius, fit.noise, step)
        promised = inner(step, rest)
        if separable and promised <= NO_GAIN and reach > 0.1:
            return gain(gamma, t, fit) + promised, False
        length = 1.0
        if reach > 1.0:
            before = gain(gamma, t, fit)
            radius = max(radius, 2.0 * reach)
            for _ in range(HALVINGS):
                if gain(gamma + length * step, t, fit) > before:
                    break
                length /= 2.0
                radius = length * reach
        gamma += length * step
        if length * reach <= ENOUGH:
            return gain(gamma, t, fit), True
    return gain(gamma, t, fit), False


@njit(error_model="numpy")
def _bounded_step(
    H: Floats, L: Floats, rest: Floats, largest: Floats, radius: float, noise: float, step: Floats
) -> float:
    """Write the step of Newton's method, damped where it leaves the radius.

    Returns the largest change of an eta that it can bring about. L takes the factor.
    """
    damping = 0.0
    for _ in range(2):
        for j in range(rest.size):
            for l in range(j + 1):
                L[j, l] = H[j, l]
            L[j, j] += damping * largest[j] * largest[j]
        regular = factor(L)
        solve(L, rest, step)
        reach = size = 0.0
        for j in range(rest.size):
            reach += abs(step[j]) * largest[j]
            size += (rest[j] / largest[j]) ** 2
        if damping > 0.0 or (regular and reach <= radius):
            return reach
        size = math.sqrt(size)
        if size <= noise:
            break
        if radius == math.inf:
            return reach
        damping = size / radius
    step[:] = 0.0
    return 0.0


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
    for i in range(len(at)):
        solve(L, at[i], direction)
        s = math.sqrt(drop / inner(at[i], direction))
        for side in range(2):
            signed = s if side else -s
            bounds[i, side] = _edge(t, fit, gamma + signed * direction, signed, at[i], level)
    return bounds


@njit(error_model="numpy")
def _edge(t: Floats, fit: Support, gamma: Floats, s: float, f: Floats, level: float) -> float:
    """Return the extreme gamma'f at which the log likelihood has come down to a level.

    There its gradient is -s f. Newton's method for both equations, from the point that is right
    where the log likelihood is quadratic; a step that changes an eta by r > 1 is shortened to
    log(1 + r), since the third derivative of the logistic loss is bounded by the second.
    """
    k = gamma.size
    first, L, across, along = np.empty(k), np.empty((k, k)), np.empty(k), np.empty(k)
    for _ in range(STEPS):
        newton_sums(gamma, fit.phi, fit.weight, fit.base, first, L)
        factor(L)
        short = gain(gamma, t, fit) - level
        rest = t[:k] - first + s * f
        solve(L, rest, across)
        solve(L, f, along)
        # short - (s f - rest)'step = 0 with step = across + change * along.
        change = short - s * inner(f, across) + inner(rest, across)
        change /= s * inner(f, along) - inner(rest, along)
        across += change * along
        reach = 0.0
        for i in range(fit.weight.size):
            moved = 0.0
            for j in range(k):
                moved += across[j] * fit.phi[j, i]
            reach = max(reach, abs(moved))
        size = math.log1p(reach) / reach if reach > 1.0 else 1.0
        gamma += size * across
        s += size * change
        if reach <= ENOUGH:
            break
    return inner(gamma, f)


# ---- intercept and slope -----------------------------------------------------------------------


class LogOddsRows(NamedTuple):
    """Log odds of rows or cells, x = mean + sd z; sd is 0 where x are equal.

    Attributes
    ----------
    x : (n,) array
    size : (n,) array
        The largest label: 1 of a row, the number of rows of a cell.
    events : (n,) array
        The expected label.
    weight : (n,) array
        w of all its rows.
    weighted : (2, n) array
        w and w z of an event.
    mean, sd : float
    """

    x: Floats
    size: Floats
    events: Floats
    weight: Floats
    weighted: Floats
    mean: float
    sd: float


def log_odds(probs: Floats) -> Floats:
    """Return log(p / (1 - p)) of the second of two columns, both raised to 2.2e-16."""
    ratio = np.maximum(probs[:, 1], SMALLEST_PROBABILITY)
    ratio /= np.maximum(probs[:, 0], SMALLEST_PROBABILITY)
    return np.log(ratio, out=ratio)


def standard_rows(x: Floats, w: Floats, size: Floats | None = None) -> LogOddsRows:
    """Return log odds, of a size up to 700, with what is needed of them; by default of rows."""
    if size is None or size.strides == (0,):  # rows; old numba misreads a one that is repeated
        size = np.ones(x.size)
    total = float(w.sum()) or 1.0
    mean = float(w @ x) / total
    sd = math.sqrt(float(w @ np.square(x - mean)) / total)
    if sd <= SAME * max(1.0, abs(mean)):
        sd = 0.0
    weighted = np.stack([w, w * standard(x, mean, sd)]) / size
    return LogOddsRows(x, size, size * scipy.special.expit(x), w, weighted, mean, sd)


def standard(x: Floats, mean: float, sd: float) -> Floats:
    """Return x in standard units; 0 where they are equal."""
    return (x - mean) / sd if sd > 0 else np.zeros(x.size)


def few_nodes(rows: LogOddsRows) -> Support:
    """Return nodes that stand for many rows; of few rows, the rows."""
    if rows.x.size < ROWS_FOR_NODES or rows.sd == 0:
        return all_rows(rows)
    return _support(rows, *chebyshev_nodes(rows.x, rows.weight, WIDTH))


def all_rows(rows: LogOddsRows) -> Support:
    """Return the rows themselves."""
    return _support(rows, rows.x, rows.weight)


def _support(rows: LogOddsRows, x: Floats, weight: Floats) -> Support:
    z = standard(x, rows.mean, rows.sd)
    return support(x, weight, np.stack([np.ones(x.size), z]))


def recalibrations(
    labels: Labels | Floats, rows: LogOddsRows, nodes: Support, parameters: int
) -> tuple[Floats, Floats]:
    """Fit the intercept alone, and then with the slope, for each row of `labels` (B, n).

    With one of two parameters the slope is left alone.

    Returns
    -------
    estimates : (B, 3) array
        The intercept for slope 1; intercept and slope. Where all labels are equal the intercepts
        are infinite and the slope is 1; where the log odds are equal the slope is 1; where they
        separate the labels the slope is infinite, and so is the intercept against the slope unless
        the middle of the gap is a log odds of 0.
    gains : (B, 2) array
        Of log likelihood over the predictions, of one and of two parameters: at infinity, its
        limit.
    """
    if not labels.flags.c_contiguous:  # each layout would be compiled for three seconds
        labels = labels.copy(order="C")
    sums = deviation_sums(labels, 0, rows.events, rows.weighted)
    estimates, gains = recalibrate(labels, rows, nodes, sums, parameters)
    if nodes.weight.size != rows.x.size:
        slope = estimates[:, 2]
        steep = np.isfinite(slope) & (np.abs(slope) > STEEPEST)
        if steep.any():  # too steep for the nodes
            some = labels[steep], rows, all_rows(rows), sums[steep], parameters
            estimates[steep], gains[steep] = recalibrate(*some)
    return estimates, gains


@njit(error_model="numpy")
def recalibrate(
    labels: Labels | Floats, rows: LogOddsRows, fit: Support, sums: Floats, parameters: int
) -> tuple[Floats, Floats]:
    """Return what `recalibrations` does, by rows or nodes, from the `deviation_sums`."""
    estimates, gains = np.ones((len(labels), 3)), np.empty((len(labels), 2))
    gamma = np.empty(2)
    for b in range(len(labels)):
        row = labels[b]
        low0, high0, low1, high1 = label_ranges(row, rows.size, rows.x)
        if math.inf in (low0, low1):
            estimates[b, 0] = estimates[b, 1] = math.inf if low0 == math.inf else -math.inf
            gains[b, 0] = gains[b, 1] = supremum(row, rows.size, rows.x, rows.weight, math.inf)
            continue
        gamma[0] = 0.0
        gain, _ = maximise(sums[b], fit, gamma[:1], separable=bool(0))
        estimates[b, 0] = estimates[b, 1] = gamma[0]
        gains[b, 0] = gains[b, 1] = max(gain, 0.0)
        if parameters == 1 or rows.sd == 0.0:
            continue
        if high0 <= low1 or high1 <= low0:
            sign = 1.0 if high0 <= low1 else -1.0
            middle = 0.5 * (high0 + low1 if high0 <= low1 else high1 + low0)
            centred = abs(middle) <= SAME * max(abs(high0), abs(high1))
            estimates[b, 1] = 0.0 if centred else -sign * middle * math.inf
            estimates[b, 2] = sign * math.inf
            gains[b, 1] = supremum(row, rows.size, rows.x, rows.weight, middle)
        else:
            gamma[0] = gamma[1] = 0.0
            gain, _ = maximise(sums[b], fit, gamma, separable=bool(0))
            change = gamma[1] / rows.sd
            estimates[b, 1] = gamma[0] - change * rows.mean
            estimates[b, 2] = 1.0 + change
            gains[b, 1] = max(gain, 0.0)
    return estimates, gains


@njit(error_model="numpy")
def label_ranges(
    row: Labels | Floats, size: Floats, x: Floats
) -> tuple[float, float, float, float]:
    """Return least and largest x without the event, then with it; inf where there is none.

    It stops as soon as the ranges overlap, when the labels are not separated.
    """
    low0 = low1 = math.inf
    high0 = high1 = -math.inf
    for i in range(row.size):
        if row[i] > 0:
            low1, high1 = min(low1, x[i]), max(high1, x[i])
        if row[i] < size[i]:
            low0, high0 = min(low0, x[i]), max(high0, x[i])
        if low1 < high0 and low0 < high1:
            break
    return low0, high0, low1, high1


@njit(error_model="numpy")
def supremum(row: Labels | Floats, size: Floats, x: Floats, w: Floats, threshold: float) -> float:
    """Return the gain of labels that a threshold separates: their loss by the predictions.

    Less the entropy of those at the threshold, which no slope tells apart.
    """
    total = mass = events = 0.0
    for i in range(row.size):
        share = row[i] / size[i]
        total += w[i] * (share * max(-x[i], 0.0) + (1.0 - share) * max(x[i], 0.0))
        total += w[i] * math.log1p(math.exp(-abs(x[i])))
        if x[i] == threshold:
            mass += w[i]
            events += w[i] * share
    if 0.0 < events < mass:
        rate = events / mass
        total += events * math.log(rate) + (mass - events) * math.log1p(-rate)
    return total


# ---- nodes that take the place of many rows ------------------------------------------------------


def chebyshev_nodes(z: Floats, w: Floats, width: float) -> tuple[Floats, Floats]:
    """Return the Chebyshev nodes of the cells of log odds that hold rows, and their weights.

    Over a cell of log odds of radius r a function f(a + b z) is that of its interpolation in K
    Chebyshev nodes, but for r_1^-K: r_1 = s + sqrt(s^2 + 1) and s = pi / (b r), where f, as the
    functions of logistic regression, has no singularity nearer to the real line than pi (Trefethen
    2013, Approximation theory and approximation practice, theorem 8.2). The weight of a node is
    the sum over the rows of its Lagrange polynomial.

    Parameters
    ----------
    z, w : (n,) array
        Log odds with weights above 0.
    width : float
        Of a cell, 2 r.
    """
    low = float(z.min())
    cells = int((float(z.max()) - low) / width) + 1
    moments = chebyshev_moments(z, w, low, width, cells)
    used = np.flatnonzero(moments[:, 0])
    angle = (np.arange(NODES) + 0.5) * (math.pi / NODES)
    lagrange = np.cos(np.outer(np.arange(NODES), angle)) * (2.0 / NODES)
    lagrange[0] /= 2.0
    nodes = low + width / 2.0 * (2 * used[:, None] + 1 + np.cos(angle))
    return nodes.ravel(), (moments[used] @ lagrange).ravel()


@njit()
def chebyshev_moments(z: Floats, w: Floats, low: float, width: float, cells: int) -> Floats:
    """Return the sums of w_i T_j(x_i) over the rows of each cell, (cells, NODES), x in [-1, 1]."""
    moments = np.zeros((cells, NODES))
    radius = width / 2.0
    for i in range(z.size):
        place = (z[i] - low) / radius
        c = min(int(0.5 * place), cells - 1)
        x = place - (2.0 * c + 1.0)
        before, now = w[i], w[i] * x
        moments[c, 0] += before
        for j in range(1, NODES):
            moments[c, j] += now
            before, now = now, 2.0 * x * now - before
    return moments
