"""Distinct scores in ascending order, with the weights of their rows and of their events."""

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit
from caltest.numerics.sorted_scores import sort_scores

Floats = NDArray[np.float64]

LARGEST_WEIGHT = 1e60  # sums of such weights can be multiplied, and their beta function be taken


def moderate_weight(weight: Floats) -> Floats:
    """Scale weights of which the largest is beyond 1e60 or below 1e-60 to that size."""
    largest = float(weight.max())
    return weight * (min(max(largest, 1 / LARGEST_WEIGHT), LARGEST_WEIGHT) / largest)


def distinct_scores(
    score: Floats, event: NDArray[np.bool_], weight: Floats | None
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


def in_order(
    score: Floats, event: NDArray[np.bool_], weight: Floats | None
) -> tuple[Floats, NDArray[np.uint8], Floats]:
    """Sort rows by their score in [0, 1], without those of weight 0; return their weights last."""
    if weight is None:
        return *sort_scores(score, event.astype(np.int64)), np.ones(score.size)
    kept = np.flatnonzero(weight > 0)
    kept = kept[np.argsort(score[kept], kind="stable")]
    # Adding zero turns -0.0 into 0.0.
    return score[kept] + 0.0, event[kept].astype(np.uint8), moderate_weight(weight[kept])


@njit()
def _pool(
    ordered: Floats, labels: NDArray[np.uint8], weight: Floats
) -> tuple[Floats, Floats, Floats]:
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
