"""Scores in ascending order with labels and weights, their partial sums, and interpolation."""

from __future__ import annotations

import math

import numpy as np

from caltest.numerics.loops import njit
from caltest.types import Events, Flags, Floats, Ints, Labels

LANES = 8  # independent sums side by side hide the latency of each


def sort_scores(score: Floats, labels: Ints) -> tuple[Floats, Events]:
    """Sort scores in [0, 1] with their binary labels, those of equal scores too.

    A score that is not negative is ordered as the integer of its bits, and the highest two bits of
    a score up to 1 are zero; so score and label fit in one integer, and sorting it is several
    times faster than an argsort with two gathers.
    """
    # Adding zero turns -0.0 into 0.0.
    keys = (score + 0.0).view(np.int64)
    keys <<= 1
    keys |= labels
    keys.sort()
    kept = np.empty(score.size, np.uint8)
    np.bitwise_and(keys, 1, out=kept, casting="unsafe")
    keys >>= 1
    return keys.view(np.float64), kept


def step_ends(ordered: Floats) -> Flags:
    """Return whether each sorted score is the last of its equals."""
    return np.append(ordered[:-1] < ordered[1:], True)


@njit()
def partial_sum_extremes(
    observed: Labels | Floats, scale: Floats, shift: Floats, ends: Flags, start: Ints
) -> Floats:
    """Return the largest and smallest of 0 and the partial sums of each group, (2, B, G).

    Of `scale` (e - `shift`), at the `ends`: e are labels (B, n), or signs, or numbers of events, in
    the order of their scores; the groups begin where `start` (G + 1,) says.
    """
    size, groups = observed.shape[0], start.size - 1
    out = np.zeros((2, size, groups))
    carried = np.empty(LANES)
    for g in range(groups):
        for first in range(0, size, LANES):
            rows = observed[first : first + LANES]
            top, bottom = out[0, first : first + LANES, g], out[1, first : first + LANES, g]
            carried[:] = 0.0
            for i in range(start[g], start[g + 1]):
                for lane in range(len(rows)):
                    carried[lane] += scale[i] * (rows[lane, i] - shift[i])
                if ends[i]:
                    for lane in range(len(rows)):
                        top[lane] = max(top[lane], carried[lane])
                        bottom[lane] = min(bottom[lane], carried[lane])
    return out


@njit(fastmath={"contract", "nsz", "reassoc"})  # lets sums run in several chains
def sum_variance(score: Floats, weight: Floats) -> float:
    """Return the variance of sum_i w_i y_i under calibration, sum_i w_i^2 p_i (1 - p_i)."""
    total = 0.0
    for i in range(score.size):
        total += weight[i] * weight[i] * (score[i] * (1.0 - score[i]))
    return total


# ---- scores with weights ------------------------------------------------------------------------

LARGEST_FACTOR = 1e60  # sums of such weights can be multiplied, and their beta function be taken


def moderate_weight(weight: Floats, most: float = LARGEST_FACTOR) -> Floats:
    """Scale weights of which the largest is beyond `most`, 1e60, or below 1 / most to that size."""
    largest = float(weight.max())
    return weight * (min(max(largest, 1 / most), most) / largest)


def distinct_scores(
    score: Floats, event: Flags, weight: Floats | None
) -> tuple[Floats, Floats, Floats]:
    """Pool rows of equal score in [0, 1].

    Returns
    -------
    values : (d,) array
        The distinct scores of the rows with positive weight.
    mass, events : (d,) array
        The sum of the weights of their rows, and of those that are events; without weights these
        are exact counts.
    """
    return _pool(*in_order(score, event, weight))


def in_order(score: Floats, event: Flags, weight: Floats | None) -> tuple[Floats, Events, Floats]:
    """Sort rows by their score in [0, 1], without those of weight 0; return their weights last."""
    if weight is None:
        return *sort_scores(score, event.astype(np.int64)), np.ones(score.size)
    kept = np.flatnonzero(weight > 0)
    kept = kept[np.argsort(score[kept], kind="stable")]
    # Adding zero turns -0.0 into 0.0.
    return score[kept] + 0.0, event[kept].astype(np.uint8), moderate_weight(weight[kept])


@njit()
def _pool(ordered: Floats, labels: Events, weight: Floats) -> tuple[Floats, Floats, Floats]:
    n = ordered.size
    values, mass, events = np.empty(n), np.zeros(n), np.zeros(n)
    d = -1
    for i in range(n):
        if i == 0 or ordered[i] != ordered[i - 1]:
            d += 1
            values[d] = ordered[i]
        mass[d] += weight[i]
        if labels[i]:
            events[d] += weight[i]
    return values[: d + 1].copy(), mass[: d + 1].copy(), events[: d + 1].copy()


def interpolate(x: Floats, score: Floats, values: Floats) -> Floats:
    """Interpolate values linearly between ascending scores, and hold them outside.

    Unlike `numpy.interp` it overflows nowhere, and stays between the two values.
    """
    k = np.minimum(np.searchsorted(score, x), score.size - 1)
    found = np.asarray(values[k], dtype=np.float64)
    inside = np.flatnonzero((k > 0) & (x < score[k]))
    k = k[inside]
    before, after = values[k - 1], values[k]
    share = (x[inside] - score[k - 1]) / (score[k] - score[k - 1])
    between = before + share * (after - before)
    found[inside] = np.clip(between, np.minimum(before, after), np.maximum(before, after))
    return found


LARGEST_WEIGHT = 1e308


def shares(weight: Floats | None, n: int) -> tuple[Floats, float]:
    """Return the n weights, some of them positive, over their sum, and the sum, at most 1e308.

    They are divided by a power of 2 first, which loses no digit: no sum of huge ones is infinite,
    and that of integers is exact.
    """
    if weight is None:
        return np.full(n, 1 / n), float(n)
    unit = 2.0 ** (math.frexp(float(weight.max()))[1] - 1)
    share = weight / unit
    total = float(share.sum())
    share /= total
    return share, min(total * unit, LARGEST_WEIGHT)
