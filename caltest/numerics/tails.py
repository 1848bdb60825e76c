"""Upper tails of limiting distributions, without the cancellation of 1 - cdf."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray


def normal_sf(z: float) -> float:
    """Return P(Z > z) for a standard normal Z."""
    return float(scipy.special.ndtr(-z))


def normal_isf(p: float) -> float:
    """Return z with P(Z > z) = p for a standard normal Z."""
    return -float(scipy.special.ndtri(p))


def student_isf(p: float, df: float) -> float:
    """Return t with P(T > t) = p for Student's T with `df` degrees of freedom."""
    return -float(scipy.special.stdtrit(df, p))


def student_sf(t: float, degrees: int) -> float:
    """Return P(T > t) for Student's T."""
    return float(scipy.special.stdtr(degrees, -t))


def gamma_tail(sample: NDArray[np.float64], value: float) -> float:
    """Return P(G > value) for the shifted gamma with mean, variance and skewness of the sample.

    Where the sample is not skewed to the right the normal tail takes its place.
    """
    z = (value - sample.mean()) / sample.std()
    skewness = float(np.mean(((sample - sample.mean()) / sample.std()) ** 3))
    if skewness <= 0:
        return normal_sf(float(z))
    shape = 4.0 / skewness**2
    return float(scipy.special.gammaincc(shape, max(0.0, shape + z * np.sqrt(shape))))
