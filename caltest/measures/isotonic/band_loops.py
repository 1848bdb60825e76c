"""Simultaneous limits of a non-decreasing probability, from all blocks of neighbouring groups.

Groups are in ascending order of x; the probability of a block is at most that at its last x. Upper
bounds are one minus the lower bounds of the other label, in descending order.
"""

from __future__ import annotations

import math

import numpy as np

from caltest.numerics.loops import njit
from caltest.types import Flags, Floats

MOST_STEPS = 100
HALF_LOG_2_PI = 0.5 * math.log(2.0 * math.pi)
# log(k!) minus Stirling's formula.
STIRLING_ERRORS = np.array(
    [0.0]
    + [math.lgamma(k + 1.0) - (k + 0.5) * math.log(k) + k - HALF_LOG_2_PI for k in range(1, 16)]
)


@njit()
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


@njit()
def _running_sums(values: Floats) -> Floats:
    return np.append(np.zeros(1), np.cumsum(values))


@njit()
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


@njit()
def _may_exceed(y: float, n: float, x: float, least: float) -> bool:
    """Return whether -log of a tail may be above `least`, by the first bound above."""
    if x <= 0.0:
        return True
    bound = deviance(y, n * x) + deviance(n - y, n * (1.0 - x))
    if y < n:
        bound += 0.5 * math.log(8.0 * y * (1.0 - y / n))
    return bound > least


@njit()
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


@njit(fastmath={"contract", "nnan", "nsz", "reassoc"})
def hoeffding_lower_bounds(fitted: Floats, sizes: Floats, starts: Flags, constant: float) -> Floats:
    """Return at each group the largest mean - sqrt(constant / (2 n)) over blocks of the fit, (M,).

    `fitted` (M,) is the isotonic fit and `starts` marks where it rises; blocks start there.
    """
    out = np.zeros(sizes.size)
    # The rows and the fitted events before each block of the fit.
    number, total = _running_sums(sizes)[:-1][starts], _running_sums(sizes * fitted)[:-1][starts]
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


@njit(fastmath={"contract", "nnan", "nsz", "reassoc"})
def hoeffding_excess(fitted: Floats, sizes: Floats, starts: Flags, x: Floats) -> float:
    """Return the largest 2 n (mean - x)^2 over blocks whose mean is above x at their end."""
    # The rows and the fitted events before each block of the fit.
    number, total = _running_sums(sizes)[:-1][starts], _running_sums(sizes * fitted)[:-1][starts]
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


@njit()
def _stirling_error(k: float) -> float:
    """Return log(k!) minus Stirling's formula."""
    if k < STIRLING_ERRORS.size:
        return float(STIRLING_ERRORS[int(k)])
    s = 1.0 / (k * k)
    series = 1.0 / 1260.0 - (1.0 / 1680.0 - (1.0 / 1188.0 - 691.0 / 360360.0 * s) * s) * s
    return (1.0 / 12.0 - (1.0 / 360.0 - series * s) * s) / k


@njit()
def deviance(k: float, mean: float) -> float:
    """Return k log(k / mean) + mean - k without cancellation; the mean is positive."""
    if abs(k - mean) >= 0.1 * (k + mean):
        return (k * math.log(k / mean) if k > 0 else 0.0) + mean - k
    v = (k - mean) / (k + mean)
    total = (k - mean) * v
    term = 2.0 * k * v
    for j in range(1, 1000):
        term *= v * v
        new = total + term / (2 * j + 1)
        if new == total:
            break
        total = new
    return total


@njit()
def log_pmf(k: float, n: float, x: float) -> float:
    """Return log P(K = k) for K ~ Bin(n, x), 0 < x < 1, by Loader's saddle-point expansion."""
    if k == 0:
        return n * math.log1p(-x)
    if k == n:
        return n * math.log(x)
    part = _stirling_error(n) - _stirling_error(k) - _stirling_error(n - k)
    part -= deviance(k, n * x) + deviance(n - k, n * (1.0 - x))
    return part - HALF_LOG_2_PI - 0.5 * (math.log(k) + math.log1p(-k / n))


@njit()
def log_upper_tail(k: float, n: float, x: float) -> float:
    """Return log P(K >= k) for K ~ Bin(n, x) and k of at least the mean; -inf where it is 0."""
    if k <= 0 or x >= 1.0:
        return 0.0
    if x <= 0.0:
        return -np.inf
    odds = x / (1.0 - x)
    total = term = 1.0
    i = k
    while i < n and term > 1e-17 * total:
        term *= (n - i) / (i + 1.0) * odds
        total += term
        i += 1.0
    return min(log_pmf(k, n, x) + math.log(total), 0.0)


@njit()
def lower_limit(k: float, n: float, log_error: float, start: float) -> float:
    """Return the x with log P(K >= k) = log_error, Clopper's and Pearson's lower limit of k / n.

    `start` is 0 or a point below it. The tail is log-concave in x, as the distribution function of
    a beta distribution, so Newton's method goes up to the limit and not beyond it.
    """
    # The tail is at most binom(n, k) x^k, so that this is below the limit too.
    choose = math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
    x = max(start, math.exp((log_error - choose) / k))
    for _ in range(MOST_STEPS):
        tail = log_upper_tail(k, n, x)
        step = (log_error - tail) * x / k * math.exp(tail - log_pmf(k, n, x))
        x = min(x + step, 1.0)
        if abs(step) <= 4e-16 * x:
            break
    return x
