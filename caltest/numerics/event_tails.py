r"""How likely so few events are where more are expected, by the exact distribution of their number.

The number of events S among independent rows is Poisson-binomial. Of all probabilities
:math:`q \ge p` with the same sum, :math:`\max(p_i, c)` are the least spread out: the sum of their j
largest is the smallest for every j. Up to two below its mean the distribution function of S is
Schur-concave (Gleser 1975, theorem 1), so that they make few events most likely:

.. math:: P_q(S \le s) \le P_{\max(p, c)}(S \le s) \quad
    \text{if } q \ge p, \; \sum_i q_i \ge \sum_i p_i + e, \; s \le \sum_i p_i + e - 2,

with c such that :math:`\sum_i \max(p_i, c) = \sum_i p_i + e`. Too many events are too few
non-events.

References
----------
Gleser (1975), On the distribution of the number of successes in independent trials, Ann. Probab. 3;
Hoeffding (1956), On the distribution of the number of successes in independent trials, Ann. Math.
Stat. 27; Hong (2013), On computing the distribution function for the Poisson binomial distribution,
Computational Statistics and Data Analysis 59 (refined normal approximation).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.numerics.tilting import Terms, convolved_tail
from caltest.types import Flags, Floats, Ints

COMPUTED = 4  # exact tails of the numbers that seem likeliest, at least


ROWS_COMPUTED = 1 << 14  # and more where they are of few rows: all of them


MARGIN = 0.5  # one that seems less likely than this share of the largest is passed over


@dataclass(frozen=True, eq=False)
class FewEvents:
    """Rows with as many events as seen, of which an excess is expected over the probabilities.

    Attributes
    ----------
    probs : (n,) array
        Probabilities of the events, in any order.
    seen : int
        The number of events.
    excess : float
        How many events more are expected than their sum, at least.
    """

    probs: Floats
    seen: int
    excess: float

    def raised(self) -> Floats:
        """Return max(p, c), whose sum exceeds that of p by the excess; empty where none does."""
        n = self.probs.size
        if self.excess > n - float(self.probs.sum()):
            return np.empty(0)
        ordered = np.sort(self.probs)
        sums = np.cumsum(ordered)
        up_to_next = np.arange(1, n) * ordered[1:] - sums[:-1]
        filled = int(np.searchsorted(up_to_next, self.excess)) + 1
        c = (self.excess + float(sums[filled - 1])) / filled
        return np.maximum(ordered, min(c, 1.0))

    def approximate(self) -> float:
        """Return about the largest probability of so few events."""
        q = self.raised()
        third = q * (1.0 - q) @ (1.0 - 2.0 * q)
        return float(refined_normal(self.seen, q.sum(), q @ (1.0 - q), third)) if q.size else 0.0

    def exact(self) -> float:
        """Return the largest probability of so few events."""
        q = self.raised()
        return events_at_most(q, self.seen) if q.size else 0.0


def both_sides(probs: Floats, events: Flags, excess: float) -> tuple[FewEvents, FewEvents]:
    """Return too few events, and too few non-events, for an excess of the one or the other."""
    seen = int(np.count_nonzero(events))
    others = FewEvents(1.0 - probs, probs.size - seen, excess)
    return FewEvents(probs, seen, excess), others


def events_at_most(q: Floats, seen: int) -> float:
    """Return P(S <= seen) for the number S of independent events of the probabilities q."""
    values = np.broadcast_to([0.0, -1.0], (q.size, 2))
    terms = Terms.of(values, np.column_stack([1.0 - q, q]))
    return convolved_tail(terms, -float(seen), 1.0)


def refined_normal(
    seen: Floats | float, mean: Floats | float, variance: Floats | float, third: Floats | float
) -> Floats:
    r"""Return about P(S <= seen), with the first correction for the skewness.

    For numbers of events with central moments like that, :math:`\Phi(x) + \gamma (1 - x^2) \phi(x)
    / 6` at :math:`x = (s + 1/2 - \mu) / \sigma`.
    """
    sd = np.sqrt(np.maximum(variance, 1e-60))
    x = np.clip((np.asarray(seen) + 0.5 - mean) / sd, -1e3, 1e3)
    density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    value = scipy.special.ndtr(x) + third / sd**3 * (1.0 - x * x) * density / 6.0
    return np.asarray(np.clip(value, 0.0, 1.0))


def largest_tail(cases: Iterable[FewEvents]) -> float:
    """Return the largest exact probability, of many those that seem the largest."""
    every = list(cases)
    rows = max((case.probs.size for case in every), default=1)
    return _largest([case.approximate() for case in every], lambda k: every[k].exact(), rows)


def _largest(
    approximate: Sequence[float] | Floats, exact: Callable[[int], float], rows: int
) -> float:
    """Return the largest of `exact(k)`, of many among the k with the largest approximations."""
    found, most = 0.0, max(COMPUTED, ROWS_COMPUTED // rows)
    approximate = np.asarray(approximate)
    for k in np.argsort(-approximate, kind="stable")[:most]:
        if approximate.size > most and approximate[k] <= MARGIN * found:
            break
        found = max(found, exact(int(k)))
    return found


# ---- all first rows -----------------------------------------------------------------------------


def largest_prefix_tail(probs: Floats, events: Flags, ends: Flags, excess: float) -> float:
    """Return the largest tail over the first rows up to each end, too many events or too few.

    Parameters
    ----------
    probs : (n,) array
        Probabilities in ascending order.
    events : (n,) array
        Which rows have an event.
    ends : (n,) array
        After which rows the first ones may end.
    excess : float
        The number of events by which too many, or too few, are expected.
    """
    last = np.flatnonzero(ends) + 1
    seen = np.concatenate([[0], np.cumsum(events)])[last]
    moments = _PrefixMoments(probs)
    fewer = refined_normal(seen, *moments.raised(last, excess))
    mean, variance, third = moments.lowered(last, excess)
    more = refined_normal(last - seen, last - mean, variance, -third)
    possible = moments.sums[last]
    fewer[last - possible < excess] = 0.0
    more[possible < excess] = 0.0

    def exact(k: int) -> float:
        rows = int(last[k % last.size])
        sides = both_sides(probs[:rows], events[:rows], excess)
        return sides[k // last.size].exact()

    return _largest(np.concatenate([fewer, more]), exact, probs.size)


class _PrefixMoments:
    """Sums of p, p (1 - p) and p (1 - p) (1 - 2 p) over the first k rows, k = 0..n."""

    def __init__(self, probs: Floats) -> None:
        variance = probs * (1.0 - probs)
        rows = (probs, variance, variance * (1.0 - 2.0 * probs))
        sums = [np.concatenate([[0.0], np.cumsum(row)]) for row in rows]
        self.probs, self.sums, self.variances, self.thirds = probs, *sums

    def raised(self, last: Ints, excess: float) -> tuple[Floats, Floats, Floats]:
        """Return mean, variance and third moment for max(p, c) over the first `last` rows."""
        n = self.probs.size
        up_to_next = np.arange(1, n) * self.probs[1:] - self.sums[1:-1]
        filled = np.minimum(last, np.searchsorted(up_to_next, excess) + 1)
        c = np.minimum((excess + self.sums[filled]) / filled, 1.0)
        variance = self.variances[last] - self.variances[filled] + filled * c * (1.0 - c)
        third = self.thirds[last] - self.thirds[filled] + filled * c * (1.0 - c) * (1.0 - 2.0 * c)
        return self.sums[last] + excess, variance, third

    def lowered(self, last: Ints, excess: float) -> tuple[Floats, Floats, Floats]:
        """Return those for min(p, c)."""
        # How many of the first rows are no larger than c, by bisection.
        kept, high = np.zeros_like(last), last - 1
        while (kept < high).any():
            middle = (kept + high + 1) // 2
            mass = self.sums[last] - self.sums[middle] - (last - middle) * self.probs[middle - 1]
            enough = mass >= excess
            kept, high = np.where(enough, middle, kept), np.where(enough, high, middle - 1)
        filled = last - kept
        c = np.maximum((self.sums[last] - self.sums[kept] - excess) / filled, 0.0)
        variance = self.variances[kept] + filled * c * (1.0 - c)
        third = self.thirds[kept] + filled * c * (1.0 - c) * (1.0 - 2.0 * c)
        return self.sums[last] - excess, variance, third


def rate_limits(events: Floats, size: Floats, a: float) -> tuple[Floats, Floats]:
    """Return the limits of Clopper and Pearson of rates, each missed with probability a."""
    with np.errstate(invalid="ignore"):
        low = np.where(events > 0, scipy.special.betaincinv(events, size - events + 1, a), 0.0)
        high = np.where(
            events < size, scipy.special.betaincinv(events + 1, size - events, 1.0 - a), 1.0
        )
    return np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)


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
