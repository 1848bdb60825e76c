"""Linear interpolation between ascending scores."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@numba.njit(nogil=True, cache=True)
def interpolate(x: Floats, score: Floats, values: Floats) -> Floats:
    """Interpolate values linearly between ascending scores, and hold them outside.

    Unlike `numpy.interp` it overflows nowhere, and stays between the two values.
    """
    found = np.empty(x.size)
    for i in range(x.size):
        k = np.searchsorted(score, x[i])
        if k == score.size or (k == 0 and x[i] < score[0]):
            found[i] = values[min(k, score.size - 1)]
        elif score[k] == x[i]:
            found[i] = values[k]
        else:
            before, after = values[k - 1], values[k]
            share = (x[i] - score[k - 1]) / (score[k] - score[k - 1])
            between = before + share * (after - before)
            found[i] = min(max(between, min(before, after)), max(before, after))
    return found
