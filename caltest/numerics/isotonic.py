"""Isotonic regression by pooling adjacent violators, and what it gains on a score."""

import math

import numpy as np

from caltest.numerics.loops import njit
from caltest.types import Flags, Floats, Ints, Labels

ROUNDING = 1e-15  # of ratios of sums of weights


@njit()
def pool_steps(labels: Labels | Floats, weight: Floats, ends: Flags) -> tuple[Floats, Floats, Ints]:
    """Fit a non-decreasing function to labels in the order of their scores, equal scores as one.

    Parameters
    ----------
    labels, weight : (n,) array
        In the order of the scores; in place of a label the share of events of its weight.
    ends : (n,) array of bool
        Whether a score is the last of its equals.

    Returns
    -------
    mass, events : (blocks,) array
        Sum of the weights, and of those of the events; the fit is their ratio.
    last : (blocks,) array
        The last row of each block.
    """
    mass, events = np.empty(labels.size), np.empty(labels.size)
    last = np.empty(labels.size, np.int64)
    top = _pool(labels, weight, ends, mass, events, last, bool(0))  # False itself is a type
    return mass[:top].copy(), events[:top].copy(), last[:top].copy()


@njit()
def _pool(
    labels: Labels | Floats,
    weight: Floats,
    ends: Flags,
    mass: Floats,
    events: Floats,
    last: Ints,
    each_alone: bool,  # noqa: FBT001
) -> int:
    """Write the blocks into the arrays given, (n,), and return their number.

    Where `each_alone` no scores are equal and all weights are 1. Most neighbours then are pooled
    as their labels fall or stay: runs up to where they rise are found without a branch.
    """
    top, runs, held, happened = 0, 0, 0.0, 0.0
    if each_alone:
        carried = 0 * labels[0]
        for i in range(labels.size - 1):
            carried += labels[i]
            events[runs], last[runs] = carried, i
            runs += labels[i] < labels[i + 1]
        events[runs], last[runs] = carried + labels[-1], labels.size - 1
        runs += 1
        for k in range(runs - 1, 0, -1):
            mass[k], events[k] = last[k] - last[k - 1], events[k] - events[k - 1]
        mass[0] = last[0] + 1.0
    else:
        for i in range(labels.size):
            held += weight[i]
            happened += weight[i] * labels[i]
            if ends[i]:
                mass[runs], events[runs], last[runs] = held, happened, i
                runs, held, happened = runs + 1, 0.0, 0.0
    for k in range(runs):
        held, happened, end = mass[k], events[k], last[k]
        # Cross products compare ratios: of counts exactly, of weights to rounding.
        while top > 0 and events[top - 1] * held >= happened * mass[top - 1] * (1.0 - ROUNDING):
            top -= 1
            held += mass[top]
            happened += events[top]
        mass[top], events[top], last[top] = held, happened, end
        top += 1
    return top


@njit()
def recalibrated_scores(
    labels: Labels | Floats,
    weight: Floats,
    ends: Flags,
    logarithmic: bool,  # noqa: FBT001
) -> Floats:
    """Return the weighted sum of the scores of the isotonic fit for each row of labels, (B,).

    The score of a fitted probability r is r (1 - r) on average over its block, or its entropy.
    """
    size, n = labels.shape
    sums = np.zeros(size)
    mass, events, last = np.empty(n), np.empty(n), np.empty(n, np.int64)
    each_alone = bool(ends.all() and (weight == 1.0).all())
    for b in range(size):
        top = _pool(labels[b], weight, ends, mass, events, last, each_alone)
        for k in range(top):
            held, happened = mass[k], events[k]
            if not 0.0 < happened < held:
                continue
            if logarithmic:
                sums[b] -= happened * math.log(happened / held)
                sums[b] -= (held - happened) * math.log1p(-happened / held)
            else:
                sums[b] += happened * (1.0 - happened / held)
    return sums
