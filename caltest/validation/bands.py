"""Checks of the options of calibration belts and confidence bands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caltest.errors import invalid, shown
from caltest.validation.calibrators import check_flag
from caltest.validation.options import check_integer, check_level

LARGEST_DEGREE = 4
MOST_DIGITS = 15


def check_belt(internal: object, threshold: object, max_degree: object) -> None:
    """Check how the degree of a calibration belt is selected."""
    least = 2 if check_flag(internal, "internal") else 1
    check_level(threshold, "threshold")
    degree = check_integer(max_degree, "max_degree", least)
    if degree > LARGEST_DEGREE:
        rule = f"max_degree must be at most {LARGEST_DEGREE}, up to which the law is known"
        raise invalid(rule, str(degree), f"pass {least} to {LARGEST_DEGREE}")


def check_levels(levels: object, name: str = "levels") -> tuple[float, ...]:
    """Check confidence levels, a number or several, and sort them."""
    several = isinstance(levels, Sequence | np.ndarray) and not isinstance(levels, str)
    values = tuple(levels) if several else (levels,)  # type: ignore[arg-type]
    if not values:
        raise invalid(f"{name} must hold a confidence level", shown(levels), "pass (0.8, 0.95)")
    return tuple(sorted(check_level(value, name) for value in values))


def check_digits(digits: object, name: str = "digits") -> int | None:
    """Check a number of decimal digits, or None for the default."""
    if digits is None:
        return None
    value = check_integer(digits, name)
    if value > MOST_DIGITS:
        raise invalid(f"{name} must be at most {MOST_DIGITS}", str(value), "pass 2 or 3")
    return value
