"""The components for two classes as functions of the numbers of events in cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.measures.cells import BoundCells, Counts
from caltest.measures.combined.component import loudest_first
from caltest.measures.combined.findings import (
    NO_GAP,
    NO_TEMPERATURE,
    Finding,
    farthest,
    mending_temperature,
    percent,
    points,
    ratio,
)
from caltest.measures.combined.line import (
    LEAST_VARIANCE,
    NO_DECAY_BEYOND,
    SPREAD,
    log_odds,
    median_distance,
    orthonormal,
)
from caltest.measures.combined.surprise import LEAST, LIMITS
from caltest.measures.combined.tails import Combining, scales_of
from caltest.measures.outcome import Part
from caltest.numerics.ends import range_words
from caltest.numerics.labels import resample_keys
from caltest.numerics.loops import map_threads
from caltest.numerics.recursion import exponential_pair_sums
from caltest.scale import Cells

Floats = NDArray[np.float64]

AT_A_TIME = 1 << 20  # numbers of events
STEADY = 0.25  # of a row: keeps the variance of what hardly occurs away from 0


class CellContext:
    """What the components of cells share; it depends on the predictions alone."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.p, self.x = cells.mean, log_odds(cells.mean)
        self.total = float(cells.noise.sum())
        carried = np.cumsum(cells.noise) - 0.5 * cells.noise
        shares = np.cumsum(cells.counts) - 0.5 * cells.counts
        ranks = carried / self.total if self.total > 0 else shares / cells.rows
        self.places = {"log odds": self.x, "ranks": ranks}
        self._decays: dict[tuple[str, float], Floats] = {}

    @property
    def excess(self) -> Floats:
        """Events less the expected ones, (C,)."""
        return np.asarray(self.cells.events - self.cells.expected)

    def decay(self, place: str, bandwidths: float) -> Floats:
        """Return exp(-distance / bandwidth) between neighbours; in units of the median distance."""
        if (place, bandwidths) not in self._decays:
            x, upto = self.places[place], np.cumsum(self.cells.counts)
            rows = np.linspace(0, self.cells.rows - 1, min(SPREAD, self.cells.rows), dtype=int)
            some = x[np.searchsorted(upto, rows, side="right")]
            width = bandwidths * (median_distance(some) or 1.0)
            steps = np.minimum(np.diff(x, prepend=x[0]) / width, NO_DECAY_BEYOND)
            self._decays[place, bandwidths] = np.exp(-steps)
        return self._decays[place, bandwidths]

    @cached_property
    def range_finding(self) -> Finding:
        """Describe the range of probabilities with the largest sum of gaps of observed events."""
        sums = np.append(0.0, np.cumsum(self.excess))
        low, high = sorted((int(np.argmin(sums)), int(np.argmax(sums))))
        if low == high:
            return NO_GAP
        cells, inside = self.cells, self.cells.between(low, high)
        mean, gap = inside.expected.sum() / inside.mass, (sums[high] - sums[low]) / inside.mass
        before = cells.most[low - 1] if low else None
        after = cells.least[high] if high < len(cells) else None
        ends = range_words(before, inside.least[0], inside.most[-1], after)
        return farthest(
            f"P({cells.event}) {ends}", float(mean), float(mean + gap), "mean gap there"
        )


class CellComponent(ABC):
    """A component of cells; see the class of the same key in `binary`."""

    key: ClassVar[str]
    title: ClassVar[str]
    two_sided: ClassVar[bool] = False
    lens: ClassVar[str] = "strong"  # relative to the lens of the test

    def __init__(self, context: CellContext) -> None:
        self.context, self.cells = context, context.cells

    @abstractmethod
    def values(self, excess: Floats) -> Floats:
        """Return the statistic for events less the expected ones, (B, C)."""

    @abstractmethod
    def finding(self) -> Finding:
        """Return what the observed events show."""


class Level(CellComponent):
    """Score of the intercept."""

    key, title = "level", "level"
    two_sided: ClassVar[bool] = True

    def values(self, excess: Floats) -> Floats:
        return ratio(excess.sum(axis=1), np.sqrt(self.context.total))

    def finding(self) -> Finding:
        cells = self.cells
        mean, rate = cells.expected.sum() / cells.mass, cells.events.sum() / cells.mass
        word = "too high" if mean > rate else "too low"
        text = (
            f"P({self.cells.event}) {percent(mean)} on average, {percent(rate)} observed: "
            f"{points(mean - rate)} {word}"
        )
        return Finding(text, float(rate - mean), "event rate - mean prediction")


class Slope(CellComponent):
    """Score of a factor of the log odds."""

    key, title = "temperature", "temperature"
    two_sided: ClassVar[bool] = True

    def __init__(self, context: CellContext) -> None:
        super().__init__(context)
        self.sd = float(np.sqrt(context.cells.noise @ np.square(context.x)))

    def values(self, excess: Floats) -> Floats:
        return ratio(excess @ self.context.x, self.sd)

    def finding(self) -> Finding:
        if self.sd == 0:
            return NO_TEMPERATURE
        cells, x = self.cells, np.tile(self.context.x, 2)
        labels = np.repeat(np.arange(2), len(cells))
        possible = np.concatenate([cells.least < 1.0, cells.most > 0.0])
        counts = possible * np.concatenate([cells.n - cells.events, cells.events])
        temperature = mending_temperature(np.column_stack([0 * x, x]), labels, counts)
        word = "too extreme" if temperature > 1 else "not extreme enough"
        text = f"log odds {word}: temperature {temperature:.3g} mends it"
        return Finding(text, temperature, "temperature")


class Belt(CellComponent):
    """Scores of level, slope and curvature on the log odds."""

    key, title = "belt", "level, slope and curve"

    def __init__(self, context: CellContext) -> None:
        super().__init__(context)
        self.functions = orthonormal(context.x, context.cells.noise)

    def values(self, excess: Floats) -> Floats:
        return np.asarray(np.square(excess @ self.functions.T).sum(axis=1))

    def finding(self) -> Finding:
        scores = self.functions @ self.context.excess
        j = int(np.argmax(np.abs(scores)))
        name = ("level", "slope", "curvature")[j]
        text = f"the {name} is off most (z = {scores[j]:.3g})"
        return Finding(text, float(scores[j]), f"z of {name}", in_words=False)


class PartialSums(CellComponent):
    """Kuiper's statistic, in standard deviations of the whole sum."""

    key, title = "kuiper", "Kuiper"

    def values(self, excess: Floats) -> Floats:
        sums = np.cumsum(excess, axis=1)
        span_ = np.maximum(sums.max(axis=1), 0.0) - np.minimum(sums.min(axis=1), 0.0)
        return ratio(span_, np.sqrt(self.context.total))

    def finding(self) -> Finding:
        return self.context.range_finding


class Surprise(CellComponent):
    """Log of the mean of 1 / sqrt(p) of what happened."""

    key, title = "surprise", "improbable outcomes"

    def __init__(self, context: CellContext) -> None:
        super().__init__(context)
        roots = np.sqrt(np.maximum(np.stack([1.0 - context.p, context.p]), LEAST))
        self.steps = 1.0 / roots[1] - 1.0 / roots[0]
        shares = np.stack([1.0 - context.p, context.p]) / roots
        self.mean = float(context.cells.n @ shares.sum(axis=0))

    def values(self, excess: Floats) -> Floats:
        return np.log1p(ratio(excess @ self.steps, self.mean))

    def finding(self) -> Finding:
        cells, p = self.cells, self.context.p
        event, other = p[:, None] < LIMITS, 1.0 - p[:, None] < LIMITS
        chances = cells.expected @ event + (cells.n - cells.expected) @ other
        happened = cells.events @ event + (cells.n - cells.events) @ other
        steady = STEADY * float(cells.squares.sum()) / cells.rows
        sd = np.sqrt(cells.noise @ (event | other) + steady)
        j = int(np.argmax(np.abs((happened - chances) / sd)))
        mean, share = float(chances[j]) / cells.mass, float(happened[j]) / cells.mass
        text = (
            f"outcomes with probabilities below {percent(LIMITS[j])} have {percent(mean)} on "
            f"average together, {percent(share)} observed"
        )
        return Finding(text, share - mean, f"mean gap of probabilities below {LIMITS[j]:g}")


class LineKernel(CellComponent):
    """The SKCE over log odds or ranks; rows of a cell are in one place."""

    place: ClassVar[str] = "log odds"
    bandwidths: ClassVar[float] = 1.0
    weighted: ClassVar[bool] = False

    def __init__(self, context: CellContext) -> None:
        super().__init__(context)
        variance = np.maximum(context.p * (1.0 - context.p), LEAST_VARIANCE)
        self.scale = 1.0 / np.sqrt(variance) if self.weighted else np.ones(len(context.cells))
        self.unit = float(np.square(self.scale) @ context.cells.noise)

    def values(self, excess: Floats) -> Floats:
        out, decay = np.empty(len(excess)), self.context.decay(self.place, self.bandwidths)
        exponential_pair_sums(decay, self.scale, np.zeros(1), excess, out)
        # Pairs within a cell: its sum squared, less the squares of its rows.
        rows = self.cells.square_residuals(excess)
        within = 0.5 * ((np.square(excess) - rows) @ np.square(self.scale))
        return ratio(out + within, self.unit)

    def finding(self) -> Finding:
        return self.context.range_finding


class OddsKernel(LineKernel):
    """Over log odds, median bandwidth."""

    key, title = "skce", "SKCE over log odds"


class WeightedOddsKernel(LineKernel):
    """The same with each row divided by the standard deviation of its label."""

    key, title = "skce-weighted", "SKCE over log odds and standard deviations"
    weighted: ClassVar[bool] = True


class RankKernel(LineKernel):
    """Over ranks, with a quarter of the median bandwidth."""

    key, title = "skce-narrow", "SKCE over ranks, narrow"
    place: ClassVar[str] = "ranks"
    bandwidths: ClassVar[float] = 0.25
    weighted: ClassVar[bool] = True


CELLS: tuple[type[CellComponent], ...] = (
    Level,
    Slope,
    Belt,
    PartialSums,
    Surprise,
    OddsKernel,
    WeightedOddsKernel,
    RankKernel,
)


class CombinedCells(Combining, BoundCells):
    """The portfolio of two classes, bound to cells, with the scale of each component.

    Parameters
    ----------
    cells : Cells
        Of one event.
    n_references, seed : int
        Numbers of events that the scales are estimated from.
    """

    combines = True
    caution = "statistics at the mean prediction of each cell"

    def __init__(self, cells: Cells, n_references: int, seed: int) -> None:
        super().__init__(cells)
        context = CellContext(cells)
        self.portfolio = [kind(context) for kind in CELLS]
        if not cells.has_equal_weights:
            self.caution = f"{self.caution}, pairs at its mean weight"
        self.parameters = {
            "components": len(self.portfolio),
            "combined by": "log mean of 1 / p over the components",
        }
        keys = resample_keys(seed, n_references)
        step = max(8, AT_A_TIME // cells.drawn)

        def batch(first: int) -> Floats:
            return self.statistics(cells.redrawn(keys[first : first + step]))

        parts = map_threads(batch, [(first,) for first in range(0, n_references, step)], None)
        reference = np.concatenate(list(parts), axis=1)
        self.scales = scales_of(self.portfolio, reference)

    def error(self) -> float | None:
        return super().error() if self.cells.has_equal_weights else None

    def statistics(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        excess = np.ascontiguousarray(labels - self.cells.expected)
        return np.stack([component.values(excess) for component in self.portfolio])

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        return self.combine(self.statistics(labels, n_jobs))

    def combined_parts(self, statistics: Floats) -> tuple[Part, ...]:
        """Return the components, the loudest first; column 0 is that of the observed events."""
        found = [component.finding() for component in self.portfolio]
        return loudest_first(self.portfolio, found, self.scores(statistics), statistics)
