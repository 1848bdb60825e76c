"""Laws that numbers give, quantiles, histograms and members, and those that maps make of laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import special

from caltest.checks import as_numbers, check_all, read_only, suspicions
from caltest.errors import NotApplicable, invalid, shown
from caltest.forecasts.laws.base import (
    LEAST,
    LOWEST,
    Law,
    by_row,
    picked,
    read,
    row_counts,
    row_sums,
)
from caltest.numerics.harmonics import harmonics
from caltest.numerics.loops import njit
from caltest.types import AnyArray, Flags, Floats, Order

OFF = 1e-6  # by which probabilities of a histogram may miss the sum 1
ROUNDING = 1e-13  # of sums of squares


class Knots(Law):
    """Laws whose cumulative distribution function is linear between points.

    Parameters
    ----------
    points : (n, W) array
        In ascending order; an atom stands at two points that are equal.
    levels : (n, W) array
        Values of the function there, from 0 to 1.
    """

    most_compared = 10_000
    by_row: tuple[str, ...] = ("points", "levels")

    def __init__(self, points: Floats, levels: Floats) -> None:
        self.n = len(points)
        self.points, self.levels = points, np.broadcast_to(levels, points.shape)

    def _segment(self, last: AnyArray) -> Iterator[Floats]:
        """Return the ends of segments by the knot that they end at, and the levels there."""
        last = np.clip(last, 1, self.points.shape[1] - 1)
        both = self.points, self.levels
        return (picked(values, place) for values in both for place in (last - 1, last))

    def _level(self, y: Floats, *, equal: bool) -> Floats:
        last = row_counts(self.points, y, equal=equal)
        x0, x1, f0, f1 = self._segment(last)
        with np.errstate(invalid="ignore", divide="ignore"):
            level = f0 + (f1 - f0) * np.clip((y - x0) / (x1 - x0), 0.0, 1.0)
        return np.where(last == 0, 0.0, np.where(last == self.points.shape[1], 1.0, level))

    def cdf(self, y: Floats) -> Floats:
        return self._level(y, equal=True)

    def cdf_left(self, y: Floats) -> Floats:
        return self._level(y, equal=False)

    def quantile(self, u: Floats) -> Floats:
        x0, x1, f0, f1 = self._segment(row_counts(self.levels, u, equal=False))
        return x0 + (x1 - x0) * np.clip((u - f0) / (f1 - f0), 0.0, 1.0)

    def support(self) -> tuple[Floats, Floats]:
        return self.points[:, 0], self.points[:, -1]

    @cached_property
    def mean(self) -> Floats:
        mass = np.diff(self.levels, axis=1)
        return row_sums(mass * (self.points[:, 1:] + self.points[:, :-1]) / 2)

    @cached_property
    def sd(self) -> Floats:
        x = self.points - self.mean[:, None]
        a, b, mass = x[:, :-1], x[:, 1:], np.diff(self.levels, axis=1)
        return np.sqrt(row_sums(mass * (a * a + a * b + b * b) / 3))

    @cached_property
    def _sums(self) -> Floats:
        """Means up to each knot, (n, W)."""
        x = self.points - self.mean[:, None]
        mass = np.diff(self.levels, axis=1)
        return np.cumsum(np.pad(mass * (x[:, 1:] + x[:, :-1]) / 2, ((0, 0), (1, 0))), axis=1)

    def centred(self, y: Floats) -> Floats:
        last = row_counts(self.points, y, equal=True)
        before = np.maximum(last - 1, 0)
        x0, f0, sums = (picked(each, before) for each in (self.points, self.levels, self._sums))
        inside = (last > 0) & (last < self.points.shape[1])
        partly = (self.cdf(y) - f0) * ((x0 + y) / 2 - by_row(self.mean, y))
        return np.where(last > 0, sums + np.where(inside, partly, 0.0), 0.0)

    @cached_property
    def half_difference(self) -> Floats:
        a, b = self.levels[:, :-1], self.levels[:, 1:]
        of_line = (a + b) / 2 - (a * a + a * b + b * b) / 3
        return row_sums(np.diff(self.points, axis=1) * of_line)

    def expected_harmonics(self, step: float, middle: float, count: int) -> Floats:
        order = np.tile(np.arange(1.0, count + 1.0), 2)[:, None] * step / (2.0 * math.pi)
        total, ends = np.zeros((2 * count, self.n)), self.points.T
        for a, b, mass in zip(ends, ends[1:], np.diff(self.levels, axis=1).T, strict=False):
            if mass.any():
                x = step * ((a + b) / 2.0 - middle)
                total += mass * np.sinc(order * (b - a)) * harmonics(x, count)
        return total

    def nodes(self) -> tuple[Floats, Floats]:
        x, weight = np.polynomial.legendre.leggauss(4)
        place, mass = (x + 1) / 2, np.diff(self.levels, axis=1)[:, :, None]
        points = self.points[:, :-1, None] + np.diff(self.points, axis=1)[:, :, None] * place
        return points.reshape(self.n, -1), (mass * weight / 2).reshape(self.n, -1)


class Quantiles(Knots):
    """Quantiles at fixed levels, with a distribution function that is linear between them.

    Of what lies beyond the outer quantiles a forecast gives the probability alone: it stands as an
    atom at the outer quantile, and `held` moves outcomes from beyond there. So the PIT of such an
    outcome is uniform below the lowest level, or above the highest, as it is of a calibrated
    forecast whatever its tails.

    Parameters
    ----------
    levels : (q,) array_like
        In (0, 1), increasing; two at least.
    values : (n, q) array_like
        The quantiles, not decreasing in any row.
    """

    has_atoms, has_tails, by_row = True, False, ("points", "levels", "values")
    scaled_by = ("crps",)  # the spread of what lies beyond the outer ones is not forecast

    def __init__(self, levels: object, values: object) -> None:
        self.given = read(levels, "levels", ndim=1)
        inside, rising = (self.given > 0) & (self.given < 1), np.diff(self.given) > 0
        if self.given.size < 2 or not inside.all() or not rising.all():
            rule = "levels must be two or more, between 0 and 1, and increase"
            raise invalid(rule, shown(self.given.tolist()), "pass levels=[0.05, 0.5, 0.95]")
        self.values = read(values, "quantiles", ndim=2)
        if self.values.shape[1] != self.given.size:
            got = f"{self.values.shape[1]} columns for {self.given.size} levels"
            raise invalid("quantiles must have a column for each level", got, "pass shape (n, q)")
        crossing = np.argwhere(np.diff(self.values, axis=1) < 0)
        if crossing.size:
            row, k = crossing[0].tolist()
            (x, y), (a, b) = self.values[row, k : k + 2], self.given[k : k + 2]
            got = f"{x:.8g} at level {a:g} above {y:.8g} at {b:g} at row {row}"
            remedy = "np.sort(quantiles, axis=1) repairs them"
            raise invalid("quantiles must not cross", got, remedy)
        points = np.pad(self.values, ((0, 0), (1, 1)), mode="edge")
        self.ends = np.pad(self.given, 1, constant_values=(0, 1))
        super().__init__(points, self.ends)
        self.title = f"{self.given.size} quantiles"

    def held(self, y: Floats) -> Floats:
        low, high = self.support()
        return np.clip(y, by_row(low, y), by_row(high, y))

    def pit_ends(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the levels of the quantiles around an outcome.

        Of one that equals quantiles, from below the first to the last of these.
        """
        below, up_to = (row_counts(self.values, y, equal=equal) for equal in (False, True))
        return self.ends[below], self.ends[np.where(up_to > below, up_to, up_to + 1)]

    @property
    def atoms(self) -> Floats:
        return self.values

    def steps(self, y: Floats) -> tuple[Floats, Floats]:
        middles = (self.ends[1:] + self.ends[:-1]) / 2
        inside = np.broadcast_to(middles, (self.n, middles.size))
        return self.pit_ends(self.redrawn(inside, inside)[0])

    def suspect(self, y: Floats) -> None:
        equal = int((self.values == y[:, None]).any(axis=1).sum())
        if equal >= max(suspicions.FEWEST, self.n / 20):
            text = "counts are at or below a quantile more often than its level: pass distribution="
            suspicions.suspect(f"{equal} of {self.n} outcomes equal one of their quantiles; {text}")

    def attained(self, level: float, *, is_lower: bool = False) -> Floats:
        """Return the level that is nearest: of others nothing is forecast."""
        return np.full(self.n, self.given[np.argmin(np.abs(self.given - level))])

    def placed(self, y: Floats, u: Floats) -> Floats:
        # Where between two quantiles they lie is not forecast: by the PIT, as of redrawn ones.
        return self.quantile(u)

    def redrawn(self, y: Floats, u: Floats) -> tuple[Floats, Law]:
        beyond = by_row(np.nextafter(self.values[:, -1], np.inf), u)
        return np.where(u > self.given[-1], beyond, self.quantile(u)), self

    def crps_at(self, y: Floats, u: Floats) -> Floats:
        """Raise NotApplicable: where between two quantiles an outcome lies is not forecast."""
        reason = "quantiles do not say where between two of them an outcome lies"
        raise NotApplicable(reason, "use test='pit-ks', or a lens such as 'below-quantile'")

    def fitting_score(self, y: Floats) -> tuple[Floats, Floats]:
        """Return twice the mean quantile loss, and its slope: nothing is assumed between them."""
        beyond = y[:, None] - self.values
        slopes = 2.0 * (self.given - (beyond < 0)) / self.given.size
        return row_sums(slopes * beyond), row_sums(slopes)

    def stretched(self, factor: float, offset: float) -> Quantiles:
        return Quantiles(self.given, self.about_mean(self.values, factor, offset))

    def recalibrated(self, levels: Any) -> Quantiles:
        """Return the same quantiles at other levels."""
        return Quantiles(levels.cdf(self.given), self.values)


class Histogram(Knots):
    """Probabilities of bins, each spread evenly over its bin.

    Parameters
    ----------
    edges : (b + 1,) or (n, b + 1) array_like
        Increasing.
    probs : (n, b) array_like
        Not negative, with sum 1 in each row.
    """

    by_row = "points", "levels", "edges", "probs"

    def __init__(self, edges: object, probs: object) -> None:
        self.probs = read(probs, "probs", ndim=2)
        self.edges = read(edges, "edges", len(self.probs), ndim=2)
        bins = self.probs.shape[1]
        if self.edges.shape[1] != bins + 1:
            got = f"{self.edges.shape[1]} edges for {bins} bins"
            raise invalid("edges must be one more than the bins", got, "pass both ends of each bin")
        rising, remedy = np.diff(self.edges, axis=1) > 0, "pass probabilities of bins"
        check_all(rising, self.edges[:, 1:], "edges must increase", "sort them")
        check_all(self.probs >= 0, self.probs, "probs must not be negative", remedy)
        total = self.probs.sum(axis=1)
        check_all(
            np.abs(total - 1) <= OFF, total, "probs must sum to 1", "divide each row by its sum"
        )
        levels = np.cumsum(np.pad(self.probs / total[:, None], ((0, 0), (1, 0))), axis=1)
        levels[:, -1] = 1.0
        super().__init__(self.edges, np.minimum(levels, 1.0))
        self.title = f"histogram of {bins} bins"

    def excludes(self, y: Floats) -> Flags:
        before, after = np.pad(self.probs, ((0, 0), (1, 1))), row_counts(self.edges, y, equal=True)
        below = row_counts(self.edges, y, equal=False)
        return np.asarray((picked(before, after) == 0.0) & (picked(before, below) == 0.0))

    def log_score(self, y: Floats) -> Floats:
        low, high = (by_row(end, y) for end in self.support())
        x0, x1, f0, f1 = self._segment(row_counts(self.points, y, equal=True))
        with np.errstate(divide="ignore"):
            return -np.log(np.where((y >= low) & (y <= high), (f1 - f0) / (x1 - x0), 0.0))


class Members(Knots):
    """Ensembles: the empirical distributions of members that are equally likely.

    Parameters
    ----------
    values : (n, M) array_like
        The members, in the unit of the outcome.
    """

    has_atoms, by_row = True, ("points", "levels", "values")
    scaled_by = ("moments",)  # by the CRPS few members should be wider than is right

    def __init__(self, values: object) -> None:
        array = as_numbers(values, "members")
        gone = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
        remedy = "pass as many for each, or drop that row"
        check_all(~gone, array, "members must be as many in each row", remedy)
        self.values = read_only(np.sort(read(array, "members", ndim=2), axis=1))
        self.size = self.values.shape[1]
        self.title = f"ensemble of {self.size} member{'s' * (self.size > 1)}"
        levels = np.repeat(np.arange(self.size + 1) / self.size, 2)[1:-1]
        super().__init__(np.repeat(self.values, 2, axis=1), levels)

    @property
    def columns(self) -> dict[str, Floats]:
        return {f"m_{k}": values for k, values in enumerate(self.values.T, 1)}

    def pit_ends(self, y: Floats) -> tuple[Floats, Floats]:
        M = self.size
        return self.cdf_left(y) * M / (M + 1), (self.cdf(y) * M + 1) / (M + 1)

    @property
    def atoms(self) -> Floats:
        return self.values

    def steps(self, y: Floats) -> tuple[Floats, Floats]:
        pool = np.sort(np.column_stack([self.values, y]), axis=1)
        low, high = (row_counts(pool, pool, equal=equal) for equal in (False, True))
        return low / (self.size + 1), high / (self.size + 1)

    def many_pits(self) -> Callable[[Floats, Floats], Floats]:
        return self.pit_at

    def pit_at(self, u: Floats, v: Floats) -> Floats:
        """Take the members as a sample of a law with the probabilities u: Bin(M, u) are below."""
        rank = np.empty(u.size)
        _binomial_rank(self.size, u.T.ravel(), v.T.ravel().astype(np.float64), rank)
        return np.asarray(rank / (self.size + 1)).reshape(u.T.shape).T

    def attained(self, level: float, *, is_lower: bool = False) -> Floats:
        rank = min(max(round(level * (self.size + 1)), 1), self.size)
        return np.full(self.n, rank / (self.size + 1))

    def drawn_from(self, y: Floats) -> Law:
        return Members(np.column_stack([self.values, y]))

    def redrawn(self, y: Floats, u: Floats) -> tuple[Floats, Law]:
        pool, rank = np.sort(np.column_stack([self.values, y]), axis=1), self._rank(u)
        rest = np.arange(self.size + 1) != rank[:, None]
        return pool[np.arange(self.n), rank], Members(pool[rest].reshape(self.n, -1))

    def errors_of(self, y: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
        pool = np.sort(np.column_stack([self.values, y]), axis=1)
        pool -= pool.mean(axis=1, keepdims=True)
        squares = row_sums(pool * pool)

        def redrawn(u: Floats) -> tuple[Floats, Floats]:
            x = pool[np.arange(self.n), self._rank(u)]
            # The others have the sum -x, and their squares what x leaves of those of all.
            variance = (squares - x * x * (1.0 + 1.0 / self.size)) / self.size
            is_zero = variance <= ROUNDING * squares
            return x * (1.0 + 1.0 / self.size), np.sqrt(np.where(is_zero, 0.0, variance))

        return redrawn

    def crps_at(self, y: Floats, u: Floats) -> Floats:
        """Return the CRPS where the outcome and a member change places, with equal probability."""
        pool = np.sort(np.column_stack([self.values, y]), axis=1)
        rank, sums = np.arange(self.size + 1), np.cumsum(pool, axis=1)
        distance = (2 * rank + 1 - self.size) * pool + sums[:, -1:] - 2 * sums
        pairs = 0.5 * distance.sum(axis=1, keepdims=True)
        table = (distance - (pairs - distance) / self.size) / self.size
        return np.take_along_axis(table, self._rank(u), axis=1)

    def _rank(self, u: Floats) -> Order:
        return np.asarray(np.minimum((u * (self.size + 1)).astype(np.intp), self.size))

    @cached_property
    def error_variance(self) -> Floats:
        """The mean square of y - m for outcomes like the members: the spread has M - 1 degrees."""
        return np.asarray(self.sd**2 * (self.size + 1) / max(self.size - 1, 1))

    def stretched(self, factor: float, offset: float) -> Members:
        return Members(self.about_mean(self.values, factor, offset))

    @property
    def ranked(self) -> Law:
        """The sorted members as quantiles: that all ranks are equally probable says so."""
        ranks = np.arange(1, self.size + 1) / (self.size + 1)
        return Quantiles(ranks, self.values) if self.size > 1 else self

    def recalibrated(self, levels: Any) -> Law:
        """Return the sorted members at other levels."""
        if self.size == 1:
            reason = "the PIT of ensembles of one member cannot be recalibrated"
            raise NotApplicable(reason, "pass two members or more")
        return self.ranked.recalibrated(levels)


@njit()
def _binomial_rank(M: int, u: Floats, v: Floats, rank: Floats) -> None:
    """Write k + w with v = P(X < k) + w P(X = k), X of Bin(M, u), by sums of its probabilities.

    They begin where less than 1e-17 is below (Chernoff), and with failures where u is above 1/2.
    """
    for i in range(u.size):
        is_low = u[i] <= 0.5
        p, left = (u[i], v[i]) if is_low else (1.0 - u[i], 1.0 - v[i])
        k = max(0, int(M * p - 9.0 * math.sqrt(M * p)))
        mass = M * math.log1p(-p)
        if k > 0:
            choices = math.lgamma(M + 1.0) - math.lgamma(k + 1.0) - math.lgamma(M - k + 1.0)
            mass += choices + k * (math.log(p) - math.log1p(-p))
        mass = math.exp(mass)
        while left > mass and k < M:
            left -= mass
            mass *= p / (1.0 - p) * ((M - k) / (k + 1.0))
            k += 1
        at = k + (left / mass if left < mass else 1.0)
        rank[i] = at if is_low else M + 1.0 - at


# ---- what calibration maps make of laws ----------------------------------------------------------

# Levels of F, and of G(F), between which expectations take laws as linear: at most 0.005 apart, and
# log odds 0.2.
STEPS = 200
LOST, MOST_GAPS = 1e-4, 32  # of the width of a law: what an area between two quantiles is off by
NEAR_ENDS = np.union1d(0.5 ** np.arange(1, 11), 1.0 - 0.5 ** np.arange(1, 11))
FINE = np.union1d(special.expit(np.linspace(-36.0, 36.0, 361)), np.arange(1, STEPS) / STEPS)


def _inside_gaps(points: Floats, u: Floats) -> Floats:
    """Return points near the ends of the gaps that a law leaves between its quantiles, (n, k)."""
    width = np.diff(points, axis=1)
    lost = np.where(np.isfinite(width), width * np.diff(u), 0.0)
    low, high = np.searchsorted(u, [0.01, 0.99])
    wide = lost > LOST * (points[:, high] - points[:, low])[:, None]
    count = min(wide.sum(axis=1).max(), MOST_GAPS)
    at = np.argsort(-lost, axis=1)[:, :count, None]
    start, step = points[:, :-1, None], width[:, :, None]
    places = np.take_along_axis(start, at, 1) + np.take_along_axis(step, at, 1) * NEAR_ENDS
    return np.asarray(places.reshape(len(points), -1))


class Stretched(Law):
    """Laws of m + d + s (Y - m), with the means m of Y.

    Parameters
    ----------
    base : Law
        The law of Y; no single outcome has positive probability.
    factor, offset : float
        s > 0, and d in the unit of the outcome.
    """

    by_row = "base", "mean", "sd"

    def __init__(self, base: Law, factor: float, offset: float) -> None:
        if base.has_atoms or not np.isfinite(base.mean).all():
            reason = f"{base.title} has outcomes with a probability, or a mean that is not finite"
            raise NotApplicable(f"{reason}: it cannot be stretched", "recalibrate the PIT instead")
        self.base, self.factor, self.offset = base, factor, offset
        self.n, self.title = base.n, f"stretched {base.title}"
        self.mean, self.sd = base.mean + offset, factor * base.sd

    def _inside(self, y: Floats) -> Floats:
        return self.base.about_mean(y - self.offset, 1.0 / self.factor)

    def _moved(self, x: Floats) -> Floats:
        return self.base.about_mean(x, self.factor, self.offset)

    def excludes(self, y: Floats) -> Flags:
        return self.base.excludes(self._inside(y))

    def cdf(self, y: Floats) -> Floats:
        return self.base.cdf(self._inside(y))

    def quantile(self, u: Floats) -> Floats:
        return self._moved(self.base.quantile(u))

    def upper_quantile(self, v: Floats) -> Floats:
        return self._moved(self.base.upper_quantile(v))

    def distance(self, y: Floats) -> Floats:
        return self.factor * self.base.distance(self._inside(y))

    @cached_property
    def half_difference(self) -> Floats:
        return self.factor * self.base.half_difference

    def log_score(self, y: Floats) -> Floats:
        return self.base.log_score(self._inside(y)) + math.log(self.factor)

    def support(self) -> tuple[Floats, Floats]:
        low, high = self.base.support()
        return self._moved(low), self._moved(high)


class RecalibratedLaw(Law):
    """Laws with the distribution functions G(F).

    Parameters
    ----------
    base : Law
        The law with the distribution functions F.
    levels : frozen distribution of scipy.stats
        That of levels in (0, 1), with the distribution function G.
    """

    by_row = ("base",)

    def __init__(self, base: Law, levels: Any) -> None:
        self.base, self.levels = base, levels
        self.n, self.has_atoms, self.title = base.n, base.has_atoms, f"recalibrated {base.title}"

    def cdf(self, y: Floats) -> Floats:
        return np.asarray(self.levels.cdf(self.base.cdf(y)))

    def cdf_left(self, y: Floats) -> Floats:
        return np.asarray(self.levels.cdf(self.base.cdf_left(y)))

    def quantile(self, u: Floats) -> Floats:
        return self.base.quantile(np.clip(self.levels.ppf(u), LOWEST, 1.0 - LEAST))

    @cached_property
    def _knots(self) -> Knots:
        """The same law, linear between many points: G need not be smooth, nor F."""
        u = np.union1d(FINE, np.clip(self.levels.ppf(FINE), LOWEST, 1.0 - LEAST))
        if self.has_atoms:  # steps stand at two points that are equal
            base, points = self.base, np.sort(self.base.nodes()[0], axis=1)
            between = base.cdf_left(points[:, 1:]) - base.cdf(points[:, :-1])
            if between.max(initial=0.0) > 1.0 / STEPS:  # there is a density as well
                fine = base.quantile(np.broadcast_to(u, (self.n, u.size)))
                points = np.sort(np.hstack([points, fine, _inside_gaps(fine, u)]), axis=1)
            points = np.repeat(points, 2, axis=1)
            levels = self.cdf_left(points)
            levels[:, 1::2] = self.cdf(points[:, 1::2])
            levels.sort(axis=1)  # of points that are there more than once
        else:
            points = self.base.quantile(np.broadcast_to(u, (self.n, u.size)))
            levels = np.tile(self.levels.cdf(u), (self.n, 1))
            if (inside := _inside_gaps(points, u)).size:
                points = np.sort(np.hstack([points, inside]), axis=1)
                levels = self.cdf(points)
        levels[:, 0], levels[:, -1] = 0.0, 1.0
        return Knots(points, levels)

    mean = cached_property(attrgetter("_knots.mean"))
    sd = cached_property(attrgetter("_knots.sd"))
    half_difference = cached_property(attrgetter("_knots.half_difference"))

    def distance(self, y: Floats) -> Floats:
        return self._knots.distance(y)

    def nodes(self) -> tuple[Floats, Floats]:
        return self._knots.nodes()

    def log_score(self, y: Floats) -> Floats:
        u = np.clip(self.base.cdf(y), LOWEST, 1.0 - LEAST)
        by_density = np.asarray(self.base.log_score(y) - self.levels.logpdf(u))
        if not self.has_atoms:
            return by_density
        mass = self.cdf(y) - self.cdf_left(y)
        is_lost = (mass < ROUNDING) & (u > 0.5)  # far in the upper tail, by rounding
        with np.errstate(divide="ignore"):
            return np.where(is_lost, by_density, -np.log(mass))

    def excludes(self, y: Floats) -> Flags:
        return self.base.excludes(y)

    @property
    def atoms(self) -> Floats | None:
        return self.base.atoms

    def support(self) -> tuple[Floats, Floats]:
        return self.base.support()
