"""Upper tails of limiting distributions, without the cancellation of 1 - cdf."""

from __future__ import annotations

import scipy


def normal_sf(z: float) -> float:
    """Return P(Z > z) for a standard normal Z."""
    return float(scipy.special.ndtr(-z))


def normal_isf(p: float) -> float:
    """Return z with P(Z > z) = p for a standard normal Z."""
    return -float(scipy.special.ndtri(p))


def student_isf(p: float, df: float) -> float:
    """Return t with P(T > t) = p for Student's T with `df` degrees of freedom."""
    return -float(scipy.special.stdtrit(df, p))


def student_sf(t: float, degrees: float) -> float:
    """Return P(T > t) for Student's T."""
    return float(scipy.special.stdtr(degrees, -t))
