"""How far a Gaussian process on a curve strays: the tube formula of Sun and Loader 1994."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def path_length(standard: Floats) -> float:
    """Return the length of the path of directions of the rows (points, terms) on the sphere."""
    size = np.linalg.norm(standard, axis=1, keepdims=True)
    unit = standard / np.where(size > 0, size, 1.0)
    return float(np.linalg.norm(np.diff(unit, axis=0), axis=1).sum())


def path_length_of_products(square: Floats, product: Floats) -> float:
    """Return the same from squared norms (points,) and products of neighbours (points - 1,)."""
    norms = np.sqrt(square[1:] * square[:-1])
    cosine = np.divide(product, norms, out=np.ones_like(product), where=norms > 0)
    return float(np.sqrt(np.maximum(2.0 - 2.0 * cosine, 0.0)).sum())


def tube_quantile(length: float, level: float) -> float:
    """Return the c that the largest modulus of a Gaussian process exceeds with 1 - level.

    Its standardised terms run along a path of this length on the sphere.
    """

    def excess(c: float) -> float:
        tails = 2.0 * scipy.special.ndtr(-c) + length / math.pi * math.exp(-0.5 * c * c)
        return float(tails) - (1.0 - level)

    return float(scipy.optimize.brentq(excess, 0.0, 40.0))
