"""Logistic recalibration of two classes, Cox 1958: log odds x + alpha + beta z of the label.

x are the predicted log odds and z is x in standard units, so that (0, 0) is no change and the slope
is 1 + beta / sd(x). The labels enter the likelihood by two sums; what else it needs are sums over
the predictions of a smooth function of x (see `deviation_fit`). They are the same for all redrawn
labels, and are taken over a few hundred nodes instead of n rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caltest.measures.recalibration.deviation_fit import Support, deviation_sums, maximise, support
from caltest.measures.recalibration.log_odds_basis import chebyshev_nodes
from caltest.numerics.logistic import exp_minus
from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]

SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)  # as the calibrators take logarithms
SAME = 1e-10  # relative standard deviation of the log odds that counts as none
ROWS_FOR_NODES = 2048  # rows from which on nodes take their place
WIDTH = 0.5  # of a cell of log odds
STEEPEST = 2.0  # slope up to which the nodes give 14 digits


class Rows(NamedTuple):
    """Log odds of the predictions x = mean + sd z and weights; sd is 0 where x are equal.

    Attributes
    ----------
    x : (n,) array
    events : (n,) array
        Probabilities.
    weight : (n,) array
    weighted : (2, n) array
        w and w z.
    mean, sd : float
    """

    x: Floats
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


def standard_rows(x: Floats, w: Floats) -> Rows:
    """Return log odds, of a size up to 700, with what is needed of them."""
    weighted, events = np.empty((2, x.size)), np.empty(x.size)
    mean, sd = _standardize(x, w, weighted[0], weighted[1], events)
    return Rows(x, events, w, weighted, mean, sd)


@njit(fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def _standardize(
    x: Floats, w: Floats, first: Floats, second: Floats, events: Floats
) -> tuple[float, float]:
    """Write w, w z and the probabilities; return mean and standard deviation of x."""
    total = mean = squares = 0.0
    for i in range(x.size):
        total += w[i]
        mean += w[i] * x[i]
    mean /= total
    for i in range(x.size):
        squares += w[i] * (x[i] - mean) * (x[i] - mean)
    sd = math.sqrt(squares / total)
    if sd <= SAME * max(1.0, abs(mean)):
        sd = 0.0
    scale = 1.0 / sd if sd > 0.0 else 0.0
    for i in range(x.size):
        first[i] = w[i]
        second[i] = w[i] * (x[i] - mean) * scale
        e = exp_minus(abs(x[i]))
        q = 1.0 / (1.0 + e)
        events[i] = q if x[i] >= 0.0 else e * q
    return mean, sd


def few_nodes(rows: Rows) -> Support:
    """Return nodes that stand for many rows; of few rows, the rows."""
    if rows.x.size < ROWS_FOR_NODES or rows.sd == 0:
        return all_rows(rows)
    return _support(rows, *chebyshev_nodes(rows.x, rows.weight, WIDTH))


def all_rows(rows: Rows) -> Support:
    """Return the rows themselves."""
    return _support(rows, rows.x, rows.weight)


def _support(rows: Rows, x: Floats, weight: Floats) -> Support:
    z = (x - rows.mean) / rows.sd if rows.sd > 0 else np.zeros(x.size)
    return support(x, weight, np.stack([np.ones(x.size), z]))


def recalibrations(
    labels: Labels, rows: Rows, nodes: Support, parameters: int
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
    sums = deviation_sums(labels, 0, rows.events, rows.weighted)
    return _recalibrations(labels, np.broadcast_to(1.0, rows.x.size), rows, nodes, sums, parameters)


@njit()
def recalibrate(
    labels: Labels | Floats,
    size: Floats,
    rows: Rows,
    fit: Support,
    sums: Floats,
    parameters: int,
) -> tuple[Floats, Floats]:
    """Return what `recalibrations` does, by rows or nodes, from the `deviation_sums`.

    `labels` are numbers of events of cells of some `size`; rows are cells of size 1.
    """
    estimates, gains = np.ones((len(labels), 3)), np.empty((len(labels), 2))
    gamma = np.empty(2)
    for b in range(len(labels)):
        row = labels[b]
        low0, high0, low1, high1 = label_ranges(row, size, rows.x)
        if math.inf in (low0, low1):
            estimates[b, 0] = estimates[b, 1] = math.inf if low0 == math.inf else -math.inf
            gains[b, 0] = gains[b, 1] = supremum(row, size, rows.x, rows.weight, math.inf)
            continue
        gamma[0] = 0.0
        gain, _ = maximise(sums[b], fit, gamma[:1], separable=False)
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
            gains[b, 1] = supremum(row, size, rows.x, rows.weight, middle)
        else:
            gamma[0] = gamma[1] = 0.0
            gain, _ = maximise(sums[b], fit, gamma, separable=False)
            change = gamma[1] / rows.sd
            estimates[b, 1] = gamma[0] - change * rows.mean
            estimates[b, 2] = 1.0 + change
            gains[b, 1] = max(gain, 0.0)
    return estimates, gains


def cell_recalibrations(
    counts: Floats, size: Floats, expected: Floats, rows: Rows, nodes: Support, parameters: int
) -> tuple[Floats, Floats]:
    """Fit them to numbers of events (B, C) of cells of some size and expected number, (C,).

    `rows` are those of the log odds of the cells, with their sizes as weights.
    """
    scale = 1.0 / rows.sd if rows.sd > 0 else 0.0
    functions = np.stack([np.ones(rows.x.size), (rows.x - rows.mean) * scale])
    sums = np.ascontiguousarray((counts - expected) @ functions.T)
    return _recalibrations(counts, size, rows, nodes, sums, parameters)


def _recalibrations(
    counts: Labels | Floats,
    size: Floats,
    rows: Rows,
    nodes: Support,
    sums: Floats,
    parameters: int,
) -> tuple[Floats, Floats]:
    estimates, gains = recalibrate(counts, size, rows, nodes, sums, parameters)
    if nodes.weight.size != rows.x.size:
        slope = estimates[:, 2]
        steep = np.isfinite(slope) & (np.abs(slope) > STEEPEST)
        if steep.any():  # too steep for the nodes
            some = counts[steep], size, rows, all_rows(rows), sums[steep], parameters
            estimates[steep], gains[steep] = recalibrate(*some)
    return estimates, gains


@njit()
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


@njit()
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
    if events <= 0.0 or events >= mass:
        return total
    rate = events / mass
    return total + events * math.log(rate) + (mass - events) * math.log1p(-rate)
