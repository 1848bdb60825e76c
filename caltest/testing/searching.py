"""A search by Hypothesis for the smallest arguments that break a property."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def search(
    property_: Callable[..., None],
    arguments: Mapping[str, SearchStrategy[Any]],
    *,
    examples: int,
    rng: int,
) -> None:
    """Search for arguments that break a property; raise with the smallest that Hypothesis finds.

    Parameters
    ----------
    property_ : callable
        A function that asserts something of its arguments.
    arguments : mapping of str to SearchStrategy
        A strategy for each argument.
    examples : int
        How many are tried.
    rng : int
        The seed.
    """
    options = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,  # one example, that is printed, and not a group without any
    )
    seed(rng)(options(given(**arguments)(property_)))()


def distance(first: Floats, second: Floats) -> float:
    """Return how far apart two arrays of probabilities are, at most.

    Parameters
    ----------
    first, second : ndarray
        Of one shape.
    """
    return float(np.abs(first - second).max())
