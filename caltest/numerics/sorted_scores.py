"""Scores in ascending order with their labels, and the partial sums of labels minus scores."""

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
    _join(keys, labels)
    keys.sort()
    kept = np.empty(score.size, np.uint8)
    _split(keys, kept)
    return keys.view(np.float64), kept


@njit()
def _join(keys: Ints, labels: Ints) -> None:
    for i in range(keys.size):
        keys[i] = (keys[i] << 1) | labels[i]


@njit()
def _split(keys: Ints, kept: Events) -> None:
    for i in range(keys.size):
        kept[i] = keys[i] & 1
        keys[i] >>= 1


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


def sum_variance(score: Floats, weight: Floats) -> float:
    """Return the variance of sum_i w_i y_i under calibration, sum_i w_i^2 p_i (1 - p_i)."""
    return float(np.square(weight) @ (score * (1.0 - score)))
