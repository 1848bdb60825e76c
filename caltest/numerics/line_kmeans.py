"""Lloyd's k-means on the line."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_ROUNDS = 100


def line_kmeans(points: Floats, weight: Floats, M: int) -> Floats:
    """Return at most M centres of weighted points, ascending: all points where they are no more.

    It starts from an even division of the range, so that crowded regions do not take all centres,
    and draws nothing; a cell that loses its points keeps its centre.
    """
    x, at = np.unique(points, return_inverse=True)
    if x.size <= M:
        return x
    mass = np.concatenate([[0.0], np.cumsum(np.bincount(at.ravel(), weight))])
    moment = np.concatenate([[0.0], np.cumsum(np.diff(mass) * x)])
    centres = x[0] + (x[-1] - x[0]) * (np.arange(M) + 0.5) / M
    for _ in range(MOST_ROUNDS):
        edges = np.searchsorted(x, (centres[1:] + centres[:-1]) / 2)
        edges = np.concatenate([[0], edges, [x.size]])
        share, total = np.diff(mass[edges]), np.diff(moment[edges])
        moved = np.where(share > 0, total / np.where(share > 0, share, 1), centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    inside: Floats = np.clip(centres, x[0], x[-1])
    return inside
