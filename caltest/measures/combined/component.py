"""The components of the combined test: sums of a source, a function of them, a finding in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from caltest.measures.outcome import Part
from caltest.measures.residual_sums import ResidualStatistic
from caltest.numerics import joint
from caltest.numerics.loops import blocks
from caltest.numerics.softmax import PRODUCT, LogRows, inverse_temperature
from caltest.types import Codes, Floats, Ints

if TYPE_CHECKING:
    from caltest.measures.combined.one_event import OneEvent

Source = Any  # rows of classes or of one event, cells, or sums over chunks
Observed = Any  # labels (B, n), events or excesses of events (B, U), as the source reads them
Function = Callable[[Floats], Floats]  # sums (B, ...) -> statistics (B,)
Sums = Any  # `Summing`, or what else has its functions `of` and `signed`
GapsOf = Callable[[int], Floats]  # of class k, the observed less the expected weight of each cell
RangeOf = Callable[[int, int, int], tuple[float, str]]  # the weight of some cells, and which

LEAST = 1e-12  # smaller probabilities count as this one in logs and roots
LIMITS = np.array([0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6])  # of what is called improbable,
EVEN = np.array([0.5])  # and where nothing is
STEADY = 0.25  # of a row: keeps the variance of what hardly occurs away from 0
LEAST_DENOMINATOR = 1e-100  # so that no square overflows
TEMPERATURES = 0.05, 20.0  # the least and the largest that is looked for
WAVES = 8
RANKS = ("most", "second most", "third most", "fourth most", "fifth most")


@dataclass(frozen=True)
class Finding:
    """What a component sees in the labels that were observed.

    Attributes
    ----------
    text : str
        In the words of the user, with direction and unit: "too sure: a temperature of 1.21".
    estimate : float
        The number in it.
    estimate_name : str
        What the number is, with its unit.
    in_words : bool
        Whether the text tells a user of the model what is wrong: not by how many z, nor of rows or
        a class that were picked because they look worst.
    scale : float
        What rounding errors of the estimate are relative to.
    """

    text: str
    estimate: float
    estimate_name: str
    in_words: bool = True
    scale: float = 1.0


NO_GAP = Finding("no gap", 0.0, "mean gap there", in_words=False)
NO_TEMPERATURE = Finding(
    "no temperature changes the probabilities", 1.0, "temperature", in_words=False
)


@dataclass(eq=False)
class Summing:
    """Sums of residuals.

    Attributes
    ----------
    of : callable
        The sums for each row of what is observed, (B,) or (B, D).
    signed : callable, optional
        A function of the sums as a statistic of residuals whose signs are flipped.
    expected : float or array
        What was taken away from sums over labels.
    """

    of: Callable[[Observed], Floats]
    signed: Callable[[Function], ResidualStatistic] | None = None
    expected: Floats | float = 0.0


@dataclass(eq=False)
class Component:
    """A statistic of a source; large values speak against calibration.

    Attributes
    ----------
    source : Source
        What it is a statistic of. It reads labels as `observed`, has the rows of the predictions
        in an `order`, and makes `sums`.
    sums : Sums
        The sums of residuals that it is a function of.
    value : callable
        The statistic (B,) of sums.
    finding : callable
        Says what the observed labels show.
    two_sided : bool
        Whether small values speak against calibration too.
    key, title, lens : str
        Its name, and what it looks at relative to the lens of the test; see `Kind`.
    weight : float
        How much it counts among the others.
    """

    source: Source
    sums: Sums
    value: Function
    finding: Callable[[], Finding]
    two_sided: bool = False
    key: str = ""
    title: str = ""
    lens: str = "strong"
    weight: float = 1.0

    def values(self, observed: Observed) -> Floats:
        """Return the statistic for each row of what is observed."""
        return self.value(self.sums.of(observed))

    def residual_statistic(self) -> ResidualStatistic:
        """Return the statistic of residuals whose signs are flipped, with its name."""
        found: ResidualStatistic = self.sums.signed(self.value)
        if (order := self.source.order) is not None:
            of_rows = found.flipped
            found = ResidualStatistic(lambda codes, n: of_rows(codes[order], n), found.scale)
        found.key, found.title, found.two_sided = self.key, self.title, self.two_sided
        found.weight = self.weight
        return found

    def part(self, values: Floats, pvalue: float = 1.0, adjusted: float = 1.0) -> Part:
        """Return the component as a result."""
        found = self.finding()
        return Part(
            key=self.key,
            title=self.title,
            lens=self.lens,
            finding=found.text,
            estimate=float(joint.cleared(found.estimate, found.scale)),
            estimate_name=found.estimate_name,
            values=values,
            two_sided=self.two_sided,
            in_words=found.in_words,
            pvalue=pvalue,
            adjusted=adjusted,
        )


def observed_sums(source: Source, sums: Sums) -> Floats:
    """Return the sums of the observed labels, without rounding errors."""
    return joint.cleared(sums.of(source.observed)[0], 1.0)


def over(sd: Floats | float) -> Function:
    """Return the function that divides sums by their standard deviation."""
    return partial(ratio, denominator=sd)


def squared_length(precision: Floats) -> Function:
    """Return the function that gives the squared length of sums, with the inverse covariance."""
    return lambda sums: np.asarray(np.einsum("bk,kl,bl->b", sums, precision, sums))


class Kind(NamedTuple):
    """A component of a portfolio: its name, how it is made, under which lens, and its weight."""

    key: str
    title: str
    make: Callable[[Source], Component]
    lens: str = "strong"
    weight: float = 1.0

    def of(self, sources: Callable[[str], Source]) -> Component:
        """Return the component of the source under the lens."""
        made = self.make(sources(self.lens))
        return replace(made, key=self.key, title=self.title, lens=self.lens, weight=self.weight)


def combine(components: Sequence[Component | ResidualStatistic], scores: Floats) -> Floats:
    """Return the statistic of a portfolio, (B,), from the scores of its components (K, B)."""
    return joint.log_mean_exp(scores, [one.weight for one in components])


def most_extreme_first(
    components: Sequence[Component], scores: Floats, statistics: Floats
) -> tuple[Part, ...]:
    """Return the components as results; column 0 of scores and statistics (K, B + 1) is observed.

    `scores` say how far out each statistic is, -log p.
    """
    order, pvalues, adjusted = joint.most_extreme_first(scores)
    return tuple(
        components[k].part(statistics[k], float(pvalues[k]), float(adjusted[k])) for k in order
    )


def points(difference: float) -> str:
    """Write a difference of probabilities in percentage points."""
    return f"{100 * abs(difference):.3g} points"


def percent(share: float) -> str:
    """Write a probability in percent."""
    return f"{round(100 * share, 4) + 0.0:.3g} %"  # no -0


def plain(name: str, value: float) -> Finding:
    """Say the value of a statistic, which is no word to a user of the model."""
    return Finding(f"{name} = {value:.4g}", value, name, in_words=False)


def farthest(where: str, mean: float, share: float, estimate_name: str) -> Finding:
    """Describe what was picked because it is farthest off, which says nothing of other rows."""
    text = f"farthest is {where}: {percent(mean)} on average, {percent(share)} observed"
    return Finding(text, float(share - mean), estimate_name, in_words=False)


def middles(rows: Ints) -> Floats:
    """Return the shares of all rows that are below the middle of each cell."""
    upto = np.cumsum(rows)
    return np.asarray((upto - 0.5 * rows) / upto[-1])


def ratio(numerator: Floats, denominator: Floats | float) -> Floats:
    """Divide; where the denominator is 0 the numerator stays, and none is below 1e-100."""
    least = np.maximum(denominator, LEAST_DENOMINATOR)
    return np.asarray(numerator / np.where(np.asarray(denominator) > 0, least, 1.0))


def inverse(covariance: Floats) -> Floats:
    """Return the pseudo-inverse of a covariance matrix."""
    return np.asarray(np.linalg.pinv(covariance, rcond=1e-9, hermitian=True))


def orthonormal(functions: Floats, v: Floats) -> Floats:
    """Return the functions (J, n), orthonormal under v; 0 where those before determine one.

    They take the place of those that are given, where these lie side by side.
    """
    out = np.ascontiguousarray(functions)
    for j, given in enumerate(out):
        f, whole = given, float(v @ np.square(given))
        for _ in range(2):  # twice is enough (Kahan)
            along = out @ (v * f)
            along[j:] = 0.0
            f = f - along @ out
        size = float(v @ np.square(f))
        out[j] = ratio(f, np.sqrt(size)) if size > 1e-10 * max(whole, 1e-300) else 0.0
    return out


def correcting_temperature(logs: Floats | LogRows, labels: Codes, weight: Floats) -> float:
    """Return T within bounds that makes p^(1/T), normalised, most likely."""
    parts = (logs[rows] for rows in blocks(len(logs), max(1, PRODUCT // logs.shape[1])))
    if not any((part[:, :1] != part).any() for part in parts):  # every T is as likely
        return 1.0
    return 1.0 / inverse_temperature(logs, labels, weight, TEMPERATURES)[0]


def degrees(temperature: float) -> str:
    """Write a temperature, which may lie beyond the bounds."""
    least, most = TEMPERATURES
    beyond = " or less" if temperature <= least else " or more" if temperature >= most else ""
    return f"{temperature:.3g}{beyond}"


# ---- of rows of any classes or one event ---------------------------------------------------------


def temperature(source: Source) -> Component:
    """Score of the temperature: all probabilities too extreme, or all too timid."""
    sums, sd = source.temperature()

    def finding() -> Finding:
        if sd == 0:
            return NO_TEMPERATURE
        found, named = source.correcting_temperature()
        word = source.too_extreme[found <= 1]
        return Finding(f"{word}: {named} {degrees(found)} fits best", found, "temperature")

    return Component(source, sums, over(sd), finding, two_sided=True)


def belt(source: Source) -> Component:
    """Scores of level, slope and curvature on the log odds, as in the calibration belt."""
    sums, precision = source.scores(source.powers(3))

    def finding() -> Finding:
        scores = observed_sums(source, sums)
        j = int(np.argmax(np.abs(scores)))
        name = ("level", "slope", "curvature")[j]
        text = f"the {name} is off most (z = {scores[j]:.3g})"
        return Finding(text, float(scores[j]), f"z of {name}", in_words=False)

    return Component(source, sums, squared_length(precision), finding)


def surprise(source: Source) -> Component:
    r"""Log of the mean of :math:`p_y^{-1/2}`: outcomes that were as good as excluded.

    :math:`p_y^{-1/2}` has the mean :math:`\sum_k \sqrt{p_k}` and a variance below m, however small
    some of the p are; with true probabilities q a class adds :math:`q_k / \sqrt{p_k}` to its mean.
    The log changes no p-value of its own: with it, the tail is that of a shifted gamma.
    """
    sums, whole = source.roots()

    def value(sums: Floats) -> Floats:
        return np.log1p(ratio(sums, whole))

    def finding() -> Finding:
        below, limits = source.below(LIMITS), LIMITS
        if below is not None and not below[0].any():  # no outcome is so improbable
            below, limits = source.below(EVEN), EVEN
        if below is None or not below[0].any():
            return plain("improbable outcomes", float(value(observed_sums(source, sums))))
        chances, happened, variance = below
        sd = np.sqrt(variance + source.steady)
        j = int(np.argmax(np.abs((happened - chances) / sd)))
        mean, share = float(chances[j] / source.mass), float(happened[j] / source.mass)
        seen = f"{percent(mean)} expected, {percent(share)} observed"
        text = f"outcomes with probabilities below {percent(limits[j])}: {seen}"
        return Finding(text, share - mean, f"mean gap of probabilities below {limits[j]:g}")

    return Component(source, sums, value, finding)


# ---- of one event --------------------------------------------------------------------------------


def level(units: OneEvent) -> Component:
    """Score of the intercept: calibration in the large."""
    sums, sd = units.linear(np.ones_like(units.p)), np.sqrt(units.total)
    return Component(units, sums, over(sd), lambda: units.level_finding, two_sided=True)


def tenths(units: OneEvent) -> Component:
    """Squared standardised differences of ten bins of as many rows, added up."""
    sums, variance, limits = units.bins()
    precision = 1.0 / (variance + units.steady)

    def finding() -> Finding:
        j = int(np.argmax(np.square(observed_sums(units, sums)) * precision))
        return units.gap_finding(int(limits[j]), int(limits[j + 1]))

    return Component(units, sums, lambda sums: np.square(sums) @ precision, finding)


def waves(units: OneEvent) -> Component:
    """Squared scores of a level and of cosines of the probability, up to seven half waves."""
    place = (units.p - units.p[0]) / max(float(units.p[-1] - units.p[0]), LEAST)

    def cosines(some: slice) -> Floats:
        angles = np.pi * np.arange(WAVES)[:, None] * place[some]
        return np.asarray(np.cos(angles, out=angles))

    sums, precision = units.scores(cosines)

    def finding() -> Finding:
        is_level = np.argmax(np.abs(observed_sums(units, sums))) == 0
        return units.level_finding if is_level else units.range_finding

    return Component(units, sums, squared_length(precision), finding)


def line(units: OneEvent) -> Component:
    """Squared scores of level and slope on the log odds, added up."""
    sums, precision = units.scores(units.powers(2))

    def finding() -> Finding:
        level, slope = map(float, observed_sums(units, sums))
        if abs(level) >= abs(slope):
            return units.level_finding
        how = "less" if slope < 0 else "more"
        text = f"observed shares rise {how} steeply than {units.name} (z = {slope:.3g})"
        return Finding(text, slope, "z of the slope", in_words=False)

    return Component(units, sums, squared_length(precision), finding)


def kuiper(units: OneEvent) -> Component:
    """Kuiper's statistic, in standard deviations of the whole sum."""
    return _of_range(units, units.extremes(), np.sqrt(units.total))


def narrow(units: OneEvent) -> Component:
    """The SKCE over ranks of variance with a quarter of the median bandwidth, standardised."""
    unit = float(units.noise @ (1.0 / np.square(units.label_sd)))
    decay = units.decay(units.ranks, 0.25)
    return _of_range(units, units.pairs(decay, units.scale / units.label_sd), unit)


def fine(units: OneEvent) -> Component:
    """The SKCE over ranks of rows with a tenth of the median bandwidth."""
    decay = units.decay(units.shares(units.rows), 0.1)
    return _of_range(units, units.pairs(decay, units.scale), units.total)


def _of_range(units: OneEvent, sums: Summing, unit: float) -> Component:
    """Return sums in a unit, of which the range with the largest gaps is named."""
    return Component(units, sums, over(unit), lambda: units.range_finding)


# ---- of more than two classes, of rows or sums over chunks ---------------------------------------


def class_frequencies(source: Source) -> Component:
    """Sum over classes of the squared standardised differences of frequencies."""
    sums, precision = source.frequencies(), 1.0 / (source.variances + source.steady)

    def finding() -> Finding:
        gap = observed_sums(source, sums)
        k = int(np.argmax(np.square(gap) * precision))
        mean, name = float(sums.expected[k]) / source.mass, source.names[k]
        share = mean + float(gap[k]) / source.mass
        return farthest(f"class {name}", mean, share, f"mean gap of {name}")

    return Component(source, sums, lambda sums: np.square(sums) @ precision, finding)


def class_slopes(source: Source) -> Component:
    """Sum over classes of the squared scores of a level and a slope of the log probability."""
    sums, sd = source.slopes()

    def finding() -> Finding:
        scores = ratio(observed_sums(source, sums), sd)[len(source.names) :]
        k = int(np.argmax(np.abs(scores)))
        name = source.names[k]
        text = f"farthest is class {name}, z = {scores[k]:.3g}; below 0 where it is too extreme"
        return Finding(text, float(scores[k]), f"z of {name}", in_words=False)

    return Component(source, sums, lambda sums: np.square(ratio(sums, sd)).sum(axis=1), finding)


def by_confidence(source: Source) -> Component:
    """Squared scores of a temperature, and of one that rises or falls along the confidence.

    It does so along half a wave over the ranks of the rows, taken at the middles of cells.
    """
    sums, spread, place = source.temperatures()
    slopes = orthonormal(np.cos(np.pi * np.arange(2)[:, None] * place), spread)

    def finding() -> Finding:
        other, _ = source.correcting_temperature(0.0, 0.5)
        surer, named = source.correcting_temperature(0.5, 1.0)
        halves = f"{degrees(surer)} for the surer half of the rows, {degrees(other)} for the other"
        text = f"{named} {halves}"
        return Finding(text, surer, "temperature of the surer half", in_words=False)

    return Component(source, sums, lambda sums: np.square(sums @ slopes.T).sum(axis=1), finding)


def class_curves(source: Source) -> Component:
    """Largest standardised partial sum of a class, over all classes: KS of the farthest class."""
    sums, gaps_of, range_of = source.curves()

    def finding() -> Finding:
        k = int(np.argmax(observed_sums(source, sums)))
        gaps = np.append(0.0, np.cumsum(gaps_of(k)))
        low, high = sorted((int(np.argmin(gaps)), int(np.argmax(gaps))))
        mass, ends = range_of(k, low, high)
        if mass <= 0.0:
            return NO_GAP
        mean, gap = float(sums.expected[k, low:high].sum()) / mass, gaps[high] - gaps[low]
        where, name = f"P({source.names[k]}) {ends}", source.names[k]
        return farthest(where, mean, mean + gap / mass, f"mean gap of {name}")

    return Component(source, sums, lambda sums: sums.max(axis=1), finding)


def confusions(source: Source) -> Component:
    """Sum over pairs of a predicted and another class of squared, damped differences."""
    sums, precision, predicted, seen = source.confusions()
    expected = sums.expected

    def finding() -> Finding:
        observed = seen()
        size = np.square(observed - expected) * precision
        size[expected.sum(axis=1) <= 0.0] = -1.0  # the rows there weigh nothing
        a, k = np.unravel_index(np.argmax(size), size.shape)
        mass = max(float(expected[a].sum()), 1e-300)
        share, mean = float(observed[a, k]) / mass, float(expected[a, k]) / mass
        where = f"P({source.names[k]}) where {source.names[predicted[a]]} is predicted"
        return farthest(where, mean, share, "mean gap of the pair")

    return Component(source, sums, lambda sums: sums, finding)


def ranks(source: Source) -> Component:
    """Chi^2 of how often the label is the most probable class, the second, ..., with covariance."""
    sums, expected, covariance = source.ranks()

    def finding() -> Finding:
        gaps, sd = observed_sums(source, sums), np.sqrt(np.maximum(np.diag(covariance), 0.0))
        r = int(np.argmax(np.abs(ratio(gaps, sd))))
        mean, share = expected[r] / source.mass, (expected[r] + gaps[r]) / source.mass
        last = r == expected.size - 1
        after = f"a class after the {RANKS[r - 1]} probable"
        name = after if last else f"the {RANKS[r]} probable class"
        text = f"{name} has {percent(mean)} on average, {percent(share)} observed"
        return Finding(text, float(share - mean), f"mean gap at rank {r + 1}")

    return Component(source, sums, squared_length(inverse(covariance)), finding)


def kernel_error(source: Source) -> Component:
    """The SKCE with the median bandwidth, by features."""
    sums, unit, pairs = source.kernel()

    def finding() -> Finding:
        return plain("SKCE", float(ratio(observed_sums(source, sums), pairs)))

    return Component(source, sums, over(unit), finding)


BINARY = (
    Kind("level", "level", level),
    Kind("temperature", "temperature", temperature, weight=2.0),
    Kind("belt", "level, slope and curve", belt),
    Kind("kuiper", "Kuiper", kuiper),
    Kind("surprise", "improbable outcomes", surprise),
    Kind("tenths", "tenths of the rows", tenths),
    Kind("waves", "waves over the probability", waves),
    Kind("skce-narrow", "SKCE over ranks, narrow", narrow),
    Kind("skce-fine", "SKCE over ranks, very narrow", fine),
)
SEVERAL = (
    Kind("temperature", "temperature", temperature, weight=2.0),
    Kind("class-frequencies", "class frequencies", class_frequencies, weight=2.0),
    Kind("class-slopes", "class-wise levels and slopes", class_slopes, weight=2.0),
    Kind("class-curves", "class-wise KS, maximum", class_curves, weight=0.5),
    Kind("confusions", "confusions", confusions, weight=0.5),
    Kind("temperature-by-confidence", "temperature along the confidence", by_confidence),
    Kind("confidence-temperature", "confidence, temperature", temperature, "confidence", 0.5),
    Kind("confidence-line", "confidence, level and slope", line, "confidence"),
    Kind("confidence-tenths", "confidence, tenths of the rows", tenths, "confidence"),
    Kind("confidence-waves", "confidence, waves", waves, "confidence"),
    Kind("confidence-fine", "confidence, very narrow kernel over ranks", fine, "confidence", 2.0),
    Kind("ranks", "ranks of the label", ranks, weight=2.0),
    Kind("surprise", "improbable outcomes", surprise, weight=0.5),
    Kind("skce", "SKCE", kernel_error),
)
