"""How large an error a few rows may hide: exact limits of the rates in cells of rows."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rate_limits(events: Floats, size: Floats, a: float) -> tuple[Floats, Floats]:
    """Return the limits of Clopper and Pearson of rates, each missed with probability a."""
    with np.errstate(invalid="ignore"):
        low = np.where(events > 0, scipy.special.betaincinv(events, size - events + 1, a), 0.0)
        high = np.where(
            events < size, scipy.special.betaincinv(events + 1, size - events, 1.0 - a), 1.0
        )
    return np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)


def farthest_gap(events: Floats, expected: Floats, size: Floats, a: float) -> float:
    """Return the largest difference of mean prediction and rate that a cell allows."""
    mean = expected / size
    return float(np.max([np.abs(limit - mean) for limit in rate_limits(events, size, a)]))


def hidden_deviation(events: Floats, expected: Floats, size: Floats, n: int, a: float) -> float:
    r"""Return by how much the root of a mean squared error can exceed what is seen of it.

    With the rate, its limit and the mean prediction in a cell, the largest of

    .. math:: \sqrt{n_b / n} \, (|limit_b - p_b| - |rate_b - p_b|).
    """
    mean = expected / size
    farthest = np.max([np.abs(limit - mean) for limit in rate_limits(events, size, a)], axis=0)
    return float((np.sqrt(size / n) * (farthest - np.abs(events / size - mean))).max())


def hidden_information(events: Floats, expected: Floats, size: Floats, n: int, a: float) -> float:
    r"""Return the same for twice a Kullback-Leibler divergence, whose root is a deviation too."""
    mean = np.clip(expected / size, 1e-15, 1.0 - 1e-15)

    def root(rate: Floats) -> Floats:
        parts = scipy.special.kl_div(rate, mean) + scipy.special.kl_div(1.0 - rate, 1.0 - mean)
        return np.asarray(np.sqrt(2.0 * np.maximum(parts, 0.0) * size / n))

    farthest = np.max([root(limit) for limit in rate_limits(events, size, a)], axis=0)
    return float((farthest - root(events / size)).max())


def end_cells(
    event: Floats, labels: NDArray[np.integer], parts: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """Return events, expected events and rows of all rows and of the lower and upper half, quarter.

    And so on, down to one of `parts`, or to one row.
    """
    order = np.argsort(event, kind="stable")
    n = event.size
    sizes = np.unique(n // 2 ** np.arange(int(np.log2(min(n, parts or n))) + 1))
    found = []
    for sums in (np.cumsum(labels[order]), np.cumsum(event[order])):
        whole = np.append(0.0, sums)
        found.append(np.append(whole[sizes], whole[n] - whole[n - sizes]))
    return found[0], found[1], np.append(sizes, sizes).astype(np.float64)
