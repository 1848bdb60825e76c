"""Probabilities of an event in ascending order: scores, and kernel sums over pairs of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import Labels
from caltest.measures.combined.findings import NO_GAP, Finding, farthest, ratio
from caltest.measures.residual_sums import (
    LinePairs,
    OrderedSums,
    Reordered,
    ResidualStatistic,
)
from caltest.numerics.ends import range_words
from caltest.numerics.recursion import exponential_pair_sums
from caltest.numerics.sorted_scores import partial_sum_extremes, step_ends

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

LEAST_PROB = 1e-15  # of log odds
LEAST_VARIANCE = 1e-4  # a row's: bounds what one row contributes to a weighted kernel
SPREAD = 600  # rows between which the median distance is taken
RESOLUTION = 1e-13  # of a distance, relative
NO_DECAY_BEYOND = 800.0


def log_odds(p: Floats) -> Floats:
    """Return log p / (1 - p), of p within [1e-15, 1 - 1e-15]."""
    inside = np.clip(p, LEAST_PROB, 1 - LEAST_PROB)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def belt_functions(p: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return 1, x and x^2 of the log odds x, orthonormal under the variance of the labels.

    Returns w times the functions, (3, n), and the expected sum of w f y, (3,): the sum of
    w f (y - p) has mean 0 and covariance I under calibration. A function that the others determine
    is 0.
    """
    functions = weight * orthonormal(log_odds(p), np.square(weight) * p * (1 - p))
    return functions, functions @ p


def orthonormal(x: Floats, v: Floats) -> Floats:
    """Return 1, x and x^2, (3, n), orthonormal under v; 0 where the others determine it."""
    functions = np.zeros((3, x.size))
    for j in range(3):
        f = x**j
        for _ in range(2):  # twice is enough (Kahan)
            f = f - (functions @ (v * f)) @ functions
        size = float(v @ np.square(f))
        if size > 1e-10 * max(float(v @ x ** (2 * j)), 1e-300):
            functions[j] = f / np.sqrt(size)
    return functions


class Line:
    """Probabilities of an event in ascending order, and kernel sums over pairs of rows.

    `order` has the rows in that order.
    """

    def __init__(self, p: Floats, weight: Floats) -> None:
        self.order = np.argsort(p, kind="stable")
        self.p, self.weight = p[self.order], weight[self.order]
        self.variance = self.p * (1 - self.p)
        carried = np.cumsum(np.square(self.weight) * self.variance)
        self.total = float(carried[-1])
        ranks = carried / self.total if self.total > 0 else np.arange(1, p.size + 1) / p.size
        # Equal probabilities have the rank of their middle, so that it is the same from 1 - p.
        ends = np.append(0.0, ranks)
        first = np.searchsorted(self.p, self.p, side="left")
        last = np.searchsorted(self.p, self.p, side="right")
        self.places = {"log odds": log_odds(self.p), "ranks": 0.5 * (ends[first] + ends[last])}
        self._decays: dict[tuple[str, float], Floats] = {}
        self._findings: dict[str, Finding] = {}

    def kuiper(self, happens: Labels) -> Floats:
        """Return the range of the partial sums of w (y - p), in standard deviations of the sum."""
        given = (self.weight, self.p, step_ends(self.p), np.array([0, self.p.size]))
        high, low = partial_sum_extremes(happens, *given)[..., 0]
        return ratio(high - low, np.sqrt(self.total))

    def decay(self, place: str, bandwidths: float) -> Floats:
        """Return exp(-distance / bandwidth) between neighbours; in units of the median distance."""
        found = self._decays.get((place, bandwidths))
        if found is None:
            x = self.places[place]
            width = bandwidths * (median_distance(x) or 1.0)
            found = np.exp(-np.minimum(np.diff(x, prepend=x[0]) / width, NO_DECAY_BEYOND))
            self._decays[place, bandwidths] = found
        return found

    def pair_sums(
        self, happens: Labels, place: str, bandwidths: float, *, weighted: bool
    ) -> Floats:
        """Return the standardised sum over pairs of kappa_ij r_i r_j for sorted events (B, n)."""
        scale = self.weight
        if weighted:
            scale = scale / np.sqrt(np.maximum(self.variance, LEAST_VARIANCE))
        out = np.empty(len(happens))
        exponential_pair_sums(self.decay(place, bandwidths), scale, self.p, happens, out)
        return ratio(out, float(np.square(scale) @ self.variance))

    def kuiper_statistic(self, gaps: Floats) -> ResidualStatistic:
        """Return the range of the partial sums of the gaps of the rows, (n,)."""
        return OrderedSums(self.p, gaps[self.order], self.order, lambda high, low: high - low)

    def pair_statistic(
        self, gaps: Floats, place: str, bandwidths: float, *, weighted: bool
    ) -> ResidualStatistic:
        """Return the sum over pairs of rows of kappa_ij r_i r_j."""
        sd = np.sqrt(np.maximum(self.variance, LEAST_VARIANCE)) if weighted else 1.0
        pairs = LinePairs(self.decay(place, bandwidths), gaps[self.order] / sd)
        return Reordered(pairs, self.order)

    def finding(self, happens: Floats, what: str) -> Finding:
        """Describe the range of probabilities with the largest sum of gaps of observed events."""
        if what not in self._findings:
            self._findings[what] = self._find(happens, what)
        return self._findings[what]

    def _find(self, happens: Floats, what: str) -> Finding:
        gaps = self.weight * (happens[self.order] - self.p)
        ends = np.flatnonzero(step_ends(self.p)) + 1
        places = np.append(0, ends)
        sums = np.append(0.0, np.cumsum(gaps))[places]
        low, high = sorted((int(np.argmin(sums)), int(np.argmax(sums))))
        if low == high:
            return NO_GAP
        first, stop = int(places[low]), int(places[high])
        mass = max(float(self.weight[first:stop].sum()), 1e-300)
        mean = float(self.weight[first:stop] @ self.p[first:stop]) / mass
        gap = float(sums[high] - sums[low]) / mass
        before = self.p[first - 1] if first else None
        after = self.p[stop] if stop < self.p.size else None
        where = f"{what} {range_words(before, self.p[first], self.p[stop - 1], after)}"
        return farthest(where, mean, mean + gap, "mean gap there")


def median_distance(ordered: Floats) -> float:
    """Return the median distance between up to 600 of the sorted points, evenly spread."""
    some = ordered[
        np.unique(np.linspace(0, ordered.size - 1, min(SPREAD, ordered.size), dtype=int))
    ]
    pairs = some.size * (some.size - 1) // 2
    if pairs == 0:
        return 0.0
    middle = [_distance_of_rank(some, rank) for rank in {(pairs - 1) // 2, pairs // 2}]
    return float(np.mean(middle))


def _distance_of_rank(x: Floats, rank: int) -> float:
    """Return the distance of two sorted points that `rank` others are below, by bisection."""

    def within(distance: float) -> NDArray[np.intp]:  # of each point, to its right, and itself
        return np.searchsorted(x, x + distance, side="right") - np.arange(x.size)

    low, high = 0.0, float(x[-1] - x[0])
    if within(low).sum() - x.size > rank:
        return low
    while high - low > RESOLUTION * high:
        centre = 0.5 * (low + high)
        if within(centre).sum() - x.size > rank:
            high = centre
        else:
            low = centre
    return high
