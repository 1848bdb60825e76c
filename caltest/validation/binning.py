"""Checks of the options of binned measures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from caltest.errors import invalid
from caltest.validation.arrays import Floats
from caltest.validation.options import check_choice, check_integer, check_positive

DISTANCES = ("tv", "cityblock", "sqeuclidean")


def check_distance(distance: object) -> str | Callable[..., Any]:
    """Check the name of a distance, or a function of two rows."""
    return distance if callable(distance) else check_choice(distance, DISTANCES, "distance")


def check_power(p: object, name: str = "p") -> float:
    """Check the power of a mean, a number of at least 1; infinity stands for the maximum."""
    if isinstance(p, float) and p == math.inf:
        return p
    value = check_positive(p, name)
    if value < 1:
        raise invalid(
            f"{name} must be at least 1", repr(p), "pass 1 for the mean, 2 for its square"
        )
    return value


def check_optional_integer(value: object, name: str, minimum: int = 1) -> int | None:
    """Check an integer of at least `minimum`, or None for no limit."""
    return None if value is None else check_integer(value, name, minimum)


def check_distances(values: Floats) -> Floats:
    """Check the values of a distance that was given as a function, one for each bin."""
    bad = ~((values >= 0) & (values < np.inf))
    if bad.any():
        at = int(np.argmax(bad))
        rule = "distance must return finite numbers of at least 0"
        raise invalid(rule, f"{values[at]} for bin {at}", "correct the function")
    return values
