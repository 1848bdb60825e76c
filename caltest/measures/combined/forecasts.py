"""The components of forecasts: sums over rows of functions of their uniform numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
from scipy.special import ndtri

from caltest.errors import NotApplicable
from caltest.forecasts import Forecasts
from caltest.measures.combined.component import (
    Component,
    Finding,
    Function,
    Kind,
    Source,
    Summing,
    observed_sums,
    plain,
    ratio,
)
from caltest.measures.residual_sums import ResidualStatistic
from caltest.numerics.harmonics import harmonics
from caltest.predictions.redrawing import Uniforms
from caltest.types import Floats, Hashes, Order

LEAST = 2.0**-53  # of a uniform number, and how far it stays below 1
STEPS = 64  # of the distribution of the uniform numbers
DEGREES = 4  # of polynomials
WAVES = 10
VARIES = 1e-6  # least relative spread of a covariate that is one

Basis = Callable[["Uniformed"], Sequence[Floats]]  # functions (B, n)


class Uniformed:
    """Uniform numbers (B, n), and what is computed from them once."""

    def __init__(self, uniform: Floats) -> None:
        self.v = np.clip(uniform, LEAST, 1.0 - LEAST)

    @cached_property
    def z(self) -> Floats:
        """The standard normal numbers of the same ranks."""
        return np.asarray(ndtri(self.v))

    @cached_property
    def polynomials(self) -> Sequence[Floats]:
        """The orthonormal polynomials of the uniform numbers, of degrees from 1."""
        place = 2.0 * self.v - 1.0
        before, last, found = np.ones_like(place), place, [math.sqrt(3.0) * place]
        for k in range(1, DEGREES):  # Legendre's recursion
            before, last = last, ((2 * k + 1) * place * last - k * before) / (k + 1)
            found.append(math.sqrt(2.0 * k + 3.0) * last)
        return found

    @cached_property
    def steps(self) -> Floats:
        """Which of the steps of equal width each is in."""
        return np.minimum((self.v * STEPS).astype(np.int64), STEPS - 1)


def hermite(degree: int) -> Basis:
    """Return the orthonormal polynomial of a degree, up to 4, of the normal numbers."""
    functions: list[Callable[[Floats], Floats]] = [
        lambda z: z,
        lambda z: (z * z - 1.0) / math.sqrt(2.0),
        lambda z: z * (z * z - 3.0) / math.sqrt(6.0),
        lambda z: ((z * z - 6.0) * z * z + 3.0) / math.sqrt(24.0),
    ]
    return lambda seen: [functions[degree - 1](seen.z)]


def polynomials(seen: Uniformed) -> Sequence[Floats]:
    """Return the orthonormal polynomials of the uniform numbers, of degrees from 1."""
    return seen.polynomials


def waves(seen: Uniformed) -> Sequence[Floats]:
    """Return cosines of the uniform numbers."""
    return list(math.sqrt(2.0) * harmonics(math.pi * seen.v, WAVES, sines=False))


class ForecastContext:
    """The rows of forecasts that the components of one portfolio share.

    Parameters
    ----------
    forecasts : Forecasts
        The rows.
    """

    order: Order | None = None

    def __init__(self, forecasts: Forecasts) -> None:
        self.predictions, self.n = forecasts, forecasts.n
        weight = forecasts.sample_weight
        self.weight: Floats = np.ones(self.n) if weight is None else weight
        self.noise = float(np.square(self.weight).sum())
        law = forecasts.law.drawn_from(forecasts.outcomes)
        self.mean, self.scale = law.mean, law.sd
        self.kinds = FORECASTS

    def source(self, lens: str) -> Source:
        return self

    @cached_property
    def observed(self) -> Uniformed:
        """The observed numbers."""
        return self.read(self.predictions.pit[None])

    def read(self, uniform: Floats) -> Uniformed:
        return Uniformed(uniform)

    def reference(self) -> Callable[[Hashes], Floats]:
        """Return a function that draws the numbers (B, n) that scales are estimated from.

        The order of the rows does not change them.
        """
        canonical = np.lexsort((self.weight, self.scale, self.mean))
        return Uniforms(self.predictions.uniforms.rows).taken(np.argsort(canonical)).labels

    def covariates(self, *columns: Floats) -> Floats:
        """Return functions of the forecasts (n, Q), orthonormal under the squared weights.

        Each is orthogonal to a constant; what does not vary is left out.
        """
        found = [self.weight / math.sqrt(self.noise)]
        for column in columns:
            rest = self.weight * column
            size = float(np.linalg.norm(rest))
            for other in (*found, *found):
                rest = rest - (other @ rest) * other
            length = float(np.linalg.norm(rest))
            if length > VARIES * size:
                found.append(rest / length)
        return np.stack(found, axis=1)

    @cached_property
    def by_size(self) -> Floats:
        """A constant and functions of the ranks of mean and scale, (n, Q), with the weights."""
        mean, scale = _shares(self.mean), _shares(self.scale)
        return self.covariates(mean, scale, mean * mean, mean * scale, scale * scale)

    @cached_property
    def along(self) -> dict[str, Floats]:
        """Functions of the forecasts (n, 1), by name; without a column where none varies."""
        mean, scale = _shares(self.mean), _shares(self.scale)
        by_mean = self.covariates(mean)
        squares = self.covariates(mean, mean * mean)[:, by_mean.shape[1] :]
        return {"mean": by_mean[:, 1:], "mean^2": squares, "scale": self.covariates(scale)[:, 1:]}

    @cached_property
    def constant(self) -> Floats:
        """The weights of a plain sum, (n, 1)."""
        return self.by_size[:, :1]

    def sums(self, basis: Basis, columns: Floats) -> Summing:
        """Return the sums of functions of the numbers times columns (n, Q), of variance 1."""

        def of(seen: Uniformed) -> Floats:
            return np.concatenate([part @ columns for part in basis(seen)], axis=1)

        return Summing(of, _unsigned)

    @cached_property
    def steps(self) -> Summing:
        """How far the distribution of the numbers is from the uniform one, at the ends of steps."""
        ends, weight = np.arange(1, STEPS) / STEPS, self.constant[:, 0]

        def of(seen: Uniformed) -> Floats:
            found = [np.bincount(row, weight, STEPS) for row in seen.steps]
            return np.asarray(np.cumsum(found, axis=1)[:, :-1] - weight.sum() * ends)

        return Summing(of, _unsigned)

    def numbers(self, observed: Uniformed) -> Floats:
        """Return the uniform numbers (B, n) of what was read."""
        return observed.v

    def level_finding(self) -> Finding:
        """Say how far outcomes are from the means of the forecasts."""
        rows = self.predictions
        gap = float(np.average(rows.outcomes - rows.mean, weights=self.weight))
        text = f"too {'low' if gap > 0 else 'high'} by {abs(gap):.3g} on average"
        return Finding(text, gap, "mean outcome less mean forecast")


def _unsigned(_: Function) -> ResidualStatistic:
    raise NotApplicable("numbers of forecasts have no signs of clusters", "use null='exact'")


def _shares(values: Floats) -> Floats:
    """Return the mean ranks as numbers from -1 to 1."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((2.0 * ends - counts - values.size)[place] / values.size)


def _square(sums: Floats) -> Floats:
    return np.asarray(np.square(sums).sum(axis=1))


def _first(sums: Floats) -> Floats:
    return sums[:, 0]


def _seen(rows: ForecastContext, sums: Summing) -> float:
    return float(_square(sums.of(rows.observed))[0])


def bias(rows: ForecastContext) -> Component:
    """Mean normal number: outcomes above or below what is predicted."""
    sums = rows.sums(hermite(1), rows.constant)
    return Component(rows, sums, _first, rows.level_finding, two_sided=True)


def shift(rows: ForecastContext) -> Component:
    """Score of a constant that is added to all forecasts."""
    scale = np.maximum(rows.scale, np.finfo(float).tiny)
    column = rows.weight / scale
    sums = rows.sums(hermite(1), (column / np.linalg.norm(column))[:, None])
    return Component(rows, sums, _first, rows.level_finding, two_sided=True)


def spread(rows: ForecastContext) -> Component:
    """Mean squared normal number: outcomes that scatter more or less widely than predicted."""

    def finding() -> Finding:
        factor = math.sqrt(float(np.average(np.square(rows.observed.z[0]), weights=rows.weight)))
        word = "too sure" if factor > 1 else "not sure enough"
        text = f"{word}: outcomes scatter {factor:.3g} times as widely as predicted"
        return Finding(text, factor, "scatter of outcomes over that predicted")

    return Component(rows, rows.sums(hermite(2), rows.constant), _first, finding, two_sided=True)


def _moment(rows: ForecastContext, degree: int, words: tuple[str, str], name: str) -> Component:
    sums = rows.sums(hermite(degree), rows.constant)

    def finding() -> Finding:
        z = float(observed_sums(rows, sums)[0])
        return Finding(f"{words[z > 0]} (z = {z:.3g})", z, f"z of {name}", in_words=False)

    def value(sums: Floats) -> Floats:
        # Sums of third and fourth powers have longer tails than the scale of a component allows.
        return np.sign(sums[:, 0]) * np.log1p(np.abs(sums[:, 0]))

    return Component(rows, sums, value, finding, two_sided=True)


SKEWED = "outcomes are skewed to the left of it", "outcomes are skewed to the right of it"
TAILS = "outcomes have lighter tails than predicted", "outcomes have heavier tails than predicted"
skewness = partial(_moment, degree=3, words=SKEWED, name="skewness")
tails = partial(_moment, degree=4, words=TAILS, name="tails")


def _by_size(rows: ForecastContext, basis: Basis, first: int, name: str) -> Component:
    sums = rows.sums(basis, rows.by_size[:, first:])

    def finding() -> Finding:
        return plain(name, _seen(rows, sums))

    return Component(rows, sums, _square, finding)


def _along(
    rows: ForecastContext, degree: int, column: str, words: tuple[str, str], name: str
) -> Component:
    """Return the score of a polynomial of the normal numbers along a function of the forecasts."""
    sums = rows.sums(hermite(degree), rows.along[column])

    def value(sums: Floats) -> Floats:
        return sums[:, 0] if sums.shape[1] else np.zeros(len(sums))

    def finding() -> Finding:
        z = float(value(sums.of(rows.observed))[0])
        return Finding(f"{words[z > 0]} (z = {z:.3g})", z, f"z of {name}", in_words=False)

    return Component(rows, sums, value, finding, two_sided=True)


SLOPE = "outcomes rise less steeply than forecasts", "outcomes rise more steeply than forecasts"
CURVE = (
    "outcomes are too low at both ends of the forecasts",
    "outcomes are too high at both ends of the forecasts",
)
BY_MEAN = (
    "outcomes scatter too little where forecasts are high",
    "outcomes scatter too widely where forecasts are high",
)
BY_SCALE = (
    "outcomes scatter too little where forecasts are wide",
    "outcomes scatter too widely where forecasts are wide",
)
slope = partial(_along, degree=1, column="mean", words=SLOPE, name="the slope")
curve = partial(_along, degree=1, column="mean^2", words=CURVE, name="the curvature")
spread_by_mean = partial(_along, degree=2, column="mean", words=BY_MEAN, name="spread by mean")
spread_by_scale = partial(_along, degree=2, column="scale", words=BY_SCALE, name="spread by scale")


def anderson_darling(rows: ForecastContext) -> Component:
    """Squared distances of the distribution of the uniform numbers, weighted by their variance."""
    ends = np.arange(1, STEPS) / STEPS
    precision = 1.0 / (STEPS * ends * (1.0 - ends))

    def value(sums: Floats) -> Floats:
        return np.asarray(np.square(sums) @ precision)

    def finding() -> Finding:
        return plain("A^2", float(value(rows.steps.of(rows.observed))[0]))

    return Component(rows, rows.steps, value, finding)


def kuiper(rows: ForecastContext) -> Component:
    """The range of the distances of the distribution of the uniform numbers."""

    def value(sums: Floats) -> Floats:
        return np.asarray(np.maximum(sums.max(axis=1), 0.0) - np.minimum(sums.min(axis=1), 0.0))

    def finding() -> Finding:
        return plain("V", float(value(rows.steps.of(rows.observed))[0]))

    return Component(rows, rows.steps, value, finding)


def extremes(rows: ForecastContext) -> Component:
    """Log of the mean of the inverse root of the nearer tail: outcomes far outside."""

    def roots(seen: Uniformed) -> Sequence[Floats]:
        # 1 / sqrt(2 min(v, 1 - v)) has the mean 2.
        return [1.0 / np.sqrt(2.0 * np.minimum(seen.v, 1.0 - seen.v)) - 2.0]

    sums = rows.sums(roots, rows.constant)
    mean = 2.0 * float(rows.constant.sum())

    def value(sums: Floats) -> Floats:
        return np.log1p(np.maximum(ratio(sums[:, 0], mean), -1.0 + 1e-12))

    def finding() -> Finding:
        farthest = float(np.abs(rows.observed.z[0]).max())
        text = f"the farthest outcome is {farthest:.3g} normal standard deviations out"
        return Finding(text, farthest, "largest |z|", in_words=False)

    return Component(rows, sums, value, finding)


def _chi2(rows: ForecastContext, basis: Basis, name: str) -> Component:
    sums = rows.sums(basis, rows.constant)
    return Component(
        rows, sums, _square, lambda: plain(name, float(_square(sums.of(rows.observed))[0]))
    )


FORECASTS = (
    Kind("bias", "mean normal score", bias, weight=2.0),
    Kind("shift", "score of a constant shift", shift),
    Kind("spread", "mean squared normal score", spread, weight=2.0),
    Kind("skewness", "score of skewness", skewness),
    Kind("tails", "score of tails", tails),
    Kind("slope", "score of the slope on the mean", slope),
    Kind("curve", "score of the square of the mean", curve),
    Kind("spread-by-mean", "score of the spread along the mean", spread_by_mean),
    Kind("spread-by-scale", "score of the spread along the scale", spread_by_scale),
    Kind("smooth", "Neyman's smooth test", partial(_chi2, basis=polynomials, name="chi^2")),
    Kind("waves", "cosines of the uniform numbers", partial(_chi2, basis=waves, name="chi^2")),
    Kind(
        "local",
        "smooth tests by mean and scale",
        partial(_by_size, basis=polynomials, first=0, name="chi^2 by size"),
    ),
    Kind("anderson-darling", "Anderson-Darling", anderson_darling),
    Kind("kuiper", "Kuiper", kuiper),
    Kind("extremes", "outcomes far outside", extremes),
)
