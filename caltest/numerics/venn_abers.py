"""Isotonic regression with one observation more, for every place and label it may have.

Vovk, Petej, Fedorova 2015, section 3: the fit is the slope of the greatest convex minorant of the
cumulative sums (mass, events). As the added observation moves up, the minorant changes at its place
only, so that all fits take one pass with a stack of corners.
"""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def added_event(mass: Floats, events: Floats) -> Floats:
    """Return the fit at each of the d distinct scores after an event of weight 1 is added to it.

    An event that is added between two scores is pooled with the upper one, which is not larger.
    """
    rise, run = _slopes(mass, events)
    return np.clip(rise / run, 0.0, 1.0)


def added_other(mass: Floats, events: Floats) -> Floats:
    """Return the fit at each score after an observation that is no event is added to it.

    Seen from the other side, where an event is none and scores descend, it is an added event.
    """
    rise, run = _slopes(mass[::-1].copy(), (mass - events)[::-1].copy())
    return np.clip((run - rise) / run, 0.0, 1.0)[::-1]


@numba.njit(nogil=True, cache=True)
def _slopes(mass: Floats, events: Floats) -> tuple[Floats, Floats]:
    """Return the rise and the run of the minorant at each score with an event added there."""
    d = mass.size
    # P_{-1} = (-1, -1), P_0 = (0, 0), ..., P_d: the added event comes before all scores.
    x, y = np.empty(d + 2), np.empty(d + 2)
    x[0], y[0], x[1], y[1] = -1.0, -1.0, 0.0, 0.0
    for i in range(d):
        x[i + 2] = x[i + 1] + mass[i]
        y[i + 2] = y[i + 1] + events[i]
    corner = _corners_from_the_right(x, y)
    top = corner.size - 1
    rise, run = np.empty(d), np.empty(d)
    for i in range(d):
        low, high = corner[top], corner[top - 1]
        rise[i], run[i] = y[high] - y[low], x[high] - x[low]
        if run[i] <= 0:  # lost in sums that are 1e16 times larger
            rise[i], run[i] = events[i] + 1.0, mass[i] + 1.0
        # The event moves past score i: P_i is replaced by P_{i+1} - (1, 1).
        x[i + 1], y[i + 1] = x[i] + mass[i], y[i] + events[i]
        if not _below(x, y, i + 1, low, high):
            continue
        top -= 1
        while top > 0 and not _turns_left(x, y, i + 1, corner[top], corner[top - 1]):
            top -= 1
        top += 1
        corner[top] = i + 1
    return rise, run


@numba.njit(nogil=True, cache=True)
def _corners_from_the_right(x: Floats, y: Floats) -> NDArray[np.int64]:
    """Return the corners of the greatest convex minorant, the last point first."""
    stack = np.empty(x.size, np.int64)
    size = 0
    for i in range(x.size):
        while size > 1 and not _turns_left(x, y, stack[size - 2], stack[size - 1], i):
            size -= 1
        stack[size] = i
        size += 1
    return stack[:size][::-1].copy()


@numba.njit(nogil=True, cache=True, inline="always")
def _turns_left(x: Floats, y: Floats, a: int, b: int, c: int) -> bool:
    return bool((y[b] - y[a]) * (x[c] - x[b]) < (y[c] - y[b]) * (x[b] - x[a]))


@numba.njit(nogil=True, cache=True, inline="always")
def _below(x: Floats, y: Floats, i: int, low: int, high: int) -> bool:
    return bool((y[i] - y[low]) * (x[high] - x[low]) < (y[high] - y[low]) * (x[i] - x[low]))
