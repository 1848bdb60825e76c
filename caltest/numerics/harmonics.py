"""Cosines and sines of the multiples of angles, and polynomials, by their recursions."""

import math

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


def polynomials(v: Floats, degree: int) -> list[Floats]:
    """Return the polynomials of degrees 1 to `degree` that are orthonormal for v in (0, 1)."""
    place = 2.0 * v - 1.0
    before, last, found = np.ones_like(place), place, []
    for k in range(1, degree + 1):  # Legendre's recursion
        found.append(math.sqrt(2.0 * k + 1.0) * last)
        before, last = last, ((2 * k + 1) * place * last - k * before) / (k + 1)
    return found
