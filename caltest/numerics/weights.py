"""Sample weights as shares of their sum."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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
