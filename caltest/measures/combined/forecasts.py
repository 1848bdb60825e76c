"""The components of forecasts: sums over rows of functions of their uniform numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.polynomial.hermite_e import poly2herme
from numpy.polynomial.polynomial import polyfromroots
from scipy.special import eval_hermitenorm, factorial, ndtri

from caltest.checks.arrays import check_rows_of_design
from caltest.forecasts.container import LEAST
from caltest.forecasts.laws.base import Steps
from caltest.measures.combined import component
from caltest.measures.combined.component import Component, Finding, Kind, Summing
from caltest.measures.combined.tails import REFERENCES
from caltest.measures.residual_sums import ResidualStatistic, of_terms, residuals_up_to
from caltest.numerics import harmonics
from caltest.numerics.pit_cells import DISTANCES, PitCells
from caltest.predictions.redrawing import Uniforms
from caltest.types import Flags, Floats, Hashes, Ints, Order

STEPS = 64  # of the distribution of the uniform numbers
LEVELS = np.arange(1, STEPS) / STEPS
VARIANCE = LEVELS * (1.0 - LEVELS)
DEGREES = 4  # of polynomials
WAVES = 10
WIDELY = "times as widely as predicted (in normal scores)"
NO_GAP = Finding("forecasts do not differ enough", 0.0, "gap", in_words=False)

Names = tuple[str, str]  # of two sets of rows
ENDS = "lowest forecasts", "highest"
Say = Callable[["ForecastContext"], Finding]


class Basis(NamedTuple):
    """Functions (B, n) of uniform numbers, and their integrals from 0, or from any other number."""

    of: Callable[[Uniformed], Sequence[Floats]]
    integrals: Callable[[Uniformed], Sequence[Floats]]


class Uniformed:
    """Uniform numbers (B, n), and what is computed from them once."""

    def __init__(self, uniform: Floats) -> None:
        self.v = np.clip(uniform, LEAST, 1.0 - LEAST)

    @property
    def middle(self) -> Floats:
        """Where the numbers of a row are on average, (B, n)."""
        return self.v

    @cached_property
    def z(self) -> Floats:
        """The standard normal numbers of the same ranks."""
        return np.asarray(ndtri(self.v))

    @cached_property
    def polynomials(self) -> Sequence[Floats]:
        """The orthonormal polynomials of the uniform numbers, of degrees from 1."""
        return harmonics.polynomials(self.v, DEGREES)

    @cached_property
    def integrals(self) -> Sequence[Floats]:
        """Their integrals from 0."""
        sizes = np.sqrt(2.0 * np.arange(DEGREES + 2) + 1.0)
        found = [self.v**0, *harmonics.polynomials(self.v, DEGREES + 1)]
        return [
            (found[k + 1] / sizes[k + 1] - found[k - 1] / sizes[k - 1]) / (2.0 * sizes[k])
            for k in range(1, DEGREES + 1)
        ]

    def terms(self, basis: Basis) -> Sequence[Floats]:
        """Return functions (B, n) of the numbers."""
        return basis.of(self)

    def power(self, degree: int, about: float = 0.0) -> Floats:
        """Return powers of the differences of the first normal numbers from another, (n,)."""
        return np.asarray((self.z[0] - about) ** degree)

    def up_to(self, ends: Floats) -> Floats:
        """Return which of the first numbers are below ends (n,)."""
        return np.asarray(self.v[0] < ends, np.float64)

    def sums(self, basis: Basis, columns: Floats) -> Floats:
        """Return the sums of functions of the numbers times columns (n, Q), (B, D Q)."""
        return np.concatenate([part @ columns for part in self.terms(basis)], axis=1)

    def shares(self, weight: Floats) -> Floats:
        """Return the sums of weights (n,) of the rows in each of the steps of equal width."""
        return self.binned(np.broadcast_to(weight, self.v.shape))

    @cached_property
    def place(self) -> Ints:
        """The steps of equal width that the numbers are in, (B, n)."""
        return np.minimum((self.v * STEPS).astype(np.int64), STEPS - 1)

    def binned(self, values: Floats) -> Floats:
        """Return the sums of values (B, n) in each of these."""
        pairs = zip(self.place, values, strict=True)
        return np.stack([np.bincount(place, value, STEPS) for place, value in pairs])


class StepMeans:
    """Means of functions over the steps of distribution functions.

    Parameters
    ----------
    steps : Steps
        Of all rows.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps, middle = steps, (steps.low + steps.high) / 2.0
        # A difference of integrals over less would be lost to rounding.
        least = np.maximum(NARROW * np.minimum(middle, 1.0 - middle), NARROW**2)
        half = np.maximum(steps.high - steps.low, least) / 2.0
        self.low, self.high = Uniformed(middle - half), Uniformed(middle + half)
        self._found: dict[Basis, list[Floats]] = {}

    def of(self, basis: Basis) -> list[Floats]:
        """Return those of functions, (S,) each."""
        if basis not in self._found:
            ends = zip(basis.integrals(self.low), basis.integrals(self.high), strict=True)
            width = self.high.v - self.low.v
            self._found[basis] = [(high - low) / width for low, high in ends]
        return self._found[basis]


class Averaged(Uniformed):
    """Uniform numbers (B, n) of which any other in the same step of its law would do as well.

    Means over the step take the place of functions of the number: they depend on the outcome alone,
    and vary less.

    Parameters
    ----------
    uniform : (B, n) array
        The numbers.
    means : StepMeans
        Those of the steps.
    """

    def __init__(self, uniform: Floats, means: StepMeans) -> None:
        super().__init__(uniform)
        self.means, self.step = means, means.steps.of(uniform.T).T
        self.is_in = self.step >= 0

    def _taken(self, values: Floats, others: Floats) -> Floats:
        """Return what the numbers have by their steps, and of those in none what is given."""
        taken = values.take(self.step)
        return np.asarray(taken if self.is_in.all() else np.where(self.is_in, taken, others))

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """The ends of the steps, (B, n) each."""
        steps = self.means.steps
        return self._taken(steps.low, self.v), self._taken(steps.high, self.v)

    @property
    def middle(self) -> Floats:
        return np.asarray((self.ends[0] + self.ends[1]) / 2.0)

    def terms(self, basis: Basis) -> Sequence[Floats]:
        means = self.means.of(basis)
        others = means if self.is_in.all() else basis.of(self)
        return [self._taken(*pair) for pair in zip(means, others, strict=True)]

    def power(self, degree: int, about: float = 0.0) -> Floats:
        first, *series = poly2herme(polyfromroots(np.full(degree, about)))
        sizes = np.sqrt(factorial(np.arange(1, degree + 1)))
        scores = [self.terms(hermite(k))[0][0] for k in range(1, degree + 1)]
        return np.asarray(first + (series * sizes) @ np.stack(scores))

    def up_to(self, ends: Floats) -> Floats:
        low, high = (end[0] for end in self.ends)
        share = (ends - low) / np.where(high > low, high - low, 1.0)
        return np.asarray(np.where(high > low, np.clip(share, 0.0, 1.0), low < ends))

    def shares(self, weight: Floats) -> Floats:
        low, high = (Uniformed(end) for end in self.ends)
        crosses = low.place < high.place
        rises = np.where(crosses, weight, 0.0) / np.where(crosses, high.v - low.v, 1.0)
        slope = low.binned(rises) - high.binned(rises)
        level = low.binned(rises * low.v) - high.binned(rises * high.v)
        below = np.cumsum(slope, axis=1) * np.append(LEVELS, 1.0) - np.cumsum(level, axis=1)
        inside = low.binned(np.where(crosses, 0.0, weight))
        return np.asarray(inside + np.diff(below, axis=1, prepend=0.0))


class Stepped(Uniformed):
    """Very many uniform numbers (B, n), of which sums are taken by the cells that they are in.

    Parameters
    ----------
    uniform : (B, n) array
        The numbers; (B, 0) of rows that were counted.
    span : (n, Q) array
        Orthonormal columns; those whose sums are asked for are combinations of these, the first
        of the weights of the rows.
    cells : PitCells
        The cells.
    totals : (B, cells, Q) array, optional
        The sums of the columns over the rows of each.
    """

    def __init__(
        self, uniform: Floats, span: Floats, cells: PitCells, totals: Floats | None = None
    ) -> None:
        super().__init__(uniform)
        self.span, self.cells = span, cells
        self.totals = cells.sums(self.v, span) if totals is None else totals

    def sums(self, basis: Basis, columns: Floats) -> Floats:
        seen = Uniformed(self.cells.middles[None])
        table = np.concatenate([np.atleast_2d(part) for part in seen.terms(basis)])
        table -= (table @ self.cells.widths)[:, None]  # middles miss the mean, which is 0
        found = table @ (self.totals @ (self.span.T @ columns))
        return np.asarray(found.reshape(len(found), -1))

    def shares(self, weight: Floats) -> Floats:
        ends = np.searchsorted(self.cells.middles, np.arange(STEPS) / STEPS)
        found = np.add.reduceat(self.totals[:, :, 0], ends, axis=1)
        return np.asarray(found * float(self.span[:, 0] @ weight))


STEPPED_FROM = 20_000  # rows
MOST_REFERENCES, REFERENCE_NUMBERS = 2999, 1 << 16  # uniform numbers of references of few rows
NARROW = 1e-6  # step, relative to the nearer tail
MOST_STEPS = 1 << 21  # of all rows, over which functions are averaged
ROUNDING = 1e-9  # of means and scales, relative to the scale
STEPPED = PitCells(10, 32)


@cache
def hermite(degree: int) -> Basis:
    """Return the orthonormal polynomial of a degree of the normal numbers."""
    size = math.sqrt(math.factorial(degree))

    def integrals(seen: Uniformed) -> Sequence[Floats]:
        density = np.exp(-0.5 * np.square(seen.z)) / math.sqrt(2.0 * math.pi)
        return [-np.asarray(eval_hermitenorm(degree - 1, seen.z)) * density / size]

    return Basis(lambda seen: [np.asarray(eval_hermitenorm(degree, seen.z)) / size], integrals)


# The orthonormal polynomials of the uniform numbers, of degrees from 1.
polynomials = Basis(attrgetter("polynomials"), attrgetter("integrals"))


def _waves(seen: Uniformed) -> Sequence[Floats]:
    return list(math.sqrt(2.0) * harmonics.harmonics(math.pi * seen.v, WAVES, sines=False))


def _wave_integrals(seen: Uniformed) -> Sequence[Floats]:
    sines = harmonics.harmonics(math.pi * seen.v, WAVES)[WAVES:]
    return [math.sqrt(2.0) / (math.pi * k) * sine for k, sine in enumerate(sines, 1)]


waves = Basis(_waves, _wave_integrals)  # cosines of the uniform numbers


def _roots(seen: Uniformed) -> Sequence[Floats]:
    # 1 / sqrt(2 min(v, 1 - v)) has the mean 2.
    return [1.0 / np.sqrt(2.0 * np.minimum(seen.v, 1.0 - seen.v)) - 2.0]


def _root_integrals(seen: Uniformed) -> Sequence[Floats]:
    near = 2.0 * np.minimum(seen.v, 1.0 - seen.v)
    return [np.sign(0.5 - seen.v) * (np.sqrt(near) - near)]


roots = Basis(_roots, _root_integrals)


class ForecastContext:
    """The rows of forecasts that the components of one portfolio share.

    Parameters
    ----------
    forecasts : Forecasts or PitCounts
        The rows, or groups of these that are told by how many copies they stand for.
    design : dict of (n,) arrays, optional
        Their features by name.
    """

    order: Order | None = None

    def __init__(self, forecasts: Any, design: Any = None) -> None:
        self.predictions, self.n = forecasts, int(forecasts.width)
        self.mean, self.scale = forecasts.told_apart
        self.copies, self.mass = forecasts.copies, forecasts.weights
        # What is summed over copies is multiplied by a weight, and its mean by the root as well.
        self.root: Floats = np.sqrt(self.copies)
        self.weight: Floats = self.mass / self.root
        self.design: dict[str, Floats] = design or {}
        check_rows_of_design(self.design, self.n)
        self.kinds = EVERY if self.design else FORECASTS

    def source(self, lens: str) -> component.Source:
        return self

    @cached_property
    def observed(self) -> Uniformed:
        """The observed numbers."""
        return self.read(self.predictions.observed[None])

    @property
    def observed_rows(self) -> Uniformed | None:
        """The observed numbers, each as it is, where sums are over cells."""
        return self.each if isinstance(self.observed, Stepped) else None

    @cached_property
    def step_means(self) -> StepMeans | None:
        """The means over the steps of the laws; None where they have none, or too many."""
        law = self.predictions.law
        if not law.has_atoms or np.size(law.atoms) > MOST_STEPS:
            return None
        found = law.steps(self.predictions.outcomes)
        return None if found is None else StepMeans(Steps(*found))

    def read(self, uniform: Floats) -> Uniformed:
        if self.n >= STEPPED_FROM:
            return Stepped(uniform, self.span, STEPPED)
        means = self.step_means
        return Uniformed(uniform) if means is None else Averaged(uniform, means)

    @cached_property
    def each(self) -> Uniformed:
        """The observed numbers, of each row by itself."""
        is_cells = isinstance(self.observed, Stepped)
        return Uniformed(self.predictions.pit[None]) if is_cells else self.observed

    def reference(self) -> Callable[[Hashes], Floats]:
        """Return a function that draws the numbers (B, n) that scales are estimated from.

        The order of the rows does not change them.
        """
        canonical = np.lexsort((self.weight, self.scale, self.mean))
        return Uniforms(self.predictions.uniforms.rows).taken(np.argsort(canonical)).labels

    @property
    def references(self) -> int:
        """How many of these: more of few rows, of which the sums have tails unlike each other."""
        return max(REFERENCES, min(MOST_REFERENCES, REFERENCE_NUMBERS // self.n))

    def covariates(self, *columns: Floats) -> Floats:
        """Return functions of the forecasts (n, Q), orthonormal under the squared weights.

        Each is orthogonal to a constant; what does not vary is left out.
        """
        functions = component.orthonormal(np.stack([self.weight**0, *columns]), self.weight**2)
        return (self.weight * functions[functions.any(axis=1)]).T

    @property
    def _sizes(self) -> tuple[Floats, ...]:
        mean, scale = (self.shares(x, self.scale) for x in (self.mean, self.scale))
        return mean, scale, mean * mean, mean * scale, scale * scale

    @cached_property
    def span(self) -> Floats:
        """Orthonormal columns, (n, Q), of which all others are combinations."""
        return self.covariates(*self._sizes, self.precision, *self.feature_ranks)

    @cached_property
    def feature_ranks(self) -> list[Floats]:
        """The ranks of the features, from -1 to 1, (n,) each."""
        return [self.shares(column) for column in self.design.values()]

    def shares(self, values: Floats, size: Floats | float = 0.0) -> Floats:
        """Return the mean ranks as numbers from -1 to 1; values equal but for rounding are ties."""
        order = np.argsort(values)
        ordered, near = values[order], ROUNDING * np.broadcast_to(size, values.shape)[order]
        with np.errstate(invalid="ignore"):  # infinite values are ties, too
            new = np.diff(ordered) > np.where(np.isfinite(near), near, 0.0)[:-1]
        place = np.empty(order.size, np.int64)
        place[order] = np.append(0, np.cumsum(new))
        counts, whole = np.bincount(place, self.copies), self.copies.sum()
        return np.asarray((2.0 * np.cumsum(counts) - counts - whole)[place] / whole)

    @property
    def precision(self) -> Floats:
        """The inverse scales (n,), relative to the largest one; 0 where others alone are finite."""
        scale, is_finite = self.scale, np.isfinite(self.scale)
        largest = max(float(scale.max(initial=0.0, where=is_finite)), np.finfo(float).tiny)
        inverse = 1.0 / np.maximum(np.where(is_finite, scale, np.inf) / largest, LEAST)
        return np.asarray(inverse if is_finite.any() else np.ones(self.n))

    @cached_property
    def along(self) -> dict[str, Floats]:
        """Functions of the forecasts (n, Q), by name; without a column where none varies.

        "constant" are the weights of a plain sum, and "size" these and functions of the ranks of
        mean and scale.
        """
        mean, scale, square, *_ = self._sizes
        by_size, by_mean = self.covariates(*self._sizes), self.covariates(mean)
        squares = self.covariates(mean, square)[:, by_mean.shape[1] :]
        by_features = self.covariates(*self.feature_ranks)[:, 1:]
        column = self.weight * self.precision
        precision = (column / np.linalg.norm(column))[:, None]
        found = {"constant": by_size[:, :1], "size": by_size, "mean": by_mean[:, 1:]}
        found |= {"mean^2": squares, "features": by_features}
        return found | {"scale": self.covariates(scale)[:, 1:], "precision": precision}

    def sums(self, basis: Basis, columns: Floats) -> Summing:
        """Return the sums of functions of the numbers times columns (n, Q), of variance 1."""

        def signed(function: component.Function) -> ResidualStatistic:
            # Means over wide steps are skewed, which flipped signs are not.
            found = basis.of(Uniformed(self.predictions.pit[None]))
            return of_terms(np.hstack([part.T * columns for part in found]), function)

        return Summing(lambda seen: seen.sums(basis, columns), signed)

    @cached_property
    def steps(self) -> Summing:
        """How far the distribution of the numbers is from the uniform one, at the ends of steps."""
        weight = self.along["constant"][:, 0]
        expected = float(self.root @ weight) * LEVELS
        return Summing(
            lambda seen: np.cumsum(seen.shares(weight), axis=1)[:, :-1] - expected,
            lambda function: of_terms(
                residuals_up_to(self.predictions.pit, weight, STEPS), function
            ),
        )

    @property
    def spread_out(self) -> tuple[Uniformed, Floats]:
        """The observed numbers and their weights, (1, n) and (n,)."""
        return self.each, self.weight

    def attained(self, level: float) -> Sequence[Floats]:
        """Return the probabilities up to the quantiles of the laws, and those below these."""
        law = self.predictions.law
        return law.attained(level), law.attained(level, is_lower=True)

    def step_finding(self, k: int, value: Floats, name: str) -> Finding:
        """Say which share of the outcomes is up to a quantile that was forecast, or below it."""
        level, (seen, weight) = LEVELS[k], self.spread_out
        sides = []
        for side, attained in zip(("at or below", "below"), self.attained(level), strict=True):
            each = seen.up_to(attained), attained
            share, predicted = (100.0 * float(np.average(one, weights=weight)) for one in each)
            text = f"{share:.3g} % are at or below the {predicted:.3g} % quantile"
            if np.ptp(attained) > 0.0:  # of whole numbers each attains another probability
                quantile = f"{100 * level:.3g} % quantile"
                text = f"{share:.3g} % are {side} the {quantile}, {predicted:.3g} % predicted"
            sides.append((abs(share - predicted), text))
        return Finding(max(sides, key=itemgetter(0))[1], float(value[0]), name)

    def numbers(self, observed: Uniformed) -> Floats:
        """Return the uniform numbers (B, n) of what was read."""
        return observed.v

    @property
    def squares(self) -> Floats:
        """The squares of the observed normal numbers, (n,)."""
        return self.each.power(2)

    def levels(self, *parts: Flags | slice, more: str = "") -> tuple[list[str], float, str]:
        """Say how far forecasts are from their outcomes, in all rows or in two parts of them.

        With the gap, of two parts their difference, and its name. Tests are of the PIT, to which
        the errors of few wide forecasts add little: where these turn the sign, the PIT is told.
        """
        pit, off = self.predictions.errors
        gaps, levels = (
            [float(np.average(x[some], weights=self.mass[some])) for some in parts]
            for x in (pit if off is None else off, pit)
        )
        apart, own = (x[-1] - sum(x[:-1]) for x in (gaps, levels))
        if off is not None and apart * own >= 0.0:
            words = [f"too {('high', 'low')[gap > 0]} by {abs(gap):.3g}{more}" for gap in gaps]
            return words, apart, "mean outcome less mean forecast"
        text = "too {} (outcomes at level {:.3g} on average, not 0.5)"
        words = [text.format(("high", "low")[gap > 0], 0.5 + gap) for gap in levels]
        return words, own, "mean PIT less 0.5"

    def scatter(self, some: Flags | slice) -> float:
        """Return how widely outcomes scatter relative to what is predicted, in normal scores."""
        return math.sqrt(float(np.average(self.squares[some], weights=self.mass[some])))

    def moment(self, degree: int) -> float:
        """Return the standardised moment of the normal scores."""
        seen, weight = self.spread_out
        mean = float(np.average(seen.power(1), weights=weight))
        size, power = (np.average(seen.power(k, mean), weights=weight) for k in (2, degree))
        return float(power / max(size, LEAST) ** (degree / 2))

    def thirds(self, values: Floats) -> tuple[Flags, Flags, Flags]:
        """Return the rows with weight whose values are low, are neither, and are high."""
        place, counts = self.shares(values), self.weight > 0
        low, high = place <= max(place.min(), -1 / 3), place >= min(place.max(), 1 / 3)
        return low & ~high & counts, ~low & ~high & counts, high & ~low & counts


class CountedContext(ForecastContext):
    """Very many rows that were counted, `PitCounts`: groups of like forecasts take their place."""

    observed_rows = None

    def read(self, uniform: Floats) -> Uniformed:
        none, columns = np.empty((len(uniform), 0)), self.span / self.root[:, None]
        totals = np.swapaxes(uniform, 1, 2) @ columns
        return Stepped(none, self.span, self.predictions.cells, totals)

    def reference(self) -> Callable[[Hashes], Any]:
        return cast("Callable[[Hashes], Any]", self.predictions.labels)

    @property
    def spread_out(self) -> tuple[Uniformed, Floats]:
        middles = Uniformed(self.predictions.cells.middles[None])
        return middles, self.predictions.observed.sum(axis=0)

    def attained(self, level: float) -> Sequence[Floats]:
        return (np.full(self.predictions.cells.middles.size, level),) * 2

    @property
    def squares(self) -> Floats:
        squares = np.square(ndtri(self.predictions.cells.middles))
        return np.asarray(self.predictions.observed @ squares / self.copies)


def _square(sums: Floats) -> Floats:
    return np.asarray(np.square(sums).sum(axis=1))


def _score(
    key: str,
    title: str,
    degree: int,
    finding: Say,
    by: str = "constant",
    weight: float = 1.0,
    side: int = 0,
) -> Kind:
    """Return the score of a polynomial of the normal numbers along a function of the forecasts.

    The side is 1 or -1 where large or small values alone speak against calibration.
    """

    def make(rows: ForecastContext) -> Component:
        sums = rows.sums(hermite(degree), rows.along[by])
        return Component(rows, sums, value, partial(finding, rows), two_sided=side == 0)

    def value(sums: Floats) -> Floats:
        first = sums[:, 0] if sums.shape[1] else np.zeros(len(sums))
        if degree > 2:  # of longer tails than the scale of a component allows: damped
            return np.asarray(np.sign(first) * np.log1p(np.abs(first)))
        return -first if side < 0 else first

    return Kind(key, title, make, weight=weight)


def _level(rows: ForecastContext) -> Finding:
    """Say how far outcomes are from the means of the forecasts."""
    [text], gap, name = rows.levels(slice(None), more=" on average")
    return Finding(text, gap, name, scale=0.0)  # in any unit


def _spread(rows: ForecastContext, side: int) -> Finding:
    factor = rows.scatter(slice(None))
    word = "too sure: " if side > 0 else "not sure enough: "
    text = f"{word if (factor - 1.0) * side > 0 else ''}outcomes scatter {factor:.3g} {WIDELY}"
    return Finding(text, factor, "scatter of outcomes over that predicted")


def _moment(rows: ForecastContext, degree: int, words: tuple[str, str], name: str) -> Finding:
    found, usual = rows.moment(degree), 3.0 * (degree == 4)
    digits, is_more = 3 if abs(found - usual) >= 0.01 else 5, found > usual
    number = f"{name} {found:.{digits}g} of the normal scores"
    # The score is of moments about 0, which a mean or scatter that is off moves too.
    [[score]] = rows.sums(hermite(degree), rows.along["constant"]).of(rows.observed)
    explains = (score > 0) == is_more
    text = f"outcomes {words[is_more]} ({number}, not {usual:g})" if explains else number
    return Finding(text, found, f"{name} of normal scores", in_words=explains)


SKEWED = "are more skewed to the left than predicted", "are more skewed to the right than predicted"
TAILS = "have lighter tails than predicted", "have heavier tails than predicted"
_skewness = partial(_moment, degree=3, words=SKEWED, name="skewness")
_tails = partial(_moment, degree=4, words=TAILS, name="kurtosis")


def _compared(
    rows: ForecastContext, degree: int, parts: tuple[Flags, Flags], names: Names = ENDS
) -> Finding:
    """Say how the level, of degree 1, or the scatter is in two sets of rows."""
    if not all(some.any() for some in parts):
        return NO_GAP
    if degree == 1:
        (one, other), apart, _ = rows.levels(*parts)
        name = "difference of these gaps"
    else:
        low, high = map(rows.scatter, parts)
        one, other = f"outcomes scatter {low:.3g} {WIDELY}", f"{high:.3g} times"
        apart, name = high / max(low, LEAST), "ratio of these"
    first, second = (f"{rows.copies[some].sum():,.0f}" for some in parts)
    text = f"{one} for the {first} {names[0]}, {other} for the {second} {names[1]}"
    return Finding(text, apart, name, scale=0.0)


def _ends(rows: ForecastContext, degree: int, by: str = "mean", names: Names = ENDS) -> Finding:
    return _compared(rows, degree, rows.thirds(getattr(rows, by))[::2], names)


def _curve(rows: ForecastContext) -> Finding:
    low, middle, high = rows.thirds(rows.mean)
    return _compared(rows, 1, (middle, low | high), ("middle forecasts", "outer ones"))


_wide, _narrow = (partial(_spread, side=side) for side in (1, -1))
_slope, _spread_by_mean = (partial(_ends, degree=degree) for degree in (1, 2))
_spread_by_scale = partial(_ends, degree=2, by="scale", names=("narrowest forecasts", "widest"))


def _by_feature(rows: ForecastContext, degree: int) -> Component:
    """Squared scores of level or spread along the ranks of the features, added up."""
    sums = rows.sums(hermite(degree), rows.along["features"])

    def finding() -> Finding:
        each = [rows.covariates(one)[:, 1:2] for one in rows.feature_ranks]
        varying = [item for item, one in zip(rows.design.items(), each, strict=True) if one.size]
        if not varying:
            return Finding("no feature varies", 0.0, "gap", in_words=False)
        found = rows.sums(hermite(degree), np.hstack(each)).of(rows.observed)[0]
        name, values = varying[int(np.argmax(np.abs(found)))]
        names = f"lowest values of {name}", "highest"
        return _compared(rows, degree, rows.thirds(values)[::2], names)

    return Component(rows, sums, _square, finding)


def _of_steps(
    rows: ForecastContext, distance: str, name: str, precision: Floats | float = 1.0
) -> Component:
    """Return a distance of the distribution of the uniform numbers at the ends of steps."""

    def value(gaps: Floats) -> Floats:
        return DISTANCES[distance](gaps, 1.0 / STEPS, VARIANCE)

    def finding() -> Finding:
        found = rows.steps.of(rows.observed)
        farthest = int(np.argmax(np.square(found[0]) * precision))
        return rows.step_finding(farthest, value(found), name)

    return Component(rows, rows.steps, value, finding)


def extremes(rows: ForecastContext) -> Component:
    """Log of the mean of the inverse root of the nearer tail: outcomes far outside."""
    sums = rows.sums(roots, rows.along["constant"])
    mean = 2.0 * float(rows.root @ rows.along["constant"][:, 0])

    def value(sums: Floats) -> Floats:
        return np.log1p(np.maximum(component.ratio(sums[:, 0], mean), -1.0 + 1e-12))

    def finding() -> Finding:
        seen, weight = rows.spread_out
        farthest = float(np.abs(ndtri(seen.middle[0, weight > 0])).max())
        text = f"the farthest outcome is {farthest:.3g} normal standard deviations out"
        return Finding(text, farthest, "largest |z|", in_words=False)

    return Component(rows, sums, value, finding)


def _chi2(
    rows: ForecastContext, basis: Basis, name: str = "chi^2", along: str = "constant"
) -> Component:
    sums = rows.sums(basis, rows.along[along])

    def finding() -> Finding:
        return component.plain(name, float(_square(sums.of(rows.observed))[0]))

    return Component(rows, sums, _square, finding)


kuiper = partial(_of_steps, distance="kuiper", name="V")
farther = partial(_of_steps, distance="anderson-darling", name="A^2", precision=1.0 / VARIANCE)
local = partial(_chi2, basis=polynomials, name="chi^2 by size", along="size")
FORECASTS = (
    _score("bias", "mean normal score", 1, _level, weight=3.0),
    _score("shift", "score of a constant shift", 1, _level, "precision"),
    _score("too-sure", "mean squared normal score, large", 2, _wide, weight=2.0, side=1),
    # Where outcomes are near their forecasts no other component speaks.
    _score("not-sure-enough", "mean squared normal score, small", 2, _narrow, weight=4.0, side=-1),
    _score("skewness", "score of skewness", 3, _skewness),
    _score("tails", "score of tails", 4, _tails),
    _score("slope", "score of the slope on the mean", 1, _slope, "mean"),
    _score("curve", "score of the square of the mean", 1, _curve, "mean^2"),
    _score("spread-by-mean", "score of the spread along the mean", 2, _spread_by_mean, "mean"),
    _score("spread-by-scale", "score of the spread along the scale", 2, _spread_by_scale, "scale"),
    Kind("smooth", "Neyman's smooth test", partial(_chi2, basis=polynomials)),
    Kind("waves", "cosines of the uniform numbers", partial(_chi2, basis=waves)),
    Kind("local", "smooth tests by mean and scale", local),
    Kind("anderson-darling", "Anderson-Darling", farther),
    Kind("kuiper", "Kuiper", kuiper),
    Kind("extremes", "outcomes far outside", extremes),
)
BY_FEATURE = (
    Kind("level-by-feature", "score of level along features", partial(_by_feature, degree=1)),
    Kind("spread-by-feature", "score of spread along features", partial(_by_feature, degree=2)),
)
EVERY = *FORECASTS, *BY_FEATURE
