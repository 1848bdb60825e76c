"""The numbers of events of many groups: their exact laws, and sums over redrawn ones."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from caltest.numerics.cell_counts import LARGE, ROUNDING, STEP, normal_quantile
from caltest.numerics.crossings import AT_A_TIME, add_cell
from caltest.numerics.labels import hashed
from caltest.numerics.loops import map_threads, njit
from caltest.types import Floats, Hashes, Ints

LEAST = 1e-20  # probabilities that are left out of a law


class Totals(NamedTuple):
    """What the numbers of events of G groups of cells are made of.

    Attributes
    ----------
    start : (G + 1,) array
        Where the cells of each group begin.
    n, expected : (C,) array
        Rows of each cell, and their expected events.
    mean, variance, third, fourth : (G,) array
        The first four cumulants of the number of events of each group.
    """

    start: Ints
    n: Ints
    expected: Floats
    mean: Floats
    variance: Floats
    third: Floats
    fourth: Floats


def dispersions(totals: Totals, keys: Hashes, groups: Hashes) -> Floats:
    r"""Return :math:`\sum_g (N_g - \mu_g)^2 / \sigma_g^2` for redrawn numbers of events.

    Up to a variance of 100 they are drawn from their exact law by inversion, above as normal
    quantiles corrected for skewness and kurtosis, as those of cells are.

    Parameters
    ----------
    totals : Totals
        The groups.
    keys : (B,) array
        Of the resamples.
    groups : (G,) array
        What each group contributes to its uniform numbers.

    Returns
    -------
    (B,) array
        The sums.
    """
    count = totals.start.size - 1

    def some(first: int) -> Floats:
        out = np.zeros(keys.size)
        _add_dispersions(first, min(first + AT_A_TIME, count), *totals, keys, groups, out)
        return out

    tasks = [(first,) for first in range(0, count, AT_A_TIME)]
    return np.asarray(np.sum(list(map_threads(some, tasks)), axis=0))


@njit()
def _law(n: Ints, expected: Floats) -> tuple[int, int, Floats]:
    """Return the least number of events, how many numbers follow from it, and their law."""
    size = n.sum() + n.max() + 2
    mass, moved, own = np.empty(size), np.empty(size), np.empty(n.max() + 1)
    mass[0], first, count = 1.0, 0, 1
    for c in range(n.size):
        jump, last, _ = add_cell(n[c], expected[c] / n[c], LEAST, mass, count, moved, own)
        down, up = 0, last - 1
        while down < up and moved[down] <= LEAST:
            down += 1
        while down < up and moved[up] <= LEAST:
            up -= 1
        count = up - down + 1
        mass[:count] = moved[down : up + 1]
        first += jump + down
    return first, count, mass


@njit()
def _add_dispersions(
    begin: int,
    stop: int,
    start: Ints,
    n: Ints,
    expected: Floats,
    mean: Floats,
    variance: Floats,
    third: Floats,
    fourth: Floats,
    keys: Hashes,
    groups: Hashes,
    out: Floats,
) -> None:
    for g in range(begin, stop):
        if variance[g] <= 0.0:
            continue
        if variance[g] > LARGE:
            sd = math.sqrt(variance[g])
            skew, peak = third[g] / (variance[g] * sd) / 6.0, fourth[g] / variance[g] ** 2 / 24.0
            spread = math.sqrt(variance[g] - ROUNDING)
            for b in range(keys.size):
                z = normal_quantile((np.float64(hashed(keys[b] + groups[g])) + 0.5) * STEP)
                x = z + skew * (z * z - 1.0)
                x += z * (peak * (z * z - 3.0) - skew * skew * (2.0 * z * z - 5.0))
                excess = math.floor(mean[g] + spread * x + 0.5) - mean[g]
                out[b] += excess * excess / variance[g]
            continue
        some = slice(start[g], start[g + 1])
        least, count, upto = _law(n[some], expected[some])
        middle = min(max(int(mean[g]) - least, 0), count - 1)
        for k in range(1, count):
            upto[k] += upto[k - 1]
        for b in range(keys.size):
            u = (np.float64(hashed(keys[b] + groups[g])) + 0.5) * STEP
            k = middle
            while k > 0 and upto[k - 1] >= u:
                k -= 1
            while k < count - 1 and upto[k] < u:
                k += 1
            excess = least + k - mean[g]
            out[b] += excess * excess / variance[g]
