"""The classes of the largest probabilities."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@numba.njit(nogil=True, cache=True)
def largest_classes(probs: Floats, r: int) -> NDArray[np.int64]:
    """Return the r classes of the largest probabilities in falling order, (n, r).

    Equal ones come in class order.
    """
    n, m = probs.shape
    order = np.empty((n, r), np.int64)
    if r == 1:
        for i in range(n):
            order[i, 0] = probs[i].argmax()
        return order
    for i in range(n):
        kept = 0
        for j in range(m):
            p = probs[i, j]
            if kept == r and p <= probs[i, order[i, r - 1]]:
                continue
            k = min(kept, r - 1)
            while k > 0 and probs[i, order[i, k - 1]] < p:
                order[i, k] = order[i, k - 1]
                k -= 1
            order[i, k] = j
            kept = min(kept + 1, r)
    return order
