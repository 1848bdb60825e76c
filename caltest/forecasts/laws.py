"""Laws: the predictive distributions of n rows, whatever they were given as."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from operator import attrgetter
from typing import Any, Self

import numpy as np
from scipy import special

from caltest.checks import as_numbers, check_integer, in_one_dimension, read_only
from caltest.errors import InvalidInput, NotApplicable, invalid, shown
from caltest.forecasts import crps
from caltest.numerics.harmonics import harmonics
from caltest.types import AnyArray, Floats, Order

LEAST = 2.0**-53  # an upper tail below it is lost where only the distance from 0 is known
OFF = 1e-6  # by which probabilities of a histogram may miss the sum 1
MOST_POINTS = 1 << 20  # of a discrete law that is summed up
UNSEEN = 1e-15  # mass that is left out of such a sum
MOST = 1e100  # size of a number
GRID = np.linspace(0.02, 0.98, 9)  # probabilities at which a function is looked at
LOWEST = 1e-300  # probability that a quantile is asked for
# Levels of F, and of G(F), between which expectations take laws as linear: at most 0.005 apart, and
# log odds 0.2.
FINE = np.union1d(special.expit(np.linspace(-36.0, 36.0, 361)), np.arange(1, 200) / 200.0)
PANEL = np.polynomial.legendre.leggauss(8)  # places and weights between two knots
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

    def held(self, y: Floats) -> Floats:
        """Return outcomes as far as the law tells them apart; to be asked before all else.

        Quantiles say nothing of how far beyond the outer ones an outcome is. All others tell all
        outcomes apart.
        """
        return y

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
        reason = f"the logarithmic score needs a density, and {self.title} has none"
        raise NotApplicable(reason, "use the CRPS")

    def crps(self, y: Floats) -> Floats:
        r"""Return the continuous ranked probability score, the integral of (F(x) - 1(y <= x))^2.

        Raises
        ------
        NotApplicable
            If a mean is infinite.

        Notes
        -----
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
        """Return E[(Y - m) 1(Y <= y)] with the mean m, here by quadrature over the quantiles.

        Over the tail that y is nearer to: the whole expectation is 0.
        """
        below, middle = self.cdf(y), by_row(self.mean, y)
        is_upper = below > 0.5
        tail = np.where(is_upper, 1.0 - below, below)
        total = np.zeros(np.shape(y))
        inner = np.maximum(tail, np.finfo(np.float64).tiny)
        for factor, weight in zip(*crps.tail_nodes(), strict=True):
            u = np.maximum(inner * factor, 1e-300)
            off = np.where(is_upper, middle - self.upper_quantile(u), self.quantile(u) - middle)
            total += weight * off
        return np.multiply(total, tail, out=np.zeros_like(total), where=tail > 0)

    @cached_property
    def half_difference(self) -> Floats:
        """E|Y - Y'| / 2 of independent outcomes, (n,); by quadrature where no form is closed."""
        points, weight = self.nodes()
        return 0.5 * row_sums(self.distance(points) * weight)

    def nodes(self) -> tuple[Floats, Floats]:
        """Return points and weights, (n, Q) each, by which expectations are taken."""
        factor, weight = crps.tail_nodes()
        u = np.broadcast_to(0.5 * factor, (self.n, factor.size))
        points = np.hstack([self.quantile(u), self.upper_quantile(u)])
        return points, np.broadcast_to(0.5 * np.tile(weight, 2), points.shape)

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
        return Stretched(self, factor, offset)

    def recalibrated(self, levels: Any) -> Law:
        """Return the laws with the distribution functions G(F), G that of `levels` in (0, 1)."""
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
    check(np.isfinite(array), array, f"{name} must be finite numbers", "drop or fill that row")
    rule = f"{name} must be smaller than {MOST:g} in size: squares of it must be numbers"
    check(np.abs(array) < MOST, array, rule, "pass them in a larger unit")
    return read_only(array)


def check(good: AnyArray, values: Floats, rule: str, remedy: str) -> None:
    """Raise an error that names the first row whose value is not good."""
    if not good.all():
        place = tuple(np.argwhere(~good)[0].tolist())
        raise invalid(rule, f"{values[place]:.8g} at row {place[0]}", remedy)


class NormalLaw(Law):
    """Normal distributions.

    Parameters
    ----------
    mean, scale : (n,) array_like
        Means and standard deviations, in the unit of the outcome; a single scale is that of all.
    """

    title, by_row = "Gaussian", ("mean", "sd")
    most_compared = 10_000

    def __init__(self, mean: object, scale: object) -> None:
        self.mean = read(mean, "mean")
        self.n = self.mean.size
        self.sd = read(scale, "scale", self.n)
        remedy = "pass standard deviations; drop rows that are predicted without error"
        check(self.sd > 0, self.sd, "scale must be positive", remedy)

    @property
    def columns(self) -> dict[str, Floats]:
        return {"mean": self.mean, "scale": self.sd}

    @property
    def unit_law(self) -> NormalLaw:  # type: ignore[override]
        return NormalLaw([0.0], [1.0])

    def standard(self, y: Floats) -> Floats:
        """Return how many standard deviations y is above the mean."""
        return (y - by_row(self.mean, y)) / by_row(self.sd, y)

    def cdf(self, y: Floats) -> Floats:
        return np.asarray(special.ndtr(self.standard(y)))

    def quantile(self, u: Floats) -> Floats:
        return np.asarray(by_row(self.mean, u) + by_row(self.sd, u) * special.ndtri(u))

    def upper_quantile(self, v: Floats) -> Floats:
        return np.asarray(by_row(self.mean, v) - by_row(self.sd, v) * special.ndtri(v))

    def centred(self, y: Floats) -> Floats:
        return -by_row(self.sd, y) * crps.normal_density(self.standard(y))

    @cached_property
    def half_difference(self) -> Floats:
        return self.sd / math.sqrt(math.pi)

    def expected_harmonics(self, step: float, middle: float, count: int) -> Floats:
        order = np.tile(np.arange(1.0, count + 1.0), 2)[:, None]
        damped = np.exp(-0.5 * np.square(order * step * self.sd))
        return harmonics(step * (self.mean - middle), count) * damped

    def log_score(self, y: Floats) -> Floats:
        log_scale = np.log(self.sd) + 0.5 * math.log(2 * math.pi)
        return 0.5 * self.standard(y) ** 2 + by_row(log_scale, y)

    def stretched(self, factor: float, offset: float) -> NormalLaw:
        return NormalLaw(self.mean + offset, factor * self.sd)


class Frozen(Law):
    """Distributions of scipy.stats with parameters for each row.

    Parameters
    ----------
    distribution : rv_frozen or ContinuousDistribution or DiscreteDistribution
        A frozen distribution, `scipy.stats.gamma(a, scale=scale)`, or one of the newer kind,
        `scipy.stats.Normal(mu=mu, sigma=sigma)`; its parameters are numbers or (n,) arrays.
    n : int, optional
        Number of rows; by default that of the parameters.
    """

    by_row = ("parameters",)

    def __init__(self, distribution: Any, n: int | None = None) -> None:
        kind, named = type(distribution), getattr(distribution, "_original_parameters", None)
        if named and hasattr(distribution, "icdf"):
            self._family: Any = lambda *given: kind(**dict(zip(named, given, strict=True)))
            self.has_atoms = any(base.__name__ == "DiscreteDistribution" for base in kind.__mro__)
            self.title, self._is_new, self._parts = kind.__name__, True, None
            parameters = dict(named)
        elif hasattr(distribution, "dist") and hasattr(distribution, "kwds"):
            self._family = family = distribution.dist
            shapes, loc, scale = family._parse_args(*distribution.args, **distribution.kwds)  # noqa: SLF001, no public way
            self.has_atoms = hasattr(family, "pmf")
            self.title, self._is_new = str(family.name), False
            self._parts = crps.CLOSED.get(self.title)
            names = [*filter(None, (family.shapes or "").split(", ")), "loc"]
            given = (*shapes, loc) if self.has_atoms else (*shapes, loc, scale)
            parameters = dict(zip([*names, "scale"], given, strict=False))
        else:
            rule = "distribution must be a frozen distribution of scipy.stats or a law"
            remedy = "pass scipy.stats.norm(loc=mean, scale=scale), for example"
            raise invalid(rule, shown(distribution), remedy)
        try:
            size = np.broadcast_shapes(*(np.shape(value) for value in parameters.values()))
        except ValueError as error:
            got = ", ".join(f"{name} {np.shape(x)}" for name, x in parameters.items())
            rule = "parameters of a distribution must have one value for each row"
            raise invalid(rule, f"shapes {got}", "pass numbers or arrays (n,)") from error
        if len(size) > 1 or (not size and n is None):
            rule = "distribution must have one-dimensional parameters, with a value for each row"
            raise invalid(rule, f"shape {size}", "pass arrays (n,), or n= for the same in all rows")
        self.n = size[0] if size and (size[0] > 1 or n is None) else int(n or 1)
        self.parameters = {
            name: read(np.broadcast_to(np.asarray(value, np.float64), (self.n,)), name, n)
            for name, value in parameters.items()
        }
        self._check_parameters()
        self.most_compared = 1000 if self._parts is not None else 0

    def _check_parameters(self) -> None:
        values = list(self.parameters.values())
        if "scale" in self.parameters:
            check(values[-1] > 0, values[-1], "scale must be positive", "pass positive scales")
        if not self._is_new and self._family.numargs:
            good = np.broadcast_to(self._family._argcheck(*values[: self._family.numargs]), self.n)  # noqa: SLF001, no public way
            rule = f"the shapes of {self.title} must be in their domain"
            check(good, values[0], rule, f"see scipy.stats.{self.title}")

    def _ask(self, name: str, y: Floats | None = None) -> Floats:
        given = [value if y is None else by_row(value, y) for value in self.parameters.values()]
        values = [] if y is None else [y]
        if self._is_new:
            return np.asarray(getattr(self._family(*given), NEW_NAMES.get(name, name))(*values))
        return np.asarray(getattr(self._family, name)(*values, *given), np.float64)

    def cdf(self, y: Floats) -> Floats:
        return self._ask("cdf", y)

    def cdf_left(self, y: Floats) -> Floats:
        return self._ask("cdf", np.nextafter(y, -np.inf)) if self.has_atoms else self.cdf(y)

    def quantile(self, u: Floats) -> Floats:
        return self._ask("ppf", u)

    def upper_quantile(self, v: Floats) -> Floats:
        return super().upper_quantile(v) if self.has_atoms else self._ask("isf", v)

    @cached_property
    def mean(self) -> Floats:
        return read_only(np.array(self._ask("mean")))

    @cached_property
    def sd(self) -> Floats:
        return read_only(np.array(self._ask("std")))

    def log_score(self, y: Floats) -> Floats:
        return -self._ask("logpmf" if self.has_atoms else "logpdf", y)

    def support(self) -> tuple[Floats, Floats]:
        law = self._family(*self.parameters.values())
        low, high = (np.broadcast_to(end, (self.n,)) for end in law.support())
        return low.astype(np.float64), high.astype(np.float64)

    def _shapes(self, y: Floats) -> list[Floats]:
        return [by_row(x, y) for name, x in self.parameters.items() if name not in ("loc", "scale")]

    def centred(self, y: Floats) -> Floats:
        if self._parts is not None:
            loc, scale = self.parameters["loc"], self.parameters.get("scale", np.ones(self.n))
            z = (y - by_row(loc, y)) / by_row(scale, y)
            middle = by_row((self.mean - loc) / scale, y)
            below = self._parts.up_to(z, *self._shapes(y)) - middle * self.cdf(y)
            return by_row(scale, y) * below
        if not self.has_atoms:
            return super().centred(y)
        total, middle = np.zeros(np.shape(y)), by_row(self.mean, y)
        for point, mass in self._masses():
            x = by_row(point, y)
            total += np.where(x <= y, (x - middle) * by_row(mass, y), 0.0)
        return total

    @cached_property
    def half_difference(self) -> Floats:
        if self._parts is not None:
            scale = self.parameters.get("scale", np.ones(self.n))
            return scale * self._parts.half_difference(*self._shapes(scale))
        return super().half_difference

    def _masses(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield the points of a discrete law, (n,) each in ascending order, and their mass."""
        known = getattr(self._family, "xk", None)
        if known is not None:
            points = iter(np.asarray(known, np.float64)[:, None] + self.parameters["loc"])
        else:
            first = self.quantile(np.full(self.n, UNSEEN))
            number = int(np.max(self.quantile(np.full(self.n, 1.0 - UNSEEN)) - first)) + 1
            if number > MOST_POINTS:
                reason = f"the CRPS of {self.title} needs sums of {number:,} terms"
                raise NotApplicable(reason, "use the logarithmic score")
            points = (first + k for k in range(number))
        for point in points:
            yield point, np.exp(-self.log_score(point))

    def nodes(self) -> tuple[Floats, Floats]:
        if not self.has_atoms:
            return super().nodes()
        points, mass = zip(*self._masses(), strict=True)
        return np.column_stack(points), np.column_stack(mass)


NEW_NAMES = {"ppf": "icdf", "isf": "iccdf", "std": "standard_deviation"}  # of scipy.stats.Normal


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
        last = crps.row_counts(self.points, y, equal=equal)
        x0, x1, f0, f1 = self._segment(last)
        with np.errstate(invalid="ignore", divide="ignore"):
            level = f0 + (f1 - f0) * np.clip((y - x0) / (x1 - x0), 0.0, 1.0)
        return np.where(last == 0, 0.0, np.where(last == self.points.shape[1], 1.0, level))

    def cdf(self, y: Floats) -> Floats:
        return self._level(y, equal=True)

    def cdf_left(self, y: Floats) -> Floats:
        return self._level(y, equal=False)

    def quantile(self, u: Floats) -> Floats:
        x0, x1, f0, f1 = self._segment(crps.row_counts(self.levels, u, equal=False))
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
        last = crps.row_counts(self.points, y, equal=True)
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
        below, up_to = (crps.row_counts(self.values, y, equal=equal) for equal in (False, True))
        return self.ends[below], self.ends[np.where(up_to > below, up_to, up_to + 1)]

    def attained(self, level: float, *, is_lower: bool = False) -> Floats:
        """Return the level that is nearest: of others nothing is forecast."""
        return np.full(self.n, self.given[np.argmin(np.abs(self.given - level))])

    def placed(self, y: Floats, u: Floats) -> Floats:
        # Where between two quantiles they lie is not forecast: by the PIT, as of redrawn ones.
        return self.quantile(u)

    def redrawn(self, y: Floats, u: Floats) -> tuple[Floats, Law]:
        beyond = np.nextafter(self.values[:, -1], np.inf)
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
        check(rising, self.edges[:, 1:], "edges must increase", "sort them")
        check(self.probs >= 0, self.probs, "probs must not be negative", remedy)
        total = self.probs.sum(axis=1)
        check(np.abs(total - 1) <= OFF, total, "probs must sum to 1", "divide each row by its sum")
        levels = np.cumsum(np.pad(self.probs / total[:, None], ((0, 0), (1, 0))), axis=1)
        levels[:, -1] = 1.0
        super().__init__(self.edges, np.minimum(levels, 1.0))
        self.title = f"histogram of {bins} bins"

    def log_score(self, y: Floats) -> Floats:
        low, high = (by_row(end, y) for end in self.support())
        x0, x1, f0, f1 = self._segment(crps.row_counts(self.points, y, equal=True))
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
        check(~gone, array, "members must be as many in each row", remedy)
        self.values = read_only(np.sort(read(array, "members", ndim=2), axis=1))
        self.size = self.values.shape[1]
        self.title = f"ensemble of {self.size} members"
        levels = np.repeat(np.arange(self.size + 1) / self.size, 2)[1:-1]
        super().__init__(np.repeat(self.values, 2, axis=1), levels)

    @property
    def columns(self) -> dict[str, Floats]:
        return {f"m_{k}": values for k, values in enumerate(self.values.T, 1)}

    def pit_ends(self, y: Floats) -> tuple[Floats, Floats]:
        M = self.size
        return self.cdf_left(y) * M / (M + 1), (self.cdf(y) * M + 1) / (M + 1)

    def attained(self, level: float, *, is_lower: bool = False) -> Floats:
        rank = min(max(round(level * (self.size + 1)), 1), self.size)
        return np.full(self.n, rank / (self.size + 1))

    def drawn_from(self, y: Floats) -> Law:
        return Members(np.column_stack([self.values, y]))

    def redrawn(self, y: Floats, u: Floats) -> tuple[Floats, Law]:
        pool, rank = np.sort(np.column_stack([self.values, y]), axis=1), self._rank(u)
        rest = np.arange(self.size + 1) != rank[:, None]
        return pool[np.arange(self.n), rank], Members(pool[rest].reshape(self.n, -1))

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

    def recalibrated(self, levels: Any) -> Quantiles:
        """Return the sorted members as quantiles: that all ranks are equally probable says so."""
        ranks = np.arange(1, self.size + 1) / (self.size + 1)
        return Quantiles(levels.cdf(ranks), self.values)


class Mixture(Law):
    """Mixtures of laws of the same rows.

    Parameters
    ----------
    weights : (k,) or (n, k) array_like
        Not negative, with sum 1 in each row.
    components : sequence of k laws
        What is mixed; an ensemble of one member is a point mass.
    """

    by_row = "weights", "components"

    def __init__(self, weights: object, components: Sequence[Law]) -> None:
        self.components = tuple(components)
        sizes = {each.n for each in self.components}
        if len(sizes) != 1:
            rule = "components must be laws of the same number of rows"
            raise invalid(rule, shown(sorted(sizes)), "pass one or more, of the same rows")
        self.n = sizes.pop()
        self.weights = read(weights, "weights", self.n, ndim=2)
        if self.weights.shape[1] != len(self.components):
            got = f"{self.weights.shape[1]} for {len(self.components)} components"
            raise invalid("weights must have one entry for each component", got, "pass as many")
        check(self.weights >= 0, self.weights, "weights must not be negative", "pass shares")
        total = self.weights.sum(axis=1)
        check(np.abs(total - 1) <= OFF, total, "weights must sum to 1", "divide them by their sum")
        self.has_atoms = any(each.has_atoms for each in self.components)
        self.title = f"mixture of {len(self.components)} components"

    def _parts(self, y: Floats) -> Iterator[tuple[Floats, Law]]:
        for weight, law in zip(self.weights.T, self.components, strict=True):
            yield by_row(weight, y), law

    def cdf(self, y: Floats) -> Floats:
        return sum((w * law.cdf(y) for w, law in self._parts(y)), np.zeros(y.shape))

    def cdf_left(self, y: Floats) -> Floats:
        return sum((w * law.cdf_left(y) for w, law in self._parts(y)), np.zeros(y.shape))

    def quantile(self, u: Floats) -> Floats:
        ends = [law.quantile(u) for w, law in self._parts(u)]
        return crps.inverted(self.cdf, u, np.minimum.reduce(ends), np.maximum.reduce(ends))

    def support(self) -> tuple[Floats, Floats]:
        low, high = zip(*(law.support() for law in self.components), strict=True)
        return np.minimum.reduce(low), np.maximum.reduce(high)

    @cached_property
    def mean(self) -> Floats:
        return row_sums(self.weights * np.column_stack([c.mean for c in self.components]))

    @cached_property
    def sd(self) -> Floats:
        squares = [c.sd**2 + (c.mean - self.mean) ** 2 for c in self.components]
        return np.sqrt(row_sums(self.weights * np.column_stack(squares)))

    def centred(self, y: Floats) -> Floats:
        total = np.zeros(y.shape)
        for w, law in self._parts(y):
            total += w * (law.centred(y) + by_row(law.mean - self.mean, y) * law.cdf(y))
        return total

    def nodes(self) -> tuple[Floats, Floats]:
        pairs = [law.nodes() for law in self.components]
        weighted = [w[:, None] * each[1] for w, each in zip(self.weights.T, pairs, strict=True)]
        return np.hstack([points for points, _ in pairs]), np.hstack(weighted)

    def expected_harmonics(self, step: float, middle: float, count: int) -> Floats:
        pairs = zip(self.weights.T, self.components, strict=True)
        return np.asarray(sum(w * law.expected_harmonics(step, middle, count) for w, law in pairs))

    @cached_property
    def half_difference(self) -> Floats:
        laws = [law for law in self.components if isinstance(law, NormalLaw)]
        if len(laws) < len(self.components):
            return super().half_difference
        total = np.zeros(self.n)
        for w, a in zip(self.weights.T, laws, strict=True):
            for v, b in zip(self.weights.T, laws, strict=True):
                total += w * v * crps.normal_difference(a.mean - b.mean, np.hypot(a.sd, b.sd)) / 2
        return total

    def log_score(self, y: Floats) -> Floats:
        kinds = {law.has_atoms for law in self.components}
        if len(kinds) > 1:
            reason = "a mixture of atoms and a density has no logarithmic score"
            raise NotApplicable(reason, "use the CRPS")
        with np.errstate(divide="ignore"):
            terms = [np.log(w) - law.log_score(y) for w, law in self._parts(y)]
        return np.asarray(-np.logaddexp.reduce(terms, axis=0))


class Cdf(Law):
    """Distributions of which a function returns the cumulative probabilities.

    Parameters
    ----------
    function : callable
        Of outcomes (n,), one for each row, to P(Y <= y), (n,).
    n : int
        Number of rows.
    quantile : callable, optional
        Of probabilities (n,) to quantiles (n,); by default they are searched for.
    support : pair of (n,) array_like or of numbers, optional
        Ends of the supports.
    """

    title, by_row = "distribution of a function", ("_rows", "_ends")

    def __init__(
        self,
        function: Function,
        n: object,
        quantile: Function | None = None,
        support: tuple[object, object] | None = None,
    ) -> None:
        self.n = check_integer(n, "n")
        self._functions, self._rows = (function, quantile), np.arange(self.n)
        self._stacking: dict[bool, bool] = {}  # of the quantile function or not
        self._fill = np.zeros(self.n)
        ends = support or (-np.inf, np.inf)
        low, high = (np.broadcast_to(np.asarray(end, np.float64), (self.n,)) for end in ends)
        check(low < high, low, "support must have its lower end first", "pass (low, high)")
        self._ends = low, high
        levels = np.broadcast_to(GRID, (self.n, GRID.size))
        points = self.quantile(levels)
        self._fill = points[:, GRID.size // 2]
        between = (points[:, 1:] + points[:, :-1]) / 2
        found = self.cdf(np.sort(np.hstack([points, between]), axis=1))
        falls = np.diff(found, axis=1, prepend=0.0, append=1.0) >= -1e-12
        remedy = "pass a function that returns P(Y <= y)"
        check(falls, np.pad(found, ((0, 0), (0, 1))), "cdf must rise from 0 to 1", remedy)
        self.has_atoms = bool(np.any(self.cdf(points) - levels > 1e-9))

    def _call(self, function: Function, values: Floats, fill: Floats) -> Floats:
        """Ask for the rows that were taken, each once in a call; others get what is harmless."""
        columns, out = values.reshape(self.n, -1), np.empty((self.n, values.size // self.n))
        order = np.argsort(self._rows, kind="stable")
        turn = np.arange(self.n) - np.searchsorted(self._rows[order], self._rows[order])
        for time in range(int(turn.max()) + 1):
            some = order[turn == time]
            given = np.tile(fill, (columns.shape[1], 1))
            given[:, self._rows[some]] = columns[some].T
            out[some] = self._answers(function, given)[:, self._rows[some]].T
        return out.reshape(values.shape)

    def _answers(self, function: Function, given: Floats) -> Floats:
        """Return what the function answers to vectors (k, N), which it may take all at once."""
        name, key = "what cdf or quantile returns", function is self._functions[1]
        if key not in self._stacking:
            self._stacking[key] = False
            with suppress(Exception):
                pair = np.stack([given[0], 0.5 * given[0] + 0.2])  # probabilities stay such
                one_by_one = np.stack([np.asarray(function(row), np.float64) for row in pair])
                self._stacking[key] = np.array_equal(function(pair), one_by_one)
        if self._stacking[key]:
            found = np.asarray(function(given), np.float64)
            if np.isfinite(found).all():
                return found
        try:
            return np.stack([read(function(row), name, row.size) for row in given])
        except (TypeError, ValueError, IndexError) as error:
            if isinstance(error, InvalidInput):
                raise
            rule = f"cdf and quantile must take an array ({given.shape[1]},), a number for each row"
            remedy = "pass as many outcomes as it has rows"
            raise invalid(rule, f"{type(error).__name__}: {error}", remedy) from error

    def cdf(self, y: Floats) -> Floats:
        return self._call(self._functions[0], y, self._fill)

    def cdf_left(self, y: Floats) -> Floats:
        return self.cdf(np.nextafter(y, -np.inf))

    def quantile(self, u: Floats) -> Floats:
        if self._functions[1] is not None:
            return self._call(self._functions[1], u, np.full(self._fill.size, 0.5))
        low, high = (np.broadcast_to(by_row(end, u), u.shape) for end in self._ends)
        return crps.inverted(self.cdf, u, *crps.bracketed(self.cdf, u, low, high))

    @cached_property
    def _panels(self) -> tuple[Floats, Floats]:
        """Knots (n, K), and the means of max(knot - Y, 0): the integrals of F up to there."""
        knots = np.sort(self.nodes()[0], axis=1)
        first = knots[:, :1]
        lowest = (first - self.mean[:, None]) * self.cdf(first) - self.centred(first)
        steps = self._integral(knots[:, :-1], knots[:, 1:])
        return knots, lowest + np.pad(np.cumsum(steps, axis=1), ((0, 0), (1, 0)))

    def _integral(self, low: Floats, high: Floats) -> Floats:
        """Return the integrals of F between ends (n,) or (n, k)."""
        half, middle = (high - low) / 2, (high + low) / 2
        points = middle[..., None] + half[..., None] * PANEL[0]
        levels = self.cdf(points.reshape(self.n, -1)).reshape(points.shape)
        return np.asarray(half * (levels @ PANEL[1]))

    def distance(self, y: Floats) -> Floats:
        # Quantiles are searched for; that of a continuous law takes none: E|Y - y| is twice the
        # integral of F up to y, less y - m.
        if self.has_atoms:
            return super().distance(y)
        last = np.maximum(crps.row_counts(self._panels[0], y, equal=True) - 1, 0)
        start, up_to = (picked(each, last) for each in self._panels)
        return 2 * (up_to + self._integral(start, y)) - y + by_row(self.mean, y)

    @cached_property
    def half_difference(self) -> Floats:
        # The integral of (2 u - 1) q(u): each quantile is a search, which `distance` takes of many.
        points, weight = self.nodes()
        lower = 0.5 * crps.tail_nodes()[0]
        signs = np.concatenate([2.0 * lower - 1.0, 1.0 - 2.0 * lower])
        return np.asarray((points * weight) @ signs)

    def support(self) -> tuple[Floats, Floats]:
        return self._ends


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

    def cdf(self, y: Floats) -> Floats:
        return self.base.cdf(self._inside(y))

    def quantile(self, u: Floats) -> Floats:
        return self._moved(self.base.quantile(u))

    def upper_quantile(self, v: Floats) -> Floats:
        return self._moved(self.base.upper_quantile(v))

    def centred(self, y: Floats) -> Floats:
        return self.factor * self.base.centred(self._inside(y))

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
        if self.has_atoms:  # steps stand at two points that are equal
            points = np.repeat(np.sort(self.base.nodes()[0], axis=1), 2, axis=1)
            levels = self.cdf_left(points)
            levels[:, 1::2] = self.cdf(points[:, 1::2])
        else:
            u = np.union1d(FINE, np.clip(self.levels.ppf(FINE), LOWEST, 1.0 - LEAST))
            points = self.base.quantile(np.broadcast_to(u, (self.n, u.size)))
            levels = np.tile(self.levels.cdf(u), (self.n, 1))
        levels[:, 0], levels[:, -1] = 0.0, 1.0
        return Knots(points, levels)

    mean = cached_property(attrgetter("_knots.mean"))
    sd = cached_property(attrgetter("_knots.sd"))
    half_difference = cached_property(attrgetter("_knots.half_difference"))

    def centred(self, y: Floats) -> Floats:
        return self._knots.centred(y)

    def nodes(self) -> tuple[Floats, Floats]:
        return self._knots.nodes()

    def log_score(self, y: Floats) -> Floats:
        score = self.base.log_score(y)
        if not self.has_atoms:
            u = np.clip(self.base.cdf(y), LOWEST, 1.0 - LEAST)
            return np.asarray(score - self.levels.logpdf(u))
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(self.cdf(y) - self.cdf_left(y)))

    def support(self) -> tuple[Floats, Floats]:
        return self.base.support()


def law_of(*, n: int | None = None, **given: Any) -> Law:
    """Make the law of what a forecast was given as: one family of arguments, others None.

    Parameters
    ----------
    n : int, optional
        Number of rows, for a distribution whose parameters are numbers, and for `cdf`.
    mean, scale : array_like, shape (n,)
        Means and standard deviations of Gaussians.
    distribution : frozen distribution of scipy.stats, or Law
        Parameters are numbers or (n,) arrays.
    members : array_like, shape (n, M)
        Ensembles.
    quantiles, levels : array_like, shapes (n, q) and (q,)
        Quantiles and their levels.
    edges, probs : array_like, shapes (b + 1,) or (n, b + 1), and (n, b)
        Histograms.
    cdf, quantile : callable
        Of outcomes (n,) to probabilities (n,), and back; the second is optional.

    Returns
    -------
    Law
        The law.

    Raises
    ------
    InvalidInput
        If none or several families are given, a part is missing, or a value is invalid.
    """
    families: dict[tuple[str, ...], Callable[..., Law]] = {
        ("mean", "scale"): NormalLaw,
        ("distribution",): lambda distribution: _of_distribution(distribution, n),
        ("members",): Members,
        ("levels", "quantiles"): Quantiles,
        ("edges", "probs"): Histogram,
        ("cdf", "quantile"): lambda cdf, quantile: Cdf(cdf, n, quantile),
    }
    found = [names for names in families if any(given.get(name) is not None for name in names)]
    if len(found) != 1:
        got = " and ".join(f"{names[0]}=" for names in found) or "nothing"
        remedy = f"pass one of {', '.join(' and '.join(names) for names in families)}"
        raise invalid("a forecast must be given in one form", got, remedy)
    [names] = found
    for name in names:
        if given.get(name) is None and name != "quantile":
            got = f"{' and '.join(names)} without {name}"
            raise invalid("a forecast must be given whole", got, f"pass {name}= too")
    law = families[names](*map(given.get, names))
    if n is not None and law.n != n:
        rule, remedy = "a forecast must have a row for each outcome", "take both from the same rows"
        raise invalid(rule, f"{law.n} for {n} rows", remedy)
    return law


def _of_distribution(given: object, n: int | None) -> Law:
    law = given if isinstance(given, Law) else Frozen(given, n)
    is_normal = isinstance(law, Frozen) and law.title in ("norm", "Normal")
    return NormalLaw(law.mean, law.sd) if is_normal else law
