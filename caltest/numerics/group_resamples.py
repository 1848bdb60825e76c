"""Statistics of the cells of many groups, each compared with as many redrawn ones as it needs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.bins import DEBIASED, add_power, event_distance, power_root
from caltest.numerics.cell_counts import STEP
from caltest.numerics.crossings import binomial_law, over_groups
from caltest.numerics.labels import Hashes, hashed
from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ENOUGH = 20  # redrawn statistics that are as extreme: the standard error of p is a fifth of it
LEAST = 1e-18  # probabilities that are left out of the law of a cell
LINEAR, RANGE, BINS = range(3)


class GroupStatistic(NamedTuple):
    """A statistic of the numbers of events in the cells of each group.

    Attributes
    ----------
    kind : int
        `LINEAR`, a sum over cells of a slope times the events in excess, which is far out on both
        sides; `RANGE`, that of the partial sums of events in excess; `BINS`, a power mean over
        bins.
    slope : (C,) array
        Of a linear one.
    bin : (C,) array
        The bin of each cell, in ascending order.
    distance : int
        Of the mean label of a bin from its mean prediction; see `numerics.bins`.
    power : float
        Of the mean.
    """

    kind: int
    slope: Floats
    bin: Ints
    distance: int = 0
    power: float = 1.0


def group_values(
    start: Ints,
    n: Ints,
    expected: Floats,
    events: Floats,
    statistic: GroupStatistic,
    n_jobs: int | None,
) -> Floats:
    """Return the statistic (G,) for the numbers of events (C,)."""
    return over_groups(_group_values, start, (n, expected, events, *statistic), n_jobs)


def sequential_tails(
    start: Ints,
    n: Ints,
    expected: Floats,
    observed: Floats,
    tolerance: Floats,
    statistic: GroupStatistic,
    keys: Hashes,
    cells: Hashes,
    n_jobs: int | None,
) -> Floats:
    """Return the p-values (G,) of Besag and Clifford: labels are redrawn until 20 are as extreme.

    Parameters
    ----------
    start : (G + 1,) array
        Where the cells of each group begin.
    n, expected : (C,) array
        Rows of each cell, and their expected events. The events of a cell are binomial with this
        mean.
    observed, tolerance : (G,) array
        The statistic, and how far from it others are ties.
    statistic : GroupStatistic
        What is computed.
    keys : (B,) array
        Of the resamples, as many as there are at most.
    cells : (C,) array
        What each cell contributes to its uniform numbers.
    n_jobs : int or None
        Threads, as in joblib; the p-values do not depend on it.

    References
    ----------
    Besag, Clifford (1991), Sequential Monte Carlo p-values, Biometrika 78.
    """
    given = (n, expected, observed, tolerance, *statistic, keys, cells)
    return over_groups(_sequential_tails, start, given, n_jobs)


@njit()
def _group_values(
    start: Ints,
    first: int,
    stop: int,
    n: Ints,
    expected: Floats,
    events: Floats,
    kind: int,
    slope: Floats,
    bins: Ints,
    distance: int,
    power: float,
    out: Floats,
) -> None:
    for g in range(first, stop):
        some = slice(start[g], start[g + 1])
        given = (n[some], expected[some], slope[some], bins[some])
        out[g] = _value(events[some], *given, kind, distance, power)


@njit()
def _sequential_tails(
    start: Ints,
    first: int,
    stop: int,
    n: Ints,
    expected: Floats,
    observed: Floats,
    tolerance: Floats,
    kind: int,
    slope: Floats,
    bins: Ints,
    distance: int,
    power: float,
    keys: Hashes,
    cells: Hashes,
    out: Floats,
) -> None:
    for g in range(first, stop):
        if math.isinf(observed[g]):
            out[g] = 1.0 / (1.0 + keys.size)
            continue
        some = slice(start[g], start[g + 1])
        rows, mean, own = n[some], expected[some], cells[some]
        high, low = observed[g] - tolerance[g], observed[g] + tolerance[g]
        given = (rows, mean, slope[some], bins[some])
        upto, at, least, middle = _laws(rows, mean)
        counts = np.empty(rows.size)
        sides = 2 if kind == LINEAR else 1
        above = below = 0
        p = 0.0
        for b in range(keys.size):
            for c in range(rows.size):
                u = (np.float64(hashed(keys[b] + own[c])) + 0.5) * STEP
                k = middle[c]
                while k > at[c] and upto[k - 1] >= u:
                    k -= 1
                while k < at[c + 1] - 1 and upto[k] < u:
                    k += 1
                counts[c] = least[c] + (k - at[c])
            value = _value(counts, *given, kind, distance, power)
            above += value >= high
            below += value <= low
            extreme = min(above, below) if sides == 2 else above
            if extreme == ENOUGH:
                p = sides * ENOUGH / (b + 1.0)
                break
        else:
            p = sides * (1.0 + extreme) / (1.0 + keys.size)
        out[g] = min(p, 1.0)


@njit()
def _laws(n: Ints, expected: Floats) -> tuple[Floats, Ints, Ints, Ints]:
    """Return the distribution functions of all cells, one after the other, and where each begins.

    Further the number of events that each begins with, and where inversion starts.
    """
    upto = np.empty(n.sum() + n.size)
    at, least = np.empty(n.size + 1, np.int64), np.empty(n.size, np.int64)
    middle = np.empty(n.size, np.int64)
    end = 0
    for c in range(n.size):
        law = upto[end : end + n[c] + 1]
        first, width, _ = binomial_law(n[c], expected[c] / n[c], LEAST, law)
        for k in range(1, width):
            law[k] += law[k - 1]
        at[c], least[c] = end, first
        middle[c] = end + min(max(int(expected[c]) - first, 0), width - 1)
        end += width
    at[n.size] = end
    return upto, at, least, middle


@njit()
def _value(
    events: Floats,
    n: Ints,
    expected: Floats,
    slope: Floats,
    bins: Ints,
    kind: int,
    distance: int,
    power: float,
) -> float:
    if kind == LINEAR:
        total = 0.0
        for c in range(n.size):
            total += slope[c] * (events[c] - expected[c])
        return total
    if kind == RANGE:
        total = high = low = 0.0
        for c in range(n.size):
            total += events[c] - expected[c]
            high, low = max(high, total), min(low, total)
        return high - low
    rows, total, largest, c = n.sum(), 0.0, 0.0, 0
    while c < n.size:
        mass = count = mean = 0.0
        place = bins[c]
        while c < n.size and bins[c] == place:
            mass += n[c]
            count += events[c]
            mean += expected[c]
            c += 1
        if distance == DEBIASED and mass == 1.0:
            continue  # one row tells nothing of the variance
        correction = 1.0 / (mass - 1.0) if distance == DEBIASED else 0.0
        gap = event_distance(count / mass, mean / mass, correction, distance)
        total, largest = add_power(total, largest, mass / rows, gap, power)
    return power_root(total, largest, power)
