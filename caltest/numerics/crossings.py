"""Numbers of independent events of groups: exactly, by recursion, and sums over redrawn ones.

The numbers of events up to the end of each of a sequence of cells are a Markov chain. How likely
its partial sums leave a band: the distribution within is carried from cell to cell, and what leaves
it is added up.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from caltest.numerics.cell_counts import LARGE, ROUNDING, STEP, corrected, normal_quantile
from caltest.numerics.labels import hashed
from caltest.numerics.loops import map_threads, njit
from caltest.types import Flags, Floats, Hashes, Ints

AT_A_TIME = 256  # groups of a task
NEGLECTED = 1e-4  # of a tail: what may be left out of the recursion, and is added to the tail
FEW = 256  # rows of which nothing is left out
LEAST = (1e-18, 1e-36)  # probabilities that are left out, in the order they are tried
SMALLEST = 1e-20  # the same, of the law of a group
GUIDES = 64  # uniform numbers whose number of events is known before the others are drawn


def crossing_tails(start: Ints, n: Ints, expected: Floats, reach: Floats) -> Floats:
    r"""Return the probability that partial sums are as large as those observed, for each group.

    Parameters
    ----------
    start : (G + 1,) array
        Where the cells of each group begin.
    n, expected : (C,) array
        Rows of each cell, and their expected events. The events of a cell are binomial with this
        mean.
    reach : (G,) array
        The size :math:`x_g` of the sums of events less the expected ones,
        :math:`\max_c |S_c| \ge x_g`.

    Returns
    -------
    (G,) array
        The probabilities, or up to 1e-4 of themselves more; what is below about 1e-32 is an upper
        bound.
    """
    out = np.empty(start.size - 1)

    def some(first: int) -> None:
        stop = min(first + AT_A_TIME, out.size)
        _crossing_tails(start, first, stop, n, expected, reach, out)

    list(map_threads(some, [(first,) for first in range(0, out.size, AT_A_TIME)]))
    return out


@njit()
def group_extremes(start: Ints, events: Ints, expected: Floats, is_point: Flags) -> Floats:
    """Return the extremes (4, G) of the partial sums of events less the expected ones, 0 included.

    They are the largest and the smallest at the ends of cells, and what the largest and the
    smallest between the rows cannot exceed: within a cell of unequal predictions a sum rises by its
    events and falls by the expected ones at most.
    """
    out = np.empty((4, start.size - 1))
    for g in range(start.size - 1):
        total = high = low = highest = lowest = 0.0
        for c in range(start[g], start[g + 1]):
            before = total
            total += events[c] - expected[c]
            high, low = max(high, total), min(low, total)
            highest, lowest = max(highest, total), min(lowest, total)
            if not is_point[c]:
                highest = max(highest, min(before + events[c], total + expected[c]))
                lowest = min(lowest, max(before - expected[c], total - events[c]))
        out[0, g], out[1, g], out[2, g], out[3, g] = high, low, highest, lowest
    return out


@njit()
def _crossing_tails(
    start: Ints, first: int, stop: int, n: Ints, expected: Floats, reach: Floats, out: Floats
) -> None:
    for g in range(first, stop):
        some = slice(start[g], start[g + 1])
        rows = n[some].sum()
        p = 0.0
        for k in range(2):
            least = 0.0 if rows <= FEW else LEAST[k]
            p, lost, _, _, _ = _crossing(n[some], expected[some], reach[g], least)
            if lost <= NEGLECTED * p:
                break
        out[g] = min(p, 1.0)


@njit()
def _crossing(
    n: Ints, expected: Floats, reach: float, least: float
) -> tuple[float, float, int, int, Floats]:
    """Return the probability of leaving the band, and the law of the events of those who do not.

    The second number is how much of the first is a bound. The law has its least number of events,
    how many numbers follow from it, and their probabilities.
    """
    rows, largest = n.sum(), n.max()
    size = int(min(np.float64(rows), 2.0 * reach)) + 3
    mass, moved, law = np.empty(size + largest), np.empty(size + largest), np.empty(largest + 1)
    mass[0], first, count = 1.0, 0, 1  # the state `first` is the one of mass[0]
    total = out = lost = 0.0
    for c in range(n.size):
        jump, last, cut = add_cell(n[c], expected[c] / n[c], least, mass, count, moved, law)
        first += jump
        lost += cut
        total += expected[c]
        down = min(max(math.floor(total - reach) + 1 - first, 0), last)
        up = max(min(math.ceil(total + reach) - 1 - first, last - 1), down - 1)
        out += moved[:down].sum() + moved[up + 1 : last].sum()
        while down <= up and moved[down] <= least:
            lost += moved[down]
            down += 1
        while down <= up and moved[up] <= least:
            lost += moved[up]
            up -= 1
        count = up - down + 1
        if count == 0:
            break
        mass[:count] = moved[down : up + 1]
        first += down
    return out + lost, lost, first, count, mass


@njit()
def add_cell(
    n: int, p: float, least: float, mass: Floats, count: int, moved: Floats, law: Floats
) -> tuple[int, int, float]:
    """Write to `moved` the law of `count` numbers, `mass`, with the events of a cell added.

    Returns
    -------
    first, width : int
        By how much the least number has grown, and how many numbers there are now.
    cut : float
        The probability that is left out, at most.
    """
    first, width, cut = binomial_law(n, p, least, law)
    last = count + width - 1
    moved[:last] = 0.0
    for j in range(width):
        for i in range(count):
            moved[i + j] += mass[i] * law[j]
    return first, last, cut


@njit()
def binomial_law(n: int, p: float, least: float, law: Floats) -> tuple[int, int, float]:
    """Write the binomial probabilities above `least`, the first of them and those after it.

    Returns
    -------
    first, width : int
        The least number of events, and how many numbers there are.
    cut : float
        What is left out, at most.
    """
    if p <= 0.0 or p >= 1.0:
        law[0] = 1.0
        return (0 if p <= 0.0 else n), 1, 0.0
    if n == 1:
        law[0], law[1] = 1.0 - p, p
        return 0, 2, 0.0
    odds, mode = p / (1.0 - p), min(math.floor((n + 1) * p), n)
    # The largest is 1 until all are divided by their sum.
    low, at, cut = mode, 1.0, 0.0
    law[mode] = 1.0
    while low > 0:
        ratio = low / ((n - low + 1.0) * odds)
        at *= ratio
        if at <= least:
            cut += at / (1.0 - ratio)
            break
        low -= 1
        law[low] = at
    high, at = mode, 1.0
    while high < n:
        ratio = (n - high) / (high + 1.0) * odds
        at *= ratio
        if at <= least:
            cut += at / (1.0 - ratio)
            break
        high += 1
        law[high] = at
    width = high - low + 1
    whole = law[low : high + 1].sum()
    law[:width] = law[low : high + 1] / whole
    return low, width, cut / whole


class GroupTotals(NamedTuple):
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


def dispersions(totals: GroupTotals, keys: Hashes, groups: Hashes) -> Floats:
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
        _add_dispersions(totals, first, min(first + AT_A_TIME, count), keys, groups, out)
        return out

    tasks = [(first,) for first in range(0, count, AT_A_TIME)]
    return np.asarray(np.sum(list(map_threads(some, tasks)), axis=0))


@njit()
def _add_dispersions(
    totals: GroupTotals, begin: int, stop: int, keys: Hashes, groups: Hashes, out: Floats
) -> None:
    uniform, guide = np.empty(keys.size), np.empty(GUIDES + 1, np.int64)
    for g in range(begin, stop):
        mean, variance = totals.mean[g], totals.variance[g]
        if variance <= 0.0:
            continue
        sd, is_large = math.sqrt(variance), variance > LARGE
        if is_large:
            skew, peak = totals.third[g] / (variance * sd) / 6.0, totals.fourth[g]
            peak, spread = peak / variance**2 / 24.0, math.sqrt(variance - ROUNDING)
        else:
            some = slice(totals.start[g], totals.start[g + 1])
            n, expected = totals.n[some], totals.expected[some]
            _, _, least, count, upto = _crossing(n, expected, n.sum() + 1.0, SMALLEST)
            upto[:count] = np.cumsum(upto[:count])
            k = 0
            for j in range(GUIDES + 1):  # that of j / GUIDES, from which others are a few steps
                while k < count - 1 and upto[k] < j / GUIDES:
                    k += 1
                guide[j] = k
        for b in range(keys.size):
            uniform[b] = (np.float64(hashed(keys[b] + groups[g])) + 0.5) * STEP
        for b in range(keys.size):
            u = uniform[b]
            if is_large:
                x = corrected(normal_quantile(u), skew, peak, skew * skew)
                excess = math.floor(mean + spread * x + 0.5) - mean
            else:
                k = guide[int(u * GUIDES)]
                while k < count - 1 and upto[k] < u:
                    k += 1
                excess = least + k - mean
            out[b] += excess * excess / variance
