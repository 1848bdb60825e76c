"""Isotonic regression by pooling adjacent violators."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@numba.njit(nogil=True, cache=True)
def pool_steps(
    labels: NDArray[np.unsignedinteger], weight: Floats, ends: NDArray[np.bool_]
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Fit a non-decreasing function to labels in the order of their scores, equal scores as one.

    Parameters
    ----------
    labels, weight : (n,) array
        In the order of the scores.
    ends : (n,) array of bool
        Whether a score is the last of its equals.

    Returns
    -------
    mass, events : (blocks,) array
        Sum of the weights, and of those of the events; the fit is their ratio.
    last : (blocks,) array
        The last row of each block.
    """
    mass, events = np.zeros(labels.size), np.zeros(labels.size)
    last = np.empty(labels.size, np.int64)
    top = 0
    for i in range(labels.size):
        mass[top] += weight[i]
        events[top] += weight[i] * labels[i]
        if not ends[i]:
            continue
        # Ratios are compared by cross products, which are exact for counts.
        while top > 0 and events[top - 1] * mass[top] >= events[top] * mass[top - 1]:
            mass[top - 1] += mass[top]
            events[top - 1] += events[top]
            mass[top], events[top] = 0.0, 0.0
            top -= 1
        last[top] = i
        top += 1
    return mass[:top].copy(), events[:top].copy(), last[:top].copy()
