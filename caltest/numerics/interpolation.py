"""Linear interpolation between ascending scores."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
