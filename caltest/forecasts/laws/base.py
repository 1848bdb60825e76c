"""What all predictive distributions share: one interface for whatever they were given as."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np

from caltest.checks import as_numbers, check_all, in_one_dimension, read_only
from caltest.errors import NotApplicable, invalid
from caltest.numerics.harmonics import harmonics
from caltest.numerics.loops import blocks, frozen, map_threads, njit
from caltest.types import AnyArray, Flags, Floats, Ints

LEAST = 2.0**-53  # an upper tail below it is lost where only the distance from 0 is known
LOWEST = 1e-300  # probability that a quantile is asked for
MOST = 1e100  # size of a number
NODES = 64
PANEL = np.polynomial.legendre.leggauss(5)  # places and weights between two knots
REACH = 60.0  # probabilities down to exp(-60) of the first one: of a tail as heavy as t(2), 1e-13
SMALL = 1 << 22  # comparisons that NumPy makes before numba is worth loading
BLOCK = 1 << 14  # rows of a thread
Function = Callable[[Floats], Any]


class Law(ABC):
    """The predictive distributions of n rows: one interface for all that a forecast can be.

    Outcomes `y` and probabilities `u` are (n,) or (n, K) arrays, one row for each distribution, and
    results have their shape.

    Attributes
    ----------
    title : str
        What it is, "Gaussian" or "ensemble of 50 members".
    n : int
        Number of rows.
    has_atoms : bool
        Whether single outcomes have positive probability.
    given : (q,) array or None
        The levels, of what was forecast by quantiles.
    scaled_by : tuple of str
        What the factor of a stretched law can be fitted by, the usual first.
    most_compared : int
        Rows by which a verdict compares maps in seconds; 0 where the CRPS is an integral.
    has_tails : bool
        Whether it says how far outcomes are beyond its outer points.
    unit_law : Law or None
        The law of one row of which those of all rows differ by mean and standard deviation alone.
    by_row : tuple of str
        The fields that have a value, or a law, for each row, or several of these.
    """

    title: str
    n: int
    has_atoms: bool = False
    given: Any = None
    scaled_by: tuple[str, ...] = ("crps", "moments")
    most_compared: int = 0
    has_tails: bool = True
    unit_law: Law | None = None
    by_row: tuple[str, ...] = ()

    @abstractmethod
    def cdf(self, y: Floats) -> Floats:
        """Return P(Y <= y)."""

    @abstractmethod
    def quantile(self, u: Floats) -> Floats:
        """Return the least y with P(Y <= y) >= u, for 0 < u < 1."""

    def taken(self, rows: AnyArray) -> Self:
        """Return the law of some rows, given by their numbers or a mask, in that order."""
        some = {name: some_rows(vars(self)[name], rows) for name in self.by_row}
        return self._with(n=np.arange(self.n)[rows].size, **some)

    def support(self) -> tuple[Floats, Floats]:
        """Return the ends of the supports, (n,) each; infinite where there is none."""
        return np.full(self.n, -np.inf), np.full(self.n, np.inf)

    def excludes(self, y: Floats) -> Flags:
        """Return which outcomes (n,) cannot be: beyond the ends, or where there is no density."""
        first, last = self.support()
        beyond = (y < first) | (y > last)
        low, high = self.pit_ends(y) if beyond.any() else (beyond, beyond)
        return np.asarray(beyond & ((high <= 0.0) | (low >= 1.0)))

    def cdf_left(self, y: Floats) -> Floats:
        """Return P(Y < y)."""
        return self.cdf(y)

    def upper_quantile(self, v: Floats) -> Floats:
        """Return the quantile of 1 - v, for v as small as it is."""
        return self.quantile(np.minimum(1.0 - v, 1.0 - LEAST))

    def pit_ends(self, y: Floats) -> tuple[Floats, Floats]:
        """Return between which probabilities the PIT of an outcome is uniform: P(Y < y), P(Y <= y).

        Of ensembles they are ranks: an outcome from the same law as the M members has each of M + 1
        ranks with equal probability, though it equals none of them.
        """
        at = self.cdf(y)
        return (self.cdf_left(y) if self.has_atoms else at), at

    def pit_at(self, u: Floats, v: Floats) -> Floats:
        """Return the PIT of outcomes at probabilities u, within steps by uniform v."""
        if not self.has_atoms:
            return u
        low, high = self.pit_ends(self.redrawn(u, u)[0])
        return low + v * (high - low)

    @property
    def atoms(self) -> Floats | None:
        """Points (n, W) with all that have a probability; None of a law that knows too many."""
        return None

    def steps(self, y: Floats) -> tuple[Floats, Floats] | None:
        """Return where steps of the distribution function begin and end, (n, W), in their order.

        Outcomes redrawn in place of y have them; None where they are not known.
        """
        points = self.atoms if self.has_atoms else None
        return None if points is None else (self.cdf_left(points), self.cdf(points))

    def many_pits(self) -> Callable[[Floats, Floats], Floats]:
        """Return `pit_at`, ready to be asked for many numbers (n, K) of the same rows."""
        found = self.steps(np.zeros(self.n))
        return self.pit_at if found is None else Steps(*found).pit_at

    def held(self, y: Floats) -> Floats:
        """Return outcomes as far as the law tells them apart; to be asked before all else.

        Quantiles say nothing of how far beyond the outer ones an outcome is. All others tell all
        outcomes apart.
        """
        return y

    def suspect(self, y: Floats) -> None:  # noqa: B027, most have nothing to tell
        """Warn where outcomes (n,) show that the law was likely given by mistake."""

    def attained(self, level: float, *, is_lower: bool = False) -> Floats:
        """Return the probability (n,) that the distribution function has at a quantile.

        Where it has steps, below the quantile for the lower end of an interval.
        """
        levels = np.full(self.n, level)
        if not self.has_atoms:
            return levels
        at = self.quantile(levels)
        return self.cdf_left(at) if is_lower else self.cdf(at)

    def drawn_from(self, y: Floats) -> Law:
        """Return the law that outcomes are redrawn from, by which rows are told apart.

        Given the members of an ensemble, an outcome like them has no uniform rank: it is more often
        outside where they are close together. Given all M + 1 values it has.
        """
        return self

    def placed(self, y: Floats, u: Floats) -> Floats:
        """Return outcomes (n,) of PIT u as the law places them: where redrawn ones may be."""
        return y

    def redrawn(self, y: Floats, u: Floats) -> tuple[Floats, Law]:
        """Return the outcomes (n,) that probabilities (n,) give in place of y, and their law."""
        return self.quantile(u), self

    def errors_of(self, y: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
        """Return a function of probabilities (n,), that redraws outcomes in place of y.

        It gives how far they are above their means, and their standard deviations.
        """

        def redrawn(u: Floats) -> tuple[Floats, Floats]:
            outcomes, law = self.redrawn(y, u)
            return law.held(outcomes) - law.mean, law.sd

        return redrawn

    def crps_at(self, y: Floats, u: Floats) -> Floats:
        """Return the CRPS of the outcomes that probabilities (n, K) give in place of y, (n,)."""
        return self.crps(self.quantile(u))

    __getitem__ = taken

    @property
    def columns(self) -> dict[str, Floats]:
        """How a table holds the laws, (n,) each by name; here by quantiles."""
        levels = np.arange(1, 20) / 20.0 if self.given is None else self.given
        values = self.quantile(np.broadcast_to(levels, (self.n, levels.size)))
        return {f"q_{level:.10g}": column for level, column in zip(levels, values.T, strict=True)}

    @cached_property
    def mean(self) -> Floats:
        """The means, (n,)."""
        points, weight = self.nodes()
        return read_only(row_sums(points * weight))

    @cached_property
    def sd(self) -> Floats:
        """The standard deviations, (n,)."""
        points, weight = self.nodes()
        return read_only(np.sqrt(row_sums((points - self.mean[:, None]) ** 2 * weight)))

    def log_score(self, y: Floats) -> Floats:
        """Return minus the logarithm of the density, or of the probability, of y.

        Raises
        ------
        NotApplicable
            If the law has neither.
        """
        reason = f"the logarithmic score needs a density: there is none of {self.title}"
        raise NotApplicable(reason, "use the CRPS")

    def crps(self, y: Floats) -> Floats:
        r"""Return the continuous ranked probability score, the integral of (F(x) - 1(y <= x))^2.

        Raises
        ------
        NotApplicable
            If a mean is infinite.

        Notes
        -----
        With m = E X, F the cumulative distribution function and X' an independent copy of X,

        .. math:: CRPS(F, y) = (y - m) (2 F(y) - 1) - 2 E[(X - m) 1(X \le y)] - E|X - X'| / 2,

        by :math:`CRPS(F, y) = E|X - y| - E|X - X'| / 2` (Gneiting and Raftery 2007, eq. 21). So a
        law has to know two parts: a mean up to y, and half of a mean difference, which is one
        number for a row. Closed forms are behind Jordan, Krueger and Lerch (2019), appendix A.

        Of the distribution as it is: of an ensemble, of the empirical distribution of its members.
        The "fair" score of Ferro (2014), for members as a sample of a law behind them, is less by
        :math:`E|X - X'| / (2 (M - 1))`.
        """
        if not np.isfinite(self.mean).all():
            row = int(np.argmin(np.isfinite(self.mean)))
            reason = f"the CRPS needs means, and that of row {row} is not finite"
            raise NotApplicable(reason, "use the logarithmic score")
        return self.distance(y) - by_row(self.half_difference, y)

    def distance(self, y: Floats) -> Floats:
        """Return E|Y - y|."""
        return (y - by_row(self.mean, y)) * (2.0 * self.cdf(y) - 1.0) - 2.0 * self.centred(y)

    def centred(self, y: Floats) -> Floats:
        """Return E[(Y - m) 1(Y <= y)] with the mean m: (y - m) F(y), less the integral of F."""
        knots, sums = self._panels
        last = np.maximum(row_counts(knots, y, equal=True) - 1, 0)
        up_to = picked(sums, last) + self._integral(picked(knots, last), y)
        return (y - by_row(self.mean, y)) * self.cdf(y) - up_to

    @cached_property
    def _panels(self) -> tuple[Floats, Floats]:
        """Knots (n, K), of which the median may be a kink, and the integrals of F up to there."""
        median = self.quantile(np.full((self.n, 1), 0.5))
        knots = np.sort(np.hstack([self.nodes()[0], median]), axis=1)
        sums = np.zeros(knots.shape)
        for k in range(1, knots.shape[1]):
            sums[:, k] = sums[:, k - 1] + self._integral(knots[:, k - 1], knots[:, k])
        return knots, sums

    def _integral(self, low: Floats, high: Floats) -> Floats:
        """Return the integrals of F between ends (n,) or (n, k)."""
        half, middle = (high - low) / 2, (high + low) / 2
        points = middle[..., None] + half[..., None] * PANEL[0]
        levels = self.cdf(points.reshape(self.n, -1)).reshape(points.shape)
        return np.asarray(half * (levels @ PANEL[1]))

    @cached_property
    def half_difference(self) -> Floats:
        """E|Y - Y'| / 2 of independent outcomes, (n,): the integral of (2 u - 1) (q(u) - m)."""
        points, weight = self.nodes()
        lower = 0.5 * tail_nodes()[0]
        signs = np.concatenate([2.0 * lower - 1.0, 1.0 - 2.0 * lower])
        return row_sums(weight * signs * (points - self.mean[:, None]))

    def nodes(self) -> tuple[Floats, Floats]:
        """Return points and weights, (n, Q) each, by which expectations are taken."""
        points = self._tails
        return points, np.broadcast_to(0.5 * np.tile(tail_nodes()[1], 2), points.shape)

    @cached_property
    def _tails(self) -> Floats:
        """Quantiles of both tails, (n, Q): SciPy searches for those of many families."""
        u = np.broadcast_to(0.5 * tail_nodes()[0], (self.n, NODES))
        return np.hstack([self.quantile(u), self.upper_quantile(u)])

    def expected_harmonics(self, step: float, middle: float, count: int) -> Floats:
        """Return the means of the `harmonics` of step * (Y - middle), (2 count, n)."""
        total = np.zeros((2 * count, self.n))
        for x, weight in zip(*(each.T for each in self.nodes()), strict=True):
            total += harmonics(step * (x - middle), count) * weight
        return total

    # ---- calibration maps of distributions ------------------------------------------------------

    @property
    def error_variance(self) -> Floats:
        """The variances of outcomes about the means, (n,), as they are forecast."""
        return self.sd**2

    def fitting_score(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the score that a factor is fitted by, (n,), and its slope in y."""
        return self.crps(y), self.cdf(y) + self.cdf_left(y) - 1.0

    def about_mean(self, x: Floats, factor: float, offset: float = 0.0) -> Floats:
        """Return m + offset + factor (x - m), with the means m."""
        middle = by_row(self.mean, x)
        return middle + offset + factor * (x - middle)

    def stretched(self, factor: float, offset: float) -> Law:
        """Return the laws of the outcomes that `about_mean` makes of those of this law.

        Raises
        ------
        NotApplicable
            If a mean is not finite, or outcomes have probabilities of their own, as counts do.
        """
        from caltest.forecasts.laws.numbers import Stretched  # it is a law too

        return Stretched(self, factor, offset)

    @property
    def ranked(self) -> Law:
        """What is recalibrated: of an ensemble the quantiles that its sorted members are."""
        return self

    def recalibrated(self, levels: Any) -> Law:
        """Return the laws with the distribution functions G(F), G that of `levels` in (0, 1)."""
        from caltest.forecasts.laws.numbers import RecalibratedLaw

        return RecalibratedLaw(self, levels)

    def _with(self, **fields: object) -> Self:
        """Return a copy with other values of these fields, of which none is computed yet."""
        some, kind = copy(self), type(self)
        for name in vars(self):
            if isinstance(getattr(kind, name, None), cached_property):
                del vars(some)[name]
        vars(some).update(fields)
        return some


def by_row(values: Floats, y: Floats) -> Floats:
    """Give one value for each row (n,) the dimensions of y."""
    return values if y.ndim == 1 else values[:, None]


def some_rows(values: Any, rows: AnyArray) -> Any:
    """Return some rows of values, of a law, or of each of several in a tuple or a mapping."""
    if isinstance(values, dict):
        return {name: some_rows(each, rows) for name, each in values.items()}
    if isinstance(values, tuple):
        return tuple(some_rows(each, rows) for each in values)
    found = values[rows]
    return read_only(found) if isinstance(found, np.ndarray) else found


def picked(values: Floats, places: AnyArray) -> Floats:
    """Return the values (n, W) at places (n,) or (n, K) of their rows, in the shape of these."""
    columns = places.reshape(len(values), -1)
    return np.take_along_axis(values, columns, axis=1).reshape(places.shape)


def row_sums(values: Floats) -> Floats:
    """Sum the rows (n, q), (n,)."""
    sums: Floats = values.sum(axis=1)
    return sums


def read(values: object, name: str, n: int | None = None, *, ndim: int = 1) -> Floats:
    """Read numbers of rows as an array (n,) or (n, q), read-only; a single number is that of all.

    Raises
    ------
    InvalidInput
        If the shape is another, or a number is missing or infinite.
    """
    array = as_numbers(values, name).astype(np.float64)
    array = in_one_dimension(array) if ndim == 1 else array
    if array.ndim == ndim - 1 and n is not None:
        array = np.repeat(array[None], n, axis=0)
    if array.ndim != ndim or 0 in array.shape or n not in (None, array.shape[0]):
        rule = f"{name} must have {'one number' if ndim == 1 else 'a row of numbers'} for each row"
        got = f"shape {array.shape}" + (f" for {n} rows" if n is not None else "")
        raise invalid(rule, got, f"pass shape {'(n,)' if ndim == 1 else '(n, ...)'}")
    check_all(np.isfinite(array), array, f"{name} must be finite numbers", "drop or fill that row")
    rule = f"{name} must be smaller than {MOST:g} in size: squares of it must be numbers"
    check_all(np.abs(array) < MOST, array, rule, "pass them in a larger unit")
    return read_only(array)


# ---- parts of the CRPS, and places in rows ------------------------------------------------------


def tail_nodes() -> tuple[Floats, Floats]:
    """Return factors exp(-s) and weights: the mean of q over (0, a) is the sum of w q(a exp(-s)).

    The rule is that of Gauss and Legendre in s: quantiles of a tail are smooth in the logarithm of
    the probability, be the tail bounded, exponential or a power.
    """
    s, weight = np.polynomial.legendre.leggauss(NODES)
    factor = np.exp(-REACH / 2 * (s + 1))
    return factor, REACH / 2 * weight * factor


def row_counts(points: Floats, y: Floats, *, equal: bool) -> Ints:
    """Count in each row the sorted points (n, W) below y, or with `equal` up to y.

    In the shape of y, (n,) or (n, K).
    """
    columns = y.reshape(len(y), -1)
    if points.shape[1] * y.size <= SMALL:
        left, right = points[:, :, None], columns[:, None, :]
        found = (left <= right if equal else left < right).sum(axis=1)
        return np.asarray(found, np.int64).reshape(y.shape)
    out = np.empty(columns.shape, np.int64)
    tasks = [(points[rows], columns[rows], equal, out[rows]) for rows in blocks(len(y), BLOCK)]
    list(map_threads(_count, tasks))
    return out.reshape(y.shape)


class Steps:
    """The steps of the distribution functions of n rows.

    Parameters
    ----------
    low, high : (n, W) array
        Where they begin and end, in their order.

    Attributes
    ----------
    low, high : (S,) array
        The same, without those of width 0, of one row after another; the last is none.
    """

    def __init__(self, low: Floats, high: Floats) -> None:
        ends = np.stack([low, high], axis=2).reshape(len(low), -1)
        self._ends = np.maximum.accumulate(ends, axis=1)  # some are there twice
        low, high = self._ends[:, ::2], self._ends[:, 1::2]
        is_step = high > low
        self.low, self.high = (np.append(end[is_step], 0.5) for end in (low, high))
        self._number = np.where(is_step, np.cumsum(is_step).reshape(low.shape) - 1, -1)

    def of(self, u: Floats) -> Ints:
        """Return which steps numbers (n, K) are in, -1 where in none, as those of 0 and 1."""
        numbers = np.ascontiguousarray(u.T)
        found = np.empty(numbers.shape, np.int64)
        _in_steps(self._ends, self._number, frozen(numbers), found)
        return found.T

    def pit_at(self, u: Floats, v: Floats) -> Floats:
        """Move numbers within their steps to uniform v."""
        step = self.of(u)
        low = self.low[step]
        return np.where(step < 0, u, low + v * (self.high[step] - low))


@njit()
def _in_steps(ends: Floats, number: Ints, u: Floats, found: Ints) -> None:
    for i in range(u.shape[1]):
        for k in range(u.shape[0]):
            j = _place(ends[i], u[k, i], equal=False)
            is_in = j % 2 == 1 and 0.0 < u[k, i] < 1.0
            found[k, i] = number[i, j // 2] if is_in else -1


@njit()
def _count(points: Floats, y: Floats, equal: bool, out: Ints) -> None:  # noqa: FBT001
    for i in range(y.shape[0]):
        for k in range(y.shape[1]):
            out[i, k] = _place(points[i], y[i, k], equal)


@njit()
def _place(points: Floats, y: float, equal: bool) -> int:  # noqa: FBT001
    low, high = 0, points.size
    while low < high:
        middle = (low + high) // 2
        if points[middle] < y or (equal and points[middle] == y):
            low = middle + 1
        else:
            high = middle
    return low
