"""Cosines and sines of the multiples of angles, by their recursion."""

import numpy as np

from caltest.types import Floats


def harmonics(x: Floats, count: int, *, sines: bool = True) -> Floats:
    """Return cos(k x) for k = 1, ..., count, and then sin(k x), (2 count, ...) of x (...)."""
    first = np.cos(x)
    starts = ((first, 1.0), (np.sin(x), 0.0))[: 1 + sines]
    twice, found = 2.0 * first, np.empty((len(starts), count, *x.shape))
    for part, (start, before) in zip(found, starts, strict=True):
        part[0] = start
        for k in range(1, count):
            np.multiply(twice, part[k - 1], out=part[k])
            part[k] -= part[k - 2] if k > 1 else before
    return found.reshape(-1, *x.shape)
