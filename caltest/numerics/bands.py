"""Simultaneous bounds of a non-decreasing probability, from all blocks of neighbouring groups.

Groups are in ascending order of x; the probability of a block is at most that at its last x. Upper
bounds are one minus the lower bounds of the other label, in descending order.
"""

import math

import numba
import numpy as np
from numpy.typing import NDArray

from caltest.numerics.binomial_tails import deviance, log_upper_tail, lower_limit

Floats = NDArray[np.float64]


@numba.njit(nogil=True, cache=True)
def group_events(labels: NDArray[np.unsignedinteger], ends: NDArray[np.bool_]) -> Floats:
    """Count the events of each group, (B, M), where `ends` marks its last row."""
    out = np.zeros((labels.shape[0], np.count_nonzero(ends)))
    for b in range(labels.shape[0]):
        group, count = 0, 0
        for i in range(ends.size):
            count += labels[b, i]
            if ends[i]:
                out[b, group] = count
                group, count = group + 1, 0
    return out


@numba.njit(nogil=True, cache=True)
def smallest_tails(events: Floats, sizes: Floats, x: Floats) -> Floats:
    """Return the largest -log P(K >= events of a block), K ~ Bin(its size, x at its end), (B,).

    Blocks with no more events than expected do not count; where there are no others it is 0.
    """
    out = np.empty(len(events))
    rows = _running_sums(sizes)
    for b in range(len(events)):
        sums = _running_sums(events[b])
        best = 0.0
        for k in range(x.size):
            if not _any_candidate(rows, sums, k, x[k], best):
                continue
            for j in range(k + 1):
                n, y = rows[k + 1] - rows[j], sums[k + 1] - sums[j]
                if y > n * x[k] and _may_exceed(y, n, x[k], best):
                    best = max(best, -log_upper_tail(y, n, x[k]))
        out[b] = best
    return out


@numba.njit(nogil=True, cache=True)
def _running_sums(values: Floats) -> Floats:
    sums = np.zeros(values.size + 1)
    for k in range(values.size):
        sums[k + 1] = sums[k] + values[k]
    return sums


@numba.njit(nogil=True, cache=True)
def _any_candidate(rows: Floats, sums: Floats, k: int, x: float, least: float) -> bool:
    """Return whether -log of the tail of a block that ends at k may be above `least`.

    With q = y / n the tail is at least exp(-D) / sqrt(8 n q (1 - q)), D = n KL(q, x) (Ash 1990,
    lemma 4.7.2), and D is at most n (q - x)^2 / 2 over the smaller of x (1 - x) and q (1 - q), and
    at most n (q - x)^2 over x (1 - x). So most blocks are left out without a logarithm, in a loop
    without branches.
    """
    factor = 2.0 * (least - 0.5 * math.log(2.0 * rows[k + 1]))
    if factor <= 0.0:
        return True
    variance = factor * x * (1.0 - x)
    found = False
    for j in range(k + 1):
        n, y = rows[k + 1] - rows[j], sums[k + 1] - sums[j]
        excess = y - n * x
        square = excess * excess
        far = (square > variance * n) | (square * n > factor * y * (n - y))
        found |= (excess > 0.0) & (2.0 * square > variance * n) & far
    return found


@numba.njit(nogil=True, cache=True)
def _may_exceed(y: float, n: float, x: float, least: float) -> bool:
    """Return whether -log of a tail may be above `least`, by the first bound above."""
    if x <= 0.0:
        return True
    bound = deviance(y, n * x) + deviance(n - y, n * (1.0 - x))
    if y < n:
        bound += 0.5 * math.log(8.0 * y * (1.0 - y / n))
    return bound > least


@numba.njit(nogil=True, cache=True)
def exact_lower_bounds(events: Floats, sizes: Floats, log_error: float) -> Floats:
    """Return at each group the largest Clopper-Pearson limit of the blocks up to it, (M,).

    Parameters
    ----------
    events, sizes : (M,) array
        Counts of each group.
    log_error : float
        Logarithm of the error probability of a block.
    """
    out = np.zeros(sizes.size)
    rows, sums = _running_sums(sizes), _running_sums(events)
    bound = 0.0
    for k in range(sizes.size):
        # The limit of a block is above the bound if its tail at the bound is below the error.
        if _any_candidate(rows, sums, k, bound, -log_error):
            for j in range(k + 1):
                n, y = rows[k + 1] - rows[j], sums[k + 1] - sums[j]
                if not (y > n * bound and _may_exceed(y, n, bound, -log_error)):
                    continue
                if log_upper_tail(y, n, bound) < log_error:
                    bound = lower_limit(y, n, log_error, bound)
        out[k] = bound
    return out


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nnan", "nsz", "reassoc"})
def hoeffding_lower_bounds(
    fitted: Floats, sizes: Floats, starts: NDArray[np.bool_], constant: float
) -> Floats:
    """Return at each group the largest mean - sqrt(constant / (2 n)) over blocks of the fit, (M,).

    `fitted` (M,) is the isotonic fit and `starts` marks where it rises; blocks start there.
    """
    out = np.zeros(sizes.size)
    number, total = _sums_before(fitted, sizes, starts)
    half_width = math.sqrt(constant / 2.0)
    rows = events = 0.0
    blocks = 0
    for k in range(sizes.size):
        blocks += starts[k]
        rows += sizes[k]
        events += sizes[k] * fitted[k]
        best = 0.0
        for j in range(blocks):
            n = rows - number[j]
            best = max(best, (events - total[j]) / n - half_width / math.sqrt(n))
        out[k] = best
    return out


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nnan", "nsz", "reassoc"})
def hoeffding_excess(fitted: Floats, sizes: Floats, starts: NDArray[np.bool_], x: Floats) -> float:
    """Return the largest 2 n (mean - x)^2 over blocks whose mean is above x at their end."""
    number, total = _sums_before(fitted, sizes, starts)
    rows = events = best = 0.0
    blocks = 0
    for k in range(sizes.size):
        blocks += starts[k]
        rows += sizes[k]
        events += sizes[k] * fitted[k]
        for j in range(blocks):
            n = rows - number[j]
            excess = max(events - total[j] - n * x[k], 0.0)
            best = max(best, 2.0 * excess * excess / n)
    return best


@numba.njit(nogil=True, cache=True)
def _sums_before(fitted: Floats, sizes: Floats, starts: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the rows and the fitted events before each block of the fit."""
    number, total = np.zeros(np.count_nonzero(starts)), np.zeros(np.count_nonzero(starts))
    rows = events = 0.0
    block = 0
    for k in range(sizes.size):
        if starts[k]:
            number[block], total[block] = rows, events
            block += 1
        rows += sizes[k]
        events += sizes[k] * fitted[k]
    return number, total
