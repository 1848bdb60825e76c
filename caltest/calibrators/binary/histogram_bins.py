"""Step functions with equal or other bins: their sums, and looking them up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.bins import bin_of, quantile_cuts, uniform_sums
from caltest.numerics.distinct_scores import distinct_scores, moderate_weight
from caltest.numerics.loops import njit

Floats = NDArray[np.float64]


def uniform_bin_sums(
    score: Floats, event: NDArray[np.bool_], weight: Floats | None, bins: int
) -> tuple[Floats, Floats]:
    """Return the weight of the rows and of the events in each of `bins` bins of equal width."""
    scaled = None if weight is None else moderate_weight(weight)
    sums = uniform_sums(score, event.astype(np.int64), scaled, bins)
    return sums[:, 0], sums[:, 2]


def quantile_bin_sums(
    score: Floats, event: NDArray[np.bool_], weight: Floats | None, bins: int
) -> tuple[Floats, Floats, Floats]:
    """Return the cuts between at most `bins` bins of equal mass, and the sums in the bins."""
    values, mass, events = distinct_scores(score, event, weight)
    cuts = quantile_cuts(values, mass, bins)
    starts = np.concatenate([[0], np.searchsorted(values, cuts, side="right")])
    return cuts, np.add.reduceat(mass, starts), np.add.reduceat(events, starts)


@njit()
def look_up_uniform(score: Floats, values: Floats) -> Floats:
    """Return the value of the bin of equal width in which each score lies."""
    out = np.empty(score.size)
    for i in range(score.size):
        out[i] = values[bin_of(score[i], float(values.size))]
    return out


def look_up(score: Floats, cuts: Floats, values: Floats) -> Floats:
    """Return values[k] for scores in (cuts[k - 1], cuts[k]]; there are len(cuts) + 1 values."""
    return np.asarray(values[np.searchsorted(cuts, score)])
