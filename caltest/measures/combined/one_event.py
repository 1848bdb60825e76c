"""One event: rows or cells in ascending order of its probability, and sums over these."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from caltest.measures import residual_sums as flips
from caltest.measures.combined import component
from caltest.measures.combined.component import Function, Observed, Summing, percent, points
from caltest.measures.combined.loops import bin_sums, median_distance
from caltest.measures.residual_sums import ResidualStatistic
from caltest.numerics.class_sums import residual_sums
from caltest.numerics.ends import range_words
from caltest.numerics.joint import cleared
from caltest.numerics.logistic import clipped_log_odds
from caltest.numerics.loops import blocks
from caltest.numerics.recursion import exponential_pair_sums
from caltest.numerics.sorted_scores import partial_sum_extremes, step_ends
from caltest.sources import Cells
from caltest.types import Flags, Floats, Ints, Labels, Order

LEAST_PROB = 1e-15  # of log odds
LEAST_VARIANCE = 1e-4  # a row's: bounds what one row contributes to a weighted kernel
Functions = Callable[[slice], Floats]  # of some units, (J, u)
SPREAD = 600  # rows between which the median distance is taken
NO_DECAY_BEYOND = 800.0
BINS = 10
BLOCK = 1 << 15  # units at a time


class OneEvent:
    """Units in ascending order of the probability of an event: rows, whose events are observed.

    The residuals are ``scale * (observed - shift)``.

    Parameters
    ----------
    name : str
        What is probable, for print.
    p, q : (U,) array
        Mean probabilities of the event, and that it does not happen.
    weight : (U,) array
        The sums of the weights of the rows.
    happens : (U,) array
        Whether the event was observed.
    order : (U,) array
        The rows of the predictions in the order of the units.

    Attributes
    ----------
    least, most : (U,) array
        Its smallest and its largest probability in a unit.
    rows : (U,) array
        The number of rows.
    noise : (U,) array
        The variance of the weight of events.
    ends : (U,) array
        Whether a unit is the last of those with its probability.
    possible : pair of (U,) arrays
        Whether the event can fail to happen, and whether it can happen.
    scale, shift : (U,) array
        What turns that which is observed into residuals.
    steady : float
        What keeps the variance of what hardly occurs away from 0.
    """

    too_extreme = ("log odds too extreme", "log odds not extreme enough")

    def __init__(
        self, name: str, p: Floats, q: Floats, weight: Floats, happens: Flags, order: Order
    ) -> None:
        self.name, self.p, self.q, self.happens = name, p, q, happens
        self.order: Order | None = order
        self.least = self.most = self.shift = p
        self.weight = self.scale = weight
        self.rows: Ints = np.broadcast_to(np.int64(1), p.size)
        self.noise = np.square(weight) * (p * (1.0 - p))
        self.ends, self.possible = step_ends(p), (q > 0.0, p > 0.0)
        self.steady = component.STEADY * float(np.mean(np.square(weight)))

    @property
    def events(self) -> Floats:
        """The observed weight of events of each unit."""
        return self.weight * self.happens

    @property
    def observed(self) -> Observed:
        """What was observed, as one row of many."""
        return self.happens[None].astype(np.uint8)

    def read(self, labels: Observed) -> Observed:
        """Return what is observed where the labels are these."""
        return labels

    def source(self, lens: str) -> OneEvent:
        """Return the units themselves, under every lens."""
        return self

    def sums_of(self, slopes: Floats, observed: Observed) -> Floats:
        """Return the sums of slopes (J, U) times what was observed less the shift, (B, J)."""
        return residual_sums(observed, self.shift, slopes)

    def within(self, observed: Observed, scale: Floats) -> Floats | float:
        """Return the sum over pairs of rows of one unit of their residuals times the scales."""
        return 0.0

    @property
    def expected(self) -> Floats:
        """The expected weight of events of each unit."""
        return self.weight * self.p

    @property
    def gaps(self) -> Floats:
        """What was observed less the shift."""
        return np.asarray(self.observed[0] - self.shift)

    @cached_property
    def mass(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())

    @cached_property
    def total(self) -> float:
        """The variance of the weight of all events."""
        return float(self.noise.sum())

    @property
    def rates(self) -> tuple[float, float]:
        """The mean probability, and the share of events that was observed."""
        return float(self.expected.sum()) / self.mass, float(self.events.sum()) / self.mass

    @cached_property
    def log_odds(self) -> Floats:
        """The log odds of the event."""
        return clipped_log_odds(self.p, LEAST_PROB)

    def powers(self, count: int) -> Functions:
        """Return the powers of the log odds from 0 on."""
        return lambda some: np.vander(self.log_odds[some], count, increasing=True).T

    @property
    def ranks(self) -> Floats:
        """The shares of the variance, or of the rows, that are below; equal ones share a middle."""
        return self.shares(self.noise if self.total > 0 else self.rows)

    def shares(self, size: Floats | Ints) -> Floats:
        """Return the shares of a size that are below; equal probabilities share a middle."""
        carried = np.cumsum(size)  # in place, since there may be millions
        upto = np.append(0.0, carried[self.ends] / carried[-1])
        del carried
        number: Ints = np.cumsum(self.ends)
        number -= self.ends
        out = upto[number]
        number += 1
        out += upto[number]
        out *= 0.5
        return np.asarray(out)

    @property
    def label_sd(self) -> Floats:
        """The standard deviation of the label of a row, at least 0.01."""
        return np.sqrt(np.maximum(self.p * (1.0 - self.p), LEAST_VARIANCE))

    def decay(self, place: Floats, bandwidths: float) -> Floats:
        """Return exp(-distance / bandwidth) between neighbours; in units of the median distance."""
        upto = np.cumsum(self.rows)
        some = np.linspace(0, upto[-1] - 1, min(SPREAD, int(upto[-1])), dtype=int)
        near = place[np.searchsorted(upto, some, side="right")]
        width = bandwidths * (median_distance(near) or 1.0)
        apart = np.diff(place, prepend=place[0])
        apart /= width
        np.negative(np.minimum(apart, NO_DECAY_BEYOND, out=apart), out=apart)
        return np.exp(apart, out=apart)

    def linear(self, slope: Floats) -> Summing:
        """Return the sum of a slope (U,) times the residuals."""
        slope = slope * self.scale
        return Summing(
            lambda observed: self.sums_of(slope[None], observed)[:, 0],
            lambda _: flips.robust_z(slope * self.gaps),
        )

    def temperature(self) -> tuple[Summing, float]:
        """Return the score of a factor of the log odds, and its standard deviation."""
        return self.linear(self.log_odds), float(np.sqrt(self.noise @ np.square(self.log_odds)))

    def correcting_temperature(self) -> tuple[float, str]:
        """Return the temperature that corrects the probabilities, and how to call it."""
        count = np.concatenate([self.weight - self.events, self.events])
        kept = np.flatnonzero((count > 0) & np.concatenate(self.possible))
        labels, units = np.divmod(kept, self.p.size)
        x = self.log_odds[units]  # logs of p, but for a constant a row
        logs = np.column_stack([np.zeros_like(x), x])
        return component.correcting_temperature(logs, labels, count[kept]), "temperature"

    def bins(self) -> tuple[Summing, Floats, Ints]:
        """Return sums over bins of as many rows, their variances, and where bins begin and end."""
        number = np.minimum((BINS * self.shares(self.rows)).astype(np.int64), BINS - 1)
        limits = np.searchsorted(number, np.arange(BINS + 1))
        noise = np.asarray(np.bincount(number, self.noise, BINS), np.float64)
        sums = Summing(
            lambda observed: bin_sums(observed, self.shift, self.scale, limits),
            lambda f: flips.of_cells(number, self.scale * self.gaps, BINS, f),
        )
        return sums, noise, limits.astype(np.int64)

    def scores(self, functions: Functions) -> tuple[Summing, Floats]:
        """Return the sums of functions of units times the residuals, and their precision.

        Here the functions are made orthonormal.
        """
        slopes = component.orthonormal(functions(slice(None)), self.noise)
        slopes *= self.scale

        sums = Summing(
            partial(self.sums_of, slopes),
            lambda function: flips.of_terms((slopes * self.gaps).T, function),
        )
        return sums, np.eye(len(slopes))

    def extremes(self) -> Summing:
        """Return the largest less the smallest partial sum of the residuals."""

        def ranges(observed: Observed, scale: Floats, shift: Floats) -> Floats:
            given = scale, shift, self.ends, np.array([0, self.p.size])
            high, low = partial_sum_extremes(observed, *given)[..., 0]
            return np.asarray(high - low)

        return self.in_order(ranges, self.scale)

    def pairs(self, decay: Floats, scale: Floats) -> Summing:
        """Return the sum over pairs of their residuals, times scales and a kernel."""

        def sums(observed: Observed, scale: Floats, shift: Floats) -> Floats:
            out = np.empty(len(observed))
            exponential_pair_sums(decay, scale, shift, observed, out)
            return np.asarray(out + self.within(observed, scale))

        return self.in_order(sums, scale)

    def in_order(self, function: Callable[..., Floats], scale: Floats) -> Summing:
        """Return a function of what was observed, a scale and a shift, or of signs and gaps."""

        def signed(_: Function) -> ResidualStatistic:
            gaps, zero = scale * self.gaps, np.zeros(self.p.size)
            of_signs = partial(flips.of_rows, lambda signs: function(signs, gaps, zero))
            return ResidualStatistic(lambda clusters, _: of_signs(clusters))

        return Summing(lambda seen: function(seen, scale, self.shift), signed)

    def roots(self) -> tuple[Summing, float]:
        """Return the sum of 1 / sqrt(p) of what happens, less its mean, and the mean."""
        happens, fails = (1.0 / np.sqrt(np.maximum(x, component.LEAST)) for x in (self.p, self.q))
        mean = float(self.weight @ (self.p * happens + self.q * fails))
        return self.linear(happens - fails), mean

    def below(self, limits: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the weight of outcomes less probable than limits: expected, observed, variance."""
        event, other = self.p[:, None] < limits, self.q[:, None] < limits
        chances = self.expected @ event + (self.weight * self.q) @ other
        happened = self.events @ event + (self.weight - self.events) @ other
        return chances, happened, self.noise @ (event | other)

    @cached_property
    def range_finding(self) -> component.Finding:
        """Describe the range of probabilities with the largest sum of gaps of observed events."""
        places = np.append(0, np.flatnonzero(self.ends) + 1)
        sums = np.append(0.0, np.cumsum(self.events - self.expected))[places]
        low, high = sorted((int(np.argmin(sums)), int(np.argmax(sums))))
        return self.gap_finding(int(places[low]), int(places[high]))

    @property
    def level_finding(self) -> component.Finding:
        """Describe the mean probability and the share of events."""
        mean, rate = self.rates
        text = f"{self.name} {percent(mean)} on average, {percent(rate)} observed"
        if excess := float(cleared(mean - rate, 1.0)):
            text += f": {points(excess)} too {'high' if excess > 0 else 'low'}"
        return component.Finding(text, rate - mean, "event rate - mean prediction")

    def gap_finding(self, first: int, stop: int) -> component.Finding:
        """Describe the gap of observed events of some units, `stop` not among them."""
        if first == stop:
            return component.NO_GAP
        mass = max(float(self.weight[first:stop].sum()), 1e-300)
        mean = float(self.expected[first:stop].sum()) / mass
        gap = float(self.events[first:stop].sum()) / mass - mean
        before = self.most[first - 1] if first else None
        after = self.least[stop] if stop < self.p.size else None
        where = f"{self.name} {range_words(before, self.least[first], self.most[stop - 1], after)}"
        return component.farthest(where, mean, mean + gap, "mean gap there")


class HitRows(OneEvent):
    """Rows in ascending order of the confidence; the event is that the predicted class is right."""

    too_extreme = (
        "log odds of the confidence too extreme",
        "log odds of the confidence not extreme enough",
    )

    def __init__(self, top: Labels, p: Floats, weight: Floats, labels: Ints) -> None:
        self.rank = order = np.argsort(p, kind="stable")
        self.top, ordered = top[order], p[order]
        happens = labels[order] == self.top
        super().__init__("the confidence", ordered, 1.0 - ordered, weight[order], happens, order)

    def read(self, labels: Observed) -> Observed:
        return (np.take(labels, self.rank, axis=1) == self.top).view(np.uint8)


class ObservedRows(OneEvent):
    """Rows whose observed labels are all that is asked for: no functions of them are kept whole."""

    def scores(self, functions: Functions) -> tuple[Summing, Floats]:
        residuals, found = self.scale * self.gaps, []
        for some in blocks(self.p.size, BLOCK):
            part = functions(some)
            gram = (part * self.noise[some]) @ part.T
            found.append(np.column_stack([gram, part @ residuals[some]]))
        *gram, sums = np.sum(found, axis=0).T
        # Few numbers with the same products stand for each function; its sum has no weight.
        sizes, axes = np.linalg.eigh(np.array(gram))
        few = np.column_stack([axes * np.sqrt(np.maximum(sizes, 0.0)), sums])
        scores = component.orthonormal(few, np.append(np.ones(sizes.size), 0.0))[:, -1]
        return Summing(lambda _: scores[None]), np.eye(sizes.size)


class ObservedHits(HitRows, ObservedRows):
    """The same in ascending order of the confidence."""


class EventCells(OneEvent):
    """Cells: what is observed are their events less the expected ones.

    Parameters
    ----------
    cells : Cells
        Of one event.
    """

    order = None

    def __init__(self, cells: Cells) -> None:
        self.cells, self.name = cells, f"P({cells.event})"
        self.p, self.q = cells.mean, 1.0 - cells.mean
        self.least, self.most = cells.least, cells.most
        self.rows, self.weight = cells.counts, np.asarray(cells.n, np.float64)
        self.noise, self.ends = cells.noise, step_ends(self.p)
        self.possible = self.least < 1.0, self.most > 0.0
        self.scale, self.shift = np.ones(len(cells)), np.zeros(len(cells))
        self.steady = component.STEADY * float(cells.squares.sum()) / cells.rows

    @property
    def events(self) -> Floats:
        return np.asarray(self.cells.events, np.float64)

    @property
    def observed(self) -> Observed:
        return self.read(self.events[None])

    def read(self, labels: Observed) -> Observed:
        return np.ascontiguousarray(labels - self.cells.expected)

    def sums_of(self, slopes: Floats, observed: Observed) -> Floats:
        return np.column_stack([observed @ slope for slope in slopes])

    def within(self, observed: Observed, scale: Floats) -> Floats:
        # The sum of a cell squared, less the squares of its rows.
        squares = np.square(scale)
        rows = observed @ (self.cells.slope * squares) + self.noise @ squares
        return np.asarray(0.5 * (np.square(observed) @ squares - rows))
