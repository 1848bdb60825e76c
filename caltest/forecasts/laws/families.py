"""Families of distributions, mixtures of them, and what a function says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import special

from caltest.checks import check_all, check_integer, read_only, suspicions
from caltest.errors import InvalidInput, NotApplicable, invalid, shown
from caltest.forecasts.laws import base
from caltest.forecasts.laws.base import NODES, Function, Law, by_row, picked, read
from caltest.numerics.harmonics import harmonics
from caltest.types import AnyArray, Flags, Floats, Ints

OFF = 1e-6  # by which probabilities of a histogram may miss the sum 1
MOST_POINTS = 1 << 20  # of a discrete law that is summed up
MOST_STEPS = 1 << 24  # of all rows, whose levels are kept at a time
SEEN = 16.0  # standard deviations from the mean, up to which steps are kept
UNSEEN = 1e-15  # mass that may be left out of a sum, or of a tail
GRID = np.linspace(0.02, 0.98, 9)  # probabilities at which a function is looked at
LEVELS = np.union1d(np.arange(1, 64) / 64.0, [2.0**-12, 2.0**-9, 1.0 - 2.0**-9, 1.0 - 2.0**-12])
MANY = 30.0  # negative binomial numbers from which the series is slow
EPS = float(np.finfo(np.float64).eps)
CLOSE, NEAR = 1e-3, 1e-9  # of levels, a caller's inverse; of a law's range, a step that is found
SHARED = 40  # rows of a shape, on average, from which one after another is faster
MOST_COMPARED = 300  # rows of mixtures by which a verdict compares maps
PROBED = 9, 10  # steps of the search for a quantile that look for an atom at a round number
STEPS = 200  # of the search for a quantile: bisection alone needs half of them


class NormalLaw(Law):
    """Normal distributions.

    Parameters
    ----------
    mean, scale : (n,) array_like
        Means and standard deviations, in the unit of the outcome; a single scale is that of all.
    n : int, optional
        Number of rows, for a single mean; by default that of `mean`.
    """

    title, by_row = "Gaussian", ("mean", "sd")
    most_compared = 10_000

    def __init__(self, mean: object, scale: object, n: int | None = None) -> None:
        self.mean = read(mean, "mean", n)
        self.n = self.mean.size
        self.sd = read(scale, "scale", self.n)
        remedy = "pass standard deviations; drop rows that are predicted without error"
        check_all(self.sd > 0, self.sd, "scale must be positive", remedy)

    @property
    def columns(self) -> dict[str, Floats]:
        return {"mean": self.mean, "scale": self.sd}

    @property
    def unit_law(self) -> NormalLaw:  # type: ignore[override]
        return NormalLaw([0.0], [1.0])

    def suspect(self, y: Floats) -> None:
        as_sd, as_variance = self.standard(y) ** 2, (y - self.mean) ** 2 / self.sd
        # Of right forecasts the likelihood ratio has the mean 1 (Markov).
        gain = 0.5 * float(np.sum(np.log(self.sd) + as_sd - as_variance))
        fits = abs(float(as_variance.mean()) - 1.0) < 4.0 / math.sqrt(self.n)  # 3 standard errors
        # Near 1 a root only makes scales more alike, which scales that say too much need.
        is_off = not 2 / 3 < float(as_sd.mean()) < 3 / 2
        enough = self.n >= suspicions.LEAST and gain > -math.log(suspicions.CHANCE)
        if enough and fits and is_off:
            text = "scale fits far better as a variance; if it is one, pass its square root"
            suspicions.suspect(text)

    def standard(self, y: Floats) -> Floats:
        """Return how many standard deviations y is above the mean."""
        return (y - by_row(self.mean, y)) / by_row(self.sd, y)

    def cdf(self, y: Floats) -> Floats:
        return np.asarray(special.ndtr(self.standard(y)))

    def quantile(self, u: Floats) -> Floats:
        z = special.ndtri(u[:1] if u.strides[0] == 0 else u)  # all rows have the same levels
        return np.asarray(by_row(self.mean, u) + by_row(self.sd, u) * z)

    def upper_quantile(self, v: Floats) -> Floats:
        return np.asarray(by_row(self.mean, v) - by_row(self.sd, v) * special.ndtri(v))

    def centred(self, y: Floats) -> Floats:
        return -by_row(self.sd, y) * normal_density(self.standard(y))

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
        kind: Any = type(distribution)
        named: Any = getattr(distribution, "_original_parameters", None)
        self._is_new = False
        with suppress(TypeError):  # one that was made of another is more than its parameters
            self._is_new = bool(kind(**named))
        if self._is_new:
            self._family: Any = lambda *given: kind(**dict(zip(named, given, strict=True)))
            self.has_atoms = any(base.__name__ == "DiscreteDistribution" for base in kind.__mro__)
            self.title, self._parts = kind.__name__, None
            parameters = dict(named)
        elif hasattr(distribution, "dist") and hasattr(distribution, "kwds"):
            self._family = family = distribution.dist
            shapes, loc, scale = family._parse_args(*distribution.args, **distribution.kwds)  # noqa: SLF001, no public way
            self.has_atoms = hasattr(family, "pmf")
            self.title = str(family.name)
            self._parts = CLOSED.get(self.title)
            names = [*filter(None, (family.shapes or "").split(", ")), "loc"]
            given = (*shapes, loc) if self.has_atoms else (*shapes, loc, scale)
            parameters = dict(zip([*names, "scale"], given, strict=False))
        else:
            rule = "distribution must be a frozen distribution of scipy.stats or a law"
            remedy = "pass scipy.stats.norm(loc=mean, scale=scale), for example, or cdf= instead"
            raise invalid(rule, shown(distribution), remedy)
        if self.title == "vonmises":
            rule = "outcomes must not be angles, of which none is below another"
            raise invalid(rule, self.title, "pass scipy.stats.vonmises_line for those near a mean")
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
        values = list(self.parameters.values())
        if "scale" in self.parameters:
            check_all(values[-1] > 0, values[-1], "scale must be positive", "pass positive scales")
        if not self._is_new and self._family.numargs:
            good = np.broadcast_to(self._family._argcheck(*values[: self._family.numargs]), self.n)  # noqa: SLF001, no public way
            rule = f"the shapes of {self.title} must be in their domain"
            check_all(good, values[0], rule, f"see scipy.stats.{self.title}")
        self.most_compared = 1000 if self._parts is not None else 0

    def ask(self, name: str, y: Floats | None = None) -> Floats:
        """Return what SciPy answers, of y or of the law as a whole."""
        given = [value if y is None else by_row(value, y) for value in self.parameters.values()]
        values = [] if y is None else [y]
        if self._is_new:
            return np.asarray(getattr(self._family(*given), NEW_NAMES.get(name, name))(*values))
        return np.asarray(getattr(self._family, name)(*values, *given), np.float64)

    def cdf(self, y: Floats) -> Floats:
        return self._up_to(self._moved(y)) if self.has_atoms else self.ask("cdf", y)

    def excludes(self, y: Floats) -> Flags:
        found = super().excludes(y)
        if not self.has_atoms or hasattr(self._family, "xk"):
            return found
        x = self._moved(y)
        return np.asarray(found | (np.abs(x - np.rint(x)) > CLOSE))  # no whole numbers

    def cdf_left(self, y: Floats) -> Floats:
        if not self.has_atoms:
            return self.cdf(y)
        return self._up_to(np.nextafter(self._moved(y), -np.inf))

    def _moved(self, y: Floats) -> Floats:
        return y - by_row(self._loc, y)

    def _up_to(self, x: Floats) -> Floats:
        """Return the probabilities up to x of a discrete law, less its location."""
        if not hasattr(self._family, "xk"):
            # Of some families SciPy's function has no step between whole numbers, or is NaN there.
            x = np.floor(x)
        if self._is_new:
            return self.ask("cdf", x)
        return np.asarray(self._family.cdf(x, *self._shapes(x)), np.float64)

    def quantile(self, u: Floats) -> Floats:
        return self.ask("ppf", u) if self.has_atoms else self._far("ppf", u)

    def upper_quantile(self, v: Floats) -> Floats:
        return super().upper_quantile(v) if self.has_atoms else self._far("isf", v)

    def _far(self, name: str, v: Floats) -> Floats:
        """Ask for quantiles with a probability v beyond: of many families SciPy loses small ones.

        Where there is a mean, v is about f(q) |q - m| or less.
        """
        if v.strides[0] == 0 and self._standard[0].n < self.n:  # all rows have the same levels
            law, place = self._standard
            found = law._far(name, v[: law.n])[place]  # noqa: SLF001, its own kind
            return by_row(self._loc, v) + by_row(self._scale, v) * found
        found, is_far = self.ask(name, v), v < UNSEEN
        if is_far.any():
            with np.errstate(invalid="ignore"):
                beyond = self.ask("pdf", found) * np.abs(found - by_row(self.mean, v))
            is_lost = is_far & ~(beyond > 0.1 * v)
            found = np.where(is_lost, self.ask(name, np.maximum(v, UNSEEN)), found)
        return found

    @property
    def atoms(self) -> Floats | None:
        known = getattr(self._family, "xk", None)
        if known is not None:
            return np.asarray(known, np.float64) + self._loc[:, None]
        low, high = self.support()
        first = np.floor(np.maximum(low, self.mean - SEEN * self.sd) - self._loc) + self._loc
        number = np.max(np.minimum(high, self.mean + SEEN * self.sd) - first) + 1.0
        if not number * self.n <= MOST_STEPS:  # nor where an end is unknown
            return None
        return np.asarray(first[:, None] + np.arange(number))

    def steps(self, y: Floats) -> tuple[Floats, Floats] | None:
        if not self.has_atoms or (points := self.atoms) is None:
            return None
        # SciPy sums up the distribution functions of some families, each from the beginning.
        mass = np.hstack([self.cdf_left(points[:, :1]), np.exp(-self.log_score(points))])
        ends = np.minimum(np.cumsum(mass, axis=1), 1.0)
        return ends[:, :-1], ends[:, 1:]

    @cached_property
    def _standard(self) -> tuple[Frozen, Ints]:
        """The law of each distinct shape, with location 0 and scale 1, and that of each row."""
        columns = np.column_stack([np.zeros(self.n), *self._shapes(self._scale)])
        _, first, place = np.unique(columns, axis=0, return_index=True, return_inverse=True)
        shapes = {name: values[first] for name, values in self.parameters.items()}
        given = {"loc": np.zeros(first.size), "scale": np.ones(first.size)}
        parameters = shapes | {name: given[name] for name in given if name in shapes}
        return self._with(n=first.size, parameters=parameters), place.ravel()

    @cached_property
    def _each(self) -> list[Frozen]:
        return [self[np.array([k])] for k in range(self.n)]

    def taken(self, rows: AnyArray) -> Self:
        some = super().taken(rows)
        if "_standard" in vars(self):
            law, place = self._standard
            if law.n <= some.n:  # what it has computed is kept
                vars(some)["_standard"] = law, place[rows]
        return some

    __getitem__ = taken

    @property
    def _loc(self) -> Floats:
        return self.parameters.get("loc", np.zeros(self.n))

    @property
    def _scale(self) -> Floats:
        return self.parameters.get("scale", np.ones(self.n))

    @cached_property
    def mean(self) -> Floats:
        law, place = self._standard
        return read_only(self._loc + self._scale * np.full(law.n, law.ask("mean"))[place])

    @cached_property
    def sd(self) -> Floats:
        law, place = self._standard
        return read_only(self._scale * np.full(law.n, law.ask("std"))[place])

    def log_score(self, y: Floats) -> Floats:
        return -self.ask("logpmf" if self.has_atoms else "logpdf", y)

    def support(self) -> tuple[Floats, Floats]:
        law = self._family(*self.parameters.values())
        low, high = (np.broadcast_to(end, (self.n,)) for end in law.support())
        return low.astype(np.float64), high.astype(np.float64)

    def _shapes(self, y: Floats) -> list[Floats]:
        return [by_row(x, y) for name, x in self.parameters.items() if name not in ("loc", "scale")]

    def centred(self, y: Floats) -> Floats:
        if self._parts is not None:
            loc, scale = self._loc, self._scale
            z = self._moved(y) / by_row(scale, y)
            middle = by_row((self.mean - loc) / scale, y)
            below = self._parts.up_to(z, *self._shapes(y)) - middle * self.cdf(y)
            return by_row(scale, y) * below
        if not self.has_atoms:
            law, place = self._standard
            if law.n * SHARED > self.n:  # all at once, since each call has its costs
                return super().centred(y)
            total, z = np.empty(y.shape), self._moved(y) / by_row(self._scale, y)
            for k, one in enumerate(law._each):  # noqa: SLF001, its own kind
                some = place == k
                total[some] = one.centred(z[some].reshape(1, -1)).reshape(z[some].shape)
            return by_row(self._scale, y) * total
        total, middle = np.zeros(np.shape(y)), by_row(self.mean, y)
        for point, mass in self._masses():
            x = by_row(point, y)
            total += np.where(x <= y, (x - middle) * by_row(mass, y), 0.0)
        return total

    @cached_property
    def _panels(self) -> tuple[Floats, Floats]:
        law, place = self._standard
        if law.n == self.n:
            return super()._panels
        knots, sums = law._panels  # noqa: SLF001, its own kind
        loc, scale = self._loc[:, None], self._scale[:, None]
        return loc + scale * knots[place], scale * sums[place]

    @cached_property
    def half_difference(self) -> Floats:
        if self._parts is not None:
            return self._scale * self._parts.half_difference(*self._shapes(self._scale))
        if not self.has_atoms:
            law, place = self._standard
            if law.n == self.n:
                return super().half_difference
            return self._scale * law.half_difference[place]
        points, mass = self.nodes()  # in ascending order
        ranks = 2.0 * np.cumsum(mass, axis=1) - mass - 1.0
        return base.row_sums(mass * ranks * (points - self.mean[:, None]))

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
        sizes: set[Any] = {getattr(each, "n", None) for each in self.components}
        if len(sizes) != 1 or None in sizes:
            rule = "components must be laws of the same number of rows"
            got = shown(components if None in sizes else sorted(sizes))
            raise invalid(rule, got, "pass NormalLaw(mean, scale), for example")
        self.n = sizes.pop()
        self.weights = read(weights, "weights", self.n, ndim=2)
        if self.weights.shape[1] != len(self.components):
            got = f"{self.weights.shape[1]} for {len(self.components)} components"
            raise invalid("weights must have one entry for each component", got, "pass as many")
        check_all(self.weights >= 0, self.weights, "weights must not be negative", "pass shares")
        total = self.weights.sum(axis=1)
        check_all(
            np.abs(total - 1) <= OFF, total, "weights must sum to 1", "divide them by their sum"
        )
        self.has_atoms = any(each.has_atoms for each in self.components)
        self.title = f"mixture of {len(self.components)} components"
        self.most_compared = min(MOST_COMPARED, *(each.most_compared for each in self.components))

    def _parts(self, y: Floats) -> Iterator[tuple[Floats, Law]]:
        for weight, law in zip(self.weights.T, self.components, strict=True):
            yield by_row(weight, y), law

    def cdf(self, y: Floats) -> Floats:
        return sum((w * law.cdf(y) for w, law in self._parts(y)), np.zeros(y.shape))

    def cdf_left(self, y: Floats) -> Floats:
        return sum((w * law.cdf_left(y) for w, law in self._parts(y)), np.zeros(y.shape))

    def quantile(self, u: Floats) -> Floats:
        ends = [law.quantile(u) for w, law in self._parts(u)]
        return inverted(self.cdf, u, np.minimum.reduce(ends), np.maximum.reduce(ends))

    def support(self) -> tuple[Floats, Floats]:
        low, high = zip(*(law.support() for law in self.components), strict=True)
        return np.minimum.reduce(low), np.maximum.reduce(high)

    def excludes(self, y: Floats) -> Flags:
        by_all = [(w == 0.0) | law.excludes(y) for w, law in self._parts(y)]
        return np.asarray(super().excludes(y) | np.logical_and.reduce(by_all))

    @property
    def atoms(self) -> Floats | None:
        found = [law.atoms for law in self.components if law.has_atoms]
        known = [points for points in found if points is not None]
        return np.sort(np.hstack(known), axis=1) if len(known) == len(found) else None

    @cached_property
    def mean(self) -> Floats:
        return base.row_sums(self.weights * np.column_stack([c.mean for c in self.components]))

    @cached_property
    def sd(self) -> Floats:
        squares = [c.sd**2 + (c.mean - self.mean) ** 2 for c in self.components]
        return np.sqrt(base.row_sums(self.weights * np.column_stack(squares)))

    def distance(self, y: Floats) -> Floats:
        return sum((w * law.distance(y) for w, law in self._parts(y)), np.zeros(y.shape))

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
            points, weight = self.nodes()
            return 0.5 * base.row_sums(self.distance(points) * weight)
        total = np.zeros(self.n)
        for w, a in zip(self.weights.T, laws, strict=True):
            for v, b in zip(self.weights.T, laws, strict=True):
                total += w * v * normal_difference(a.mean - b.mean, np.hypot(a.sd, b.sd)) / 2
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
        check_all(low < high, low, "support must have its lower end first", "pass (low, high)")
        self._ends = low, high
        levels = np.broadcast_to(GRID, (self.n, GRID.size))
        points = self.quantile(levels)
        rises, remedy = "cdf must rise from 0 to 1", "pass a function that returns P(Y <= y)"
        check_all(np.abs(points) < base.MOST, self.cdf(points), rises, remedy)
        self._fill = points[:, GRID.size // 2]
        between = (points[:, 1:] + points[:, :-1]) / 2
        found = self.cdf(np.sort(np.hstack([points, between]), axis=1))
        falls = np.diff(found, axis=1, prepend=0.0, append=1.0) >= -1e-12
        check_all(falls, np.pad(found, ((0, 0), (0, 1))), rises, remedy)
        off = self.cdf(points) - levels
        apart = np.abs(points) + np.ptp(points, axis=1, keepdims=True)
        before = self.cdf(np.nextafter(points - NEAR * apart, -np.inf)) - levels
        rule = "quantile must be the inverse of cdf: cdf(quantile(u)) - u must be 0, but for steps"
        is_right, wrong = (off > -CLOSE) & (before < CLOSE), np.where(off > 0.0, before, off)
        check_all(is_right, wrong, rule, "leave quantile= out: it is found")
        self.has_atoms = bool(np.any(off > 1e-9))

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
        found = self._call(self._functions[0], y, self._fill)
        good, remedy = np.abs(found - 0.5) <= 0.5 + OFF, "divide by 100 if they are percentages"
        check_all(good, found, "cdf must return probabilities", remedy)
        return found

    def cdf_left(self, y: Floats) -> Floats:
        return self.cdf(np.nextafter(y, -np.inf))

    def quantile(self, u: Floats) -> Floats:
        if self._functions[1] is not None:
            return self._call(self._functions[1], u, np.full(self._fill.size, 0.5))
        low, high = (np.broadcast_to(by_row(end, u), u.shape) for end in self._ends)
        return inverted(self.cdf, u, *bracketed(self.cdf, u, low, high))

    def steps(self, y: Floats) -> tuple[Floats, Floats] | None:
        if not self.has_atoms:
            return None
        points = self.quantile(np.broadcast_to(LEVELS, (self.n, LEVELS.size)))
        return self.cdf(points - NEAR * np.ptp(points, axis=1, keepdims=True)), self.cdf(points)

    def distance(self, y: Floats) -> Floats:
        return self._steps.distance(y) if self.has_atoms else super().distance(y)

    @cached_property
    def _steps(self) -> Law:
        """The same law as linear between many quantiles, at each of which it may have a step."""
        from caltest.forecasts.laws.numbers import FINE, Knots

        points = self.quantile(np.broadcast_to(FINE, (self.n, FINE.size)))
        before = points - NEAR * np.ptp(points, axis=1, keepdims=True)
        knots = np.sort(np.hstack([before, points]), axis=1)
        levels = self.cdf(knots)
        levels[:, 0], levels[:, -1] = 0.0, 1.0
        return Knots(knots, levels)

    @cached_property
    def half_difference(self) -> Floats:
        return self._steps.half_difference if self.has_atoms else super().half_difference

    def nodes(self) -> tuple[Floats, Floats]:
        return self._steps.nodes() if self.has_atoms else super().nodes()

    def support(self) -> tuple[Floats, Floats]:
        return self._ends


# ---- parts of the CRPS of families, and the search for quantiles ---------------------------------


class Closed(NamedTuple):
    """The parts of a standard law, with location 0 and scale 1, as functions of its shapes.

    Attributes
    ----------
    up_to : callable
        E[X 1(X <= z)] as a function of z and the shapes.
    half_difference : callable
        E|X - X'| / 2 as a function of the shapes.
    """

    up_to: Callable[..., Floats]
    half_difference: Callable[..., Floats | float]


def normal_density(z: Floats) -> Floats:
    """Return the density of the standard normal distribution."""
    return np.asarray(np.exp(-0.5 * np.clip(z, -40, 40) ** 2) / math.sqrt(2 * math.pi))


def _of_t(z: Floats, df: Floats) -> Any:
    power = 0.5 * (df + 1) * np.log1p(z * z / df)
    log_density = -0.5 * np.log(df) - special.betaln(0.5, 0.5 * df) - power
    return -np.exp(log_density + np.log(df + z * z)) / (df - 1)


def _difference_of_t(df: Floats) -> Any:
    logs = special.betaln(0.5, df - 0.5) - 2 * special.betaln(0.5, 0.5 * df)
    return 2 * np.sqrt(df) / (df - 1) * np.exp(logs)


def _of_lognormal(z: Floats, s: Floats) -> Any:
    with np.errstate(divide="ignore"):
        return np.exp(s * s / 2) * special.ndtr(np.log(np.maximum(z, 0)) / s - s)


def _of_weibull(z: Floats, c: Floats) -> Any:
    k = 1 + 1 / c
    return special.gamma(k) * special.gammainc(k, np.maximum(z, 0) ** c)


def _of_extremes(z: Floats, c: Floats) -> Any:
    """Return the mean up to z of (1 - T^c) / c, T exponential: that is -log T where c is 0.

    Near 0 a parabola in c, through that and both sides, is behind it.
    """
    inside = c * z < 1
    t = special.inv_boxcox(-np.where(inside, z, 0.0), c)
    t = np.where(inside, t, np.where(c > 0, 0.0, np.inf))
    step = 1e-3

    def up_to(k: Any) -> Any:
        return (np.exp(-t) - special.gamma(1 + k) * special.gammaincc(1 + k, t)) / k

    near = np.abs(c) < step
    found = up_to(np.where(near, step, c))
    if not near.any():
        return found
    s, r = np.clip(t, 1e-300, 700.0), np.where(near, c / step, 0.0)
    middle = -np.exp(-s) * np.log(s) - special.exp1(s)
    bent = middle * (1 - r * r) + (up_to(step) * (r + 1) + up_to(-step) * (r - 1)) * r / 2
    return np.where(near, bent, found)


def _of_beta(z: Floats, a: Floats, b: Floats) -> Any:
    return a / (a + b) * special.betainc(a + 1, b, np.clip(z, 0, 1))


def _difference_of_beta(a: Floats, b: Floats) -> Any:
    return 2 / (a + b) * np.exp(special.betaln(2 * a, 2 * b) - 2 * special.betaln(a, b))


def _of_counts(z: Floats, r: Floats, p: Floats) -> Any:
    """Return the mean up to z of a negative binomial number: that of r + 1 is behind it."""
    k = np.floor(z) - 1
    below = np.where(k < 0, 0.0, special.betainc(r + 1, np.maximum(k, 0) + 1, p))
    return r * (1 - p) / p * below


def _difference_of_counts(r: Floats, p: Floats) -> Any:
    """Return r q / p^2 2F1(r + 1, 1/2; 2; -4 q / p^2), transformed so that it is an integral.

    That of cos(t)^2 (1 - x sin(t)^2)^(r - 1) from 0 to pi / 2, with x = 4 q / (1 + q)^2. SciPy's
    2F1 loses digits where r is large.
    """
    q = 1 - p
    x = 4 * q / (1 + q) ** 2
    few = special.hyp2f1(0.5, 1 - np.minimum(r, MANY), 2, x)
    node, weight = np.polynomial.legendre.leggauss(NODES)
    reach = np.minimum(math.pi, 20.0 / np.sqrt(np.maximum(r, MANY) * x))[..., None] / 4
    angle = reach * (node + 1)
    power = np.exp((r - 1)[..., None] * np.log1p(-x[..., None] * np.sin(angle) ** 2))
    many = 4 / math.pi * np.sum(reach * weight * np.cos(angle) ** 2 * power, axis=-1)
    return r * q / (p * (1 + q)) * np.where(r < MANY, few, many)


def _of_poisson(z: Floats, mu: Floats) -> Any:
    k = np.floor(z) - 1
    return mu * np.where(k < 0, 0.0, special.pdtr(np.maximum(k, 0), mu))


CLOSED = {  # by the name that scipy.stats has for the family
    "norm": Closed(lambda z: -normal_density(z), lambda: 1 / math.sqrt(math.pi)),
    "t": Closed(_of_t, _difference_of_t),
    "logistic": Closed(lambda z: -special.entr(special.expit([z, -z])).sum(axis=0), lambda: 1.0),
    "laplace": Closed(lambda z: -0.5 * (1 + np.abs(z)) * np.exp(-np.abs(z)), lambda: 0.75),
    "uniform": Closed(lambda z: np.clip(z, 0, 1) ** 2 / 2, lambda: 1 / 6),
    "expon": Closed(lambda z: special.gammainc(2.0, np.maximum(z, 0)), lambda: 0.5),
    "gamma": Closed(
        lambda z, a: a * special.gammainc(a + 1, np.maximum(z, 0)),
        lambda a: np.exp(-special.betaln(0.5, a)),
    ),
    "lognorm": Closed(_of_lognormal, lambda s: np.exp(s * s / 2) * special.erf(s / 2)),
    "weibull_min": Closed(
        _of_weibull, lambda c: -special.gamma(1 + 1 / c) * np.expm1(-math.log(2) / c)
    ),
    "genextreme": Closed(
        _of_extremes,
        lambda c: special.gamma(1 + c) * special.exprel(-math.log(2) * c) * math.log(2),
    ),
    "gumbel_r": Closed(lambda z: _of_extremes(z, np.zeros(1)), lambda: math.log(2)),
    "beta": Closed(_of_beta, _difference_of_beta),
    "poisson": Closed(_of_poisson, lambda m: m * (special.i0e(2 * m) + special.i1e(2 * m))),
    "nbinom": Closed(_of_counts, _difference_of_counts),
}


def normal_difference(mean: Floats, sd: Floats) -> Floats:
    """Return E|Z| of a normal Z (Grimit et al. 2006, eq. 5): a term of mixtures of Gaussians."""
    z = mean / sd
    return np.asarray(2 * sd * normal_density(z) + mean * special.erf(z / math.sqrt(2)))


def bracketed(
    cdf: Callable[[Floats], Floats], u: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """Return finite ends between which the quantiles of u lie, within the support given."""
    ends = []
    for end, sign in ((low, -1.0), (high, 1.0)):
        other = high if sign < 0 else low
        start = np.where(np.isfinite(other), other, 0.0)
        step = np.maximum(1.0, np.abs(start))
        known = np.isfinite(end)
        found = np.where(known, end, start + sign * step)
        while not (far := known | ((cdf(found) >= u) == (sign > 0)) | (step > base.MOST)).all():
            step = np.where(far, step, 4.0 * step)
            found = np.where(far, found, start + sign * step)
        ends.append(found)
    return ends[0], ends[1]


def inverted(cdf: Callable[[Floats], Floats], u: Floats, low: Floats, high: Floats) -> Floats:
    """Return the least y with cdf(y) >= u between two ends, as Chandrupatla (1997) searches.

    The ends of the bracket keep cdf(low) < u <= cdf(high): atoms and flat parts are found too. It
    ends where the two are neighbours, or their levels are equal but for rounding.
    """
    shape, u = np.shape(u), u.reshape(len(u), -1)
    x1, x2 = (end.reshape(u.shape).astype(np.float64) for end in (high, low))
    f1, f2 = cdf(x1) - u, cdf(x2) - u
    answer, place = np.where(f2 >= 0, x2, x1), np.broadcast_to(np.arange(u.shape[1]), u.shape)
    going, t = (f2 < 0) & (f1 >= 0), np.full(u.shape, 0.5)
    rows = np.arange(len(u))[:, None]
    for k in range(STEPS):
        width = int(going.sum(axis=1).max())
        if not width:
            break
        if 4 * width <= 3 * u.shape[1]:  # the rest of each row is found
            kept = np.argsort(~going, axis=1, kind="stable")[:, :width]
            x1, x2, f1, f2, u, t = (picked(each, kept) for each in (x1, x2, f1, f2, u, t))
            going, place = going[rows, kept], place[rows, kept]
        x = x1 + t * (x2 - x1)
        if k in PROBED:  # the roundest number between both, and then what is just below it
            lower, upper = np.where(f1 >= 0, x2, x1), np.where(f1 >= 0, x1, x2)
            with np.errstate(all="ignore"):
                power = 10.0 ** np.floor(-np.log10(upper - lower))
                whole = np.rint(upper * power) / power
            x = np.where((lower < whole) & (whole < upper), whole, x)
            x = np.where(whole == upper, np.nextafter(upper, -np.inf), x)
        x = np.where(going, x, x1)
        f = cdf(x) - u
        same = (f >= 0) == (f1 >= 0)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, f
        upper = np.where(f1 >= 0, x1, x2)
        np.put_along_axis(answer, place, np.where(going, upper, picked(answer, place)), axis=1)
        apart = np.abs(x2 - x1)
        least = np.spacing(np.abs(upper))
        noise, rise = 2.0 * EPS * u, np.abs(f1 - f2)
        going = going & (apart > least) & (rise > 2.0 * noise)
        with np.errstate(all="ignore"):
            xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
            bent = f1 / (f2 - f1) * f3 / (f2 - f3)
            bent += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
            is_safe = (phi * phi < xi) & ((1 - phi) ** 2 < 1 - xi) & (f3 != f1)
            share = np.minimum(np.maximum(least / apart, noise / rise), 0.5)
        t = np.clip(np.where(is_safe, bent, 0.5), share, 1.0 - share)
    return answer.reshape(shape)
