"""Bandwidth rules: a number of its own for every set of predictions, from the predictions alone.

A bandwidth that does not look at the labels keeps the exact null exact.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Up to this n the rule takes all pairs, beyond it PAIRS pairs drawn with a fixed seed.
ALL_PAIRS_UP_TO = 2000
PAIRS = 1_000_000
SEED = 0
# A smaller distance counts as 0: in units of it the square of another one would overflow.
NEGLIGIBLE = 1e-100


def sampled_pairs(n: int) -> tuple[Indices, Indices]:
    """Draw `PAIRS` pairs i != j uniformly, the same for every call with this n."""
    rng = np.random.default_rng(SEED)
    left = rng.integers(0, n, PAIRS)
    right = (left + rng.integers(1, n, PAIRS)) % n
    return left, right


def bandwidth_by_rule(rule: str, distances: Floats) -> tuple[float | None, str]:
    """Return the median or mean of the distances over pairs, and the rule in words.

    Where the median is 0 (few distinct predictions) it is the mean of the positive distances, and
    None where there is none. `distances` may be reordered.
    """
    value = RULES[rule](distances) if distances.size else 0.0
    if value > NEGLIGIBLE:
        return float(value), rule
    positive = distances[distances > NEGLIGIBLE]
    if positive.size:
        return float(positive.mean()), f"mean of the positive distances, since their {rule} is 0"
    return None, "set, since all distances are 0"


def _median(values: Floats) -> float:
    """Take the median by selection in place: no second copy of the distances."""
    half = values.size // 2
    values.partition(half)
    upper = values[half]
    if values.size % 2:
        return float(upper)
    return float((values[:half].max() + upper) / 2)


def _mean(values: Floats) -> float:
    return float(values.mean())


RULES: dict[str, Callable[[Floats], float]] = {"median": _median, "mean": _mean}
