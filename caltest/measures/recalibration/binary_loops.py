"""Logistic recalibration of two classes, Cox 1958: log odds x + alpha + beta z of the label.

x are the predicted log odds and z is x in standard units, so that (0, 0) is no change and the slope
is 1 + beta / sd(x). The labels enter the likelihood by two sums, of w y and of w z y; what else it
needs are sums over the predictions of a smooth function of x. They are the same for all redrawn
labels, and are taken over a few hundred nodes instead of n rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from caltest.numerics.logistic import exp_minus

Floats = NDArray[np.float64]


Labels = NDArray[np.unsignedinteger]


SMALLEST = float(np.finfo(np.float64).eps)  # as the calibrators take logarithms


SAME = 1e-10  # relative standard deviation of the log odds that counts as none


FEWEST = 2048  # rows from which on nodes take their place


RADIUS = 0.25  # half the width of a cell of log odds


DEGREE = 12  # nodes of a cell


STEEPEST = 2.0  # slope up to which the nodes give 14 digits


STEPS = 200


HALVINGS = 60


FLAT = 1e-14  # relative determinant of the curvature that counts as none


NOISE = 1e-15  # of a slope, relative to the sum of weights


TRUSTED = 10.0  # change of the log odds by a first step


ENOUGH = 1e-9  # change of the log odds by a step: what remains is its square


class Nodes(NamedTuple):
    """Log odds with the weights of the rows that they stand for, and x = mean + sd z."""

    x: Floats
    z: Floats
    weight: Floats
    mean: float
    sd: float


def log_odds(probs: Floats) -> Floats:
    """Return log(p / (1 - p)) of the second of two columns, both raised to 2.2e-16."""
    ratio = np.maximum(probs[:, 1], SMALLEST)
    ratio /= np.maximum(probs[:, 0], SMALLEST)
    return np.log(ratio, out=ratio)


def standard_rows(x: Floats, w: Floats) -> Nodes:
    """Return the rows themselves as nodes; sd is 0 where the log odds are equal."""
    z = np.empty(x.size)
    mean, sd = _standardize(x, w, z)
    return Nodes(x, z, w, mean, sd)


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"})
def _standardize(x: Floats, w: Floats, z: Floats) -> tuple[float, float]:
    total = mean = squares = 0.0
    for i in range(x.size):
        total += w[i]
        mean += w[i] * x[i]
    mean /= total
    for i in range(x.size):
        z[i] = x[i] - mean
        squares += w[i] * z[i] * z[i]
    sd = math.sqrt(squares / total)
    if sd <= SAME * max(1.0, abs(mean)):
        z[:] = 0.0
        return mean, 0.0
    for i in range(x.size):
        z[i] /= sd
    return mean, sd


def few_nodes(rows: Nodes) -> Nodes:
    """Return nodes that stand for many rows; of few rows, the rows.

    Over a cell of log odds of radius r a function f(a + b x) is that of its interpolation in K
    Chebyshev nodes, but for r_1^-K: r_1 = s + sqrt(s^2 + 1) and s = pi / (b r), since the
    functions here have no singularity nearer to the real line than pi (Trefethen 2013,
    Approximation theory and approximation practice, theorem 8.2). The weight of a node is the sum
    over the rows of its Lagrange polynomial.
    """
    if rows.x.size < FEWEST or rows.sd == 0:
        return rows
    low = float(rows.x.min())
    cells = int((float(rows.x.max()) - low) / (2 * RADIUS)) + 1
    moments = chebyshev_moments(rows.x, rows.weight, low, cells)
    angle = (np.arange(DEGREE) + 0.5) * (math.pi / DEGREE)
    lagrange = np.cos(np.outer(np.arange(DEGREE), angle)) * (2.0 / DEGREE)
    lagrange[0] /= 2.0
    used = np.flatnonzero(moments[:, 0])
    weight = moments[used] @ lagrange
    x = low + RADIUS * (2 * used[:, None] + 1 + np.cos(angle))
    z = (x - rows.mean) / rows.sd
    return Nodes(x.ravel(), z.ravel(), weight.ravel(), rows.mean, rows.sd)


@numba.njit(nogil=True, cache=True)
def chebyshev_moments(x: Floats, w: Floats, low: float, cells: int) -> Floats:
    """Return sum_i w_i T_j(t_i) over the rows of each cell, (cells, DEGREE), t in [-1, 1]."""
    moments = np.zeros((cells, DEGREE))
    for i in range(x.size):
        place = (x[i] - low) / RADIUS
        c = min(int(0.5 * place), cells - 1)
        t = place - (2.0 * c + 1.0)
        before, now = w[i], w[i] * t
        moments[c, 0] += before
        for j in range(1, DEGREE):
            moments[c, j] += now
            before, now = now, 2.0 * t * now - before
    return moments


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"})
def event_sums(labels: Labels, w: Floats, wz: Floats) -> Floats:
    """Return the sums of w and of w z over the events, for each row of `labels` (B, n)."""
    out = np.zeros((labels.shape[0], 2))
    for b in range(labels.shape[0]):
        row = labels[b]
        first = second = 0.0
        for i in range(row.size):
            first += w[i] * row[i]
            second += wz[i] * row[i]
        out[b, 0], out[b, 1] = first, second
    return out


@numba.njit(nogil=True, cache=True)
def label_ranges(row: Labels, x: Floats) -> Floats:
    """Return least and largest x without the event, then with it; inf where there is none.

    It stops as soon as the ranges overlap: that is all that anyone wants to know.
    """
    low0 = low1 = math.inf
    high0 = high1 = -math.inf
    for i in range(row.size):
        if row[i]:
            low1, high1 = min(low1, x[i]), max(high1, x[i])
        else:
            low0, high0 = min(low0, x[i]), max(high0, x[i])
        if low1 < high0 and low0 < high1:
            break
    return np.array([low0, high0, low1, high1])


@numba.njit(nogil=True, cache=True)
def tied_loss(row: Labels, x: Floats, w: Floats, threshold: float) -> float:
    """Return the entropy of the labels at the threshold, which no slope tells apart."""
    mass = events = 0.0
    for i in range(row.size):
        if x[i] == threshold:
            mass += w[i]
            events += w[i] * row[i]
    if events <= 0.0 or events >= mass:
        return 0.0
    return -events * math.log(events / mass) - (mass - events) * math.log1p(-events / mass)


@numba.njit(nogil=True, cache=True)
def _softplus(v: float) -> float:
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))


@numba.njit(nogil=True, cache=True)
def fit_recalibration(
    x: Floats,
    z: Floats,
    w: Floats,
    first: float,
    second: float,
    alpha: float,
    beta: float,
    parameters: int,
) -> tuple[float, float, float]:
    """Maximise the likelihood by Newton's method.

    Parameters
    ----------
    x, z, w : (k,) array
        Nodes.
    first, second : float
        The sums of w y and of w z y over the rows.
    alpha, beta : float
        Where to start.
    parameters : int
        1 leaves beta alone, 2 fits both.

    Returns
    -------
    alpha, beta : float
        Estimates. The labels must not be separated.
    gain : float
        That of the log likelihood over (0, 0).
    """
    largest = 0.0
    for k in range(z.size):
        largest = max(largest, abs(z[k]))
    radius = TRUSTED
    for _ in range(STEPS):
        da, db = _newton_step(x, z, w, first, second, alpha, beta, parameters, largest, radius)
        reach = abs(da) + abs(db) * largest
        # A step that changes no log odds by more than 1 goes up whatever the data (Bach 2010).
        if reach > 1.0:
            before = log_likelihood_gain(x, z, w, first, second, alpha, beta)
            radius = max(radius, 2.0 * reach)
            for _ in range(HALVINGS):
                if log_likelihood_gain(x, z, w, first, second, alpha + da, beta + db) > before:
                    break
                da, db, reach = da / 2.0, db / 2.0, reach / 2.0
                radius = reach
        alpha, beta = alpha + da, beta + db
        if reach <= ENOUGH:
            break
    gain = log_likelihood_gain(x, z, w, first, second, alpha, beta)
    return alpha, beta, max(gain, 0.0)


@numba.njit(nogil=True, cache=True)
def _newton_step(
    x: Floats,
    z: Floats,
    w: Floats,
    first: float,
    second: float,
    alpha: float,
    beta: float,
    parameters: int,
    largest: float,
    radius: float,
) -> tuple[float, float]:
    """Return the step of Newton's method, damped where it leaves the radius.

    It does where a direction has next to no curvature: labels of next to no probability have a
    slope there all the same. The radius is that of the change of the log odds.
    """
    g0, g1, h00, h01, h11 = _derivatives(x, z, w, alpha, beta)
    g0, g1 = first - g0, second - g1
    if parameters == 1:
        g1, h01, h11, largest = 0.0, 0.0, 1.0, 1.0
    det = h00 * h11 - h01 * h01
    if det > FLAT * (h00 * h11):
        da, db = (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det
        if abs(da) + abs(db) * largest <= radius:
            return da, db
    size = math.hypot(g0, g1 / largest)
    if size <= NOISE * w.sum():
        return 0.0, 0.0
    h00 += size / radius
    h11 += size / radius * largest * largest
    det = h00 * h11 - h01 * h01
    return (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def _derivatives(
    x: Floats, z: Floats, w: Floats, alpha: float, beta: float
) -> tuple[float, float, float, float, float]:
    """Return the sums of w q, w q z, and of w q (1 - q) times 1, z, z^2, q = sigmoid(eta)."""
    g0 = g1 = h00 = h01 = h11 = 0.0
    for k in range(x.size):
        eta = x[k] + alpha + beta * z[k]
        e = exp_minus(abs(eta))
        upper = 1.0 / (1.0 + e)
        q = w[k] * (upper if eta >= 0.0 else e * upper)
        h = w[k] * (e * upper * upper)
        g0 += q
        g1 += q * z[k]
        h00 += h
        h01 += h * z[k]
        h11 += h * z[k] * z[k]
    return g0, g1, h00, h01, h11


@numba.njit(nogil=True, cache=True)
def log_likelihood_gain(
    x: Floats, z: Floats, w: Floats, first: float, second: float, alpha: float, beta: float
) -> float:
    """Return the log likelihood at (alpha, beta) less that at (0, 0).

    As sum_i (y_i - p_i) d_i less a sum of terms of order d^2, d = alpha + beta z, so that small
    gains are not differences of large numbers.
    """
    expected = expected_z = curved = 0.0
    for k in range(x.size):
        e = math.exp(-abs(x[k]))
        p = 1.0 / (1.0 + e) if x[k] >= 0.0 else e / (1.0 + e)
        d = alpha + beta * z[k]
        if abs(d) < 1.0:
            growth = math.log1p(p * math.expm1(d))
        else:
            growth = _softplus(x[k] + d) - _softplus(x[k])
        expected += w[k] * p
        expected_z += w[k] * p * z[k]
        curved += w[k] * (growth - p * d)
    return alpha * (first - expected) + beta * (second - expected_z) - curved


@numba.njit(nogil=True, cache=True)
def recalibrate(
    labels: Labels, rows: Nodes, nodes: Nodes, sums: Floats, parameters: int
) -> tuple[Floats, Floats]:
    """Fit the intercept alone, and then with the slope, for each row of `labels` (B, n).

    `sums` (B, 2) are the `event_sums`. With one of two parameters the slope is left alone.

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
    estimates, gains = np.empty((len(labels), 3)), np.empty((len(labels), 2))
    for b in range(len(labels)):
        row, first, second = labels[b], sums[b, 0], sums[b, 1]
        low0, high0, low1, high1 = label_ranges(row, rows.x)
        if math.inf in (low0, low1):
            everything = math.inf if low0 == math.inf else -math.inf
            estimates[b] = everything, everything, 1.0
            gains[b] = loss_of_labels(row, rows.x, rows.weight)
            continue
        alpha, _, gain = fit_recalibration(*nodes[:3], first, second, 0.0, 0.0, 1)
        estimates[b] = alpha, alpha, 1.0
        gains[b] = gain
        if parameters == 1 or rows.sd == 0.0:
            continue
        if high0 <= low1 or high1 <= low0:
            sign = 1.0 if high0 <= low1 else -1.0
            middle = 0.5 * (high0 + low1 if high0 <= low1 else high1 + low0)
            centred = abs(middle) <= SAME * max(abs(high0), abs(high1))
            estimates[b, 1] = 0.0 if centred else -sign * middle * math.inf
            estimates[b, 2] = sign * math.inf
            loss = loss_of_labels(row, rows.x, rows.weight)
            gains[b, 1] = loss - tied_loss(row, rows.x, rows.weight, middle)
        else:
            intercept, slope, gain = _fit_both(rows, nodes, first, second)
            estimates[b, 1], estimates[b, 2] = intercept, slope
            gains[b, 1] = gain
    return estimates, gains


@numba.njit(nogil=True, cache=True)
def _fit_both(rows: Nodes, nodes: Nodes, first: float, second: float) -> tuple[float, float, float]:
    """Return intercept, slope and gain; by the rows where the slope is too steep for the nodes."""
    alpha, beta, gain = fit_recalibration(*nodes[:3], first, second, 0.0, 0.0, 2)
    if nodes.x.size != rows.x.size and abs(1.0 + beta / rows.sd) > STEEPEST:
        alpha, beta, gain = fit_recalibration(*rows[:3], first, second, alpha, beta, 2)
    change = beta / rows.sd
    return alpha - change * rows.mean, 1.0 + change, gain


@numba.njit(nogil=True, cache=True)
def loss_of_labels(row: Labels, x: Floats, w: Floats) -> float:
    """Return the negative log likelihood of the predictions."""
    total = 0.0
    for i in range(row.size):
        total += w[i] * _softplus(-x[i] if row[i] else x[i])
    return total
