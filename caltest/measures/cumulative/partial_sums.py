"""Measures of the partial sums of labels minus scores, in the order of the scores."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.base import Labels, Measure, Rows
from caltest.measures.cells import BoundCells, BoundGroups, CellGaps, Counts, ResampledGroups
from caltest.measures.one_dimension import SortedRows, sorted_rows
from caltest.measures.outcome import Gaps, Outcome
from caltest.measures.residual_sums import OrderedSums, ResidualStatistic, event_residuals
from caltest.numerics.crossings import crossing_tails, group_extremes
from caltest.numerics.joint import tie_tolerance
from caltest.numerics.resampled_sums import partial_sums, total_of
from caltest.numerics.sorted_scores import partial_sum_extremes, step_ends, sum_variance
from caltest.predictions import Predictions
from caltest.scale import Cells, ManyCells

Floats = NDArray[np.float64]
LARGE = 1e5  # variance of the number of events from which on tails are those of Brownian motion
NO_VARIANCE = (
    "all predictions are 0 or 1, so that the labels have no variance to scale by",
    "use scaled=False and null='exact'",
)


@dataclass(frozen=True, kw_only=True)
class PartialSumMeasure(Measure):
    """A functional of the partial sums with a Brownian limit."""

    scaled: bool = False

    @staticmethod
    @abstractmethod
    def functional(high: Floats, low: Floats) -> Floats:
        """Return the value from the largest and the smallest partial sum, 0 among them."""

    @staticmethod
    @abstractmethod
    def span(sums: Floats) -> tuple[int, int, float]:
        """Return the sums, 0 the first, whose difference is the value, in order, and its sign."""

    @staticmethod
    @abstractmethod
    def brownian_sf(x: float) -> float:
        """Return the upper tail of the functional of Brownian motion on [0, 1]."""

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "asymptotic")

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundPartialSums:
        return BoundPartialSums(predictions, self)

    def bind_cells(self, cells: Cells) -> CellPartialSums:
        return CellPartialSums(cells, self)

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the Brownian limit of the value over the standard deviation of the whole sum."""
        bound = self.bind(predictions, n_jobs)
        value = bound.value(n_jobs)
        sd = bound.standard_deviation()
        statistic = value if self.scaled else value / sd
        return Outcome(
            statistic_name=self.symbol if self.scaled else f"scaled {self.symbol}",
            statistic=statistic,
            pvalue=self.brownian_sf(statistic),
            estimate=value,
            alternative="greater",
            null_text="Brownian limit; conservative where scores are tied",
            parameters={"standard deviation": sd},
        )

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the functional of the partial sums."""
        bound = self.bind(predictions, n_jobs)
        order, unit = np.asarray(bound.order), bound.unit
        gaps = event_residuals(predictions)[order]

        def function(high: Floats, low: Floats) -> Floats:
            return np.asarray(self.functional(high, low) / unit)

        return [OrderedSums(bound.event, gaps, order, function)]

    @property
    def intervals(self) -> tuple[str, ...]:
        return super().intervals if self.scaled else ("convex", *super().intervals)

    @property
    def interval_instead(self) -> str | None:
        return "scaled=False" if self.scaled else None

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the partial sums, in the order of the scores, at the end of each step."""
        event, labels, weight = sorted_rows(predictions, f"the {self.title}")
        gap, mass, ends = weight * (labels - event), np.array(weight), step_ends(event)

        def vector(rows: Rows) -> Floats:
            return np.asarray(partial_sums(rows, gap, ends) / total_of(rows, mass))

        def norm(gaps: Floats) -> float:
            extremes = np.array([max(gaps.max(), 0.0)]), np.array([min(gaps.min(), 0.0)])
            return float(self.functional(*extremes)[0])

        return Gaps(event.size, vector, norm)

    def mean_gap_tables(self, predictions: Predictions) -> Sequence[Floats]:
        """Return the gaps of the rows between the two sums whose difference is the error."""
        event, labels, weight = sorted_rows(predictions, f"the {self.title}")
        ends = np.append(0, np.flatnonzero(step_ends(event)) + 1)
        sums = np.append(0.0, np.cumsum(weight * (labels - event)))[ends]
        first, last, sign = self.span(sums)
        p = predictions.probs[:, 1]
        inside = (p >= event[ends[first]]) & (p <= event[ends[last] - 1]) & (last > first)
        return (np.asarray((sign * inside)[:, None] * (np.arange(2.0) - p[:, None])),)


class BoundPartialSums(SortedRows):
    """The partial sums, bound to sorted scores; the labels follow their order."""

    def __init__(self, predictions: Predictions, measure: PartialSumMeasure) -> None:
        super().__init__(predictions, f"the {measure.title}")
        self.measure = measure
        self._ends = step_ends(self.event)
        self.parameters = {"scaled": True} if measure.scaled else {}
        self._unit = self.standard_deviation() if measure.scaled else 1.0
        # Rounding errors of a sum grow as a random walk.
        self.scale = max(1.0, 0.1 * math.sqrt(predictions.n)) / self._unit

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        high, low = partial_sum_extremes(labels, self.weight, self.event, self._ends)
        values = self.measure.functional(high, low)
        return np.asarray(values / self.unit)

    @property
    def unit(self) -> float:
        """What the functional of the partial sums is divided by."""
        return float(self.weight.sum() * self._unit)

    def standard_deviation(self) -> float:
        r"""Return :math:`\sqrt{\sum_i w_i^2 p_i (1 - p_i)} / \sum_i w_i`, which must not be 0."""
        sd = math.sqrt(sum_variance(self.event, self.weight)) / float(self.weight.sum())
        if sd == 0:
            raise NotApplicable(*NO_VARIANCE)
        return sd


class CellPartialSums(BoundCells):
    """The partial sums at the ends of cells, between which those of the rows are near."""

    def __init__(self, cells: Cells, measure: PartialSumMeasure) -> None:
        super().__init__(cells)
        self.measure = measure
        self.unit = cells.mass
        if measure.scaled:
            self.parameters = {"scaled": True}
            self.unit = math.sqrt(float(cells.noise.sum()))
            if self.unit == 0:
                raise NotApplicable(*NO_VARIANCE)
        self.scale *= cells.mass / self.unit

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        sums = np.cumsum(labels - self.cells.expected, axis=1)
        high, low = np.maximum(sums.max(axis=1), 0.0), np.minimum(sums.min(axis=1), 0.0)
        return np.asarray(self.measure.functional(high, low) / self.unit)

    def gaps(self) -> CellGaps | None:
        if self.measure.scaled:
            return None
        mean = self.cells.mean

        def vector(events: Floats, others: Floats) -> Floats:
            sums = np.cumsum(events * (1.0 - mean) - others * mean, axis=1)
            return np.asarray(sums / (events + others).sum(axis=1, keepdims=True))

        def norm(gaps: Floats) -> Floats:
            high, low = np.maximum(gaps.max(axis=1), 0.0), np.minimum(gaps.min(axis=1), 0.0)
            return np.asarray(self.measure.functional(high, low))

        sums = np.append(0.0, np.cumsum(self.cells.events - self.cells.expected))
        first, last, sign = self.measure.span(sums)
        inside = np.zeros(len(self.cells))
        inside[first:last] = sign
        return CellGaps(vector, norm, inside * np.stack([-mean, 1.0 - mean]))

    def error(self) -> float:
        """Bound what partial sums inside of cells may add.

        From the start of a cell a sum rises by its events at most, and falls to its end by the
        expected ones at most. Equal predictions have no sum between them.
        """
        cells = self.cells
        events, expected = cells.events, cells.expected
        end = np.cumsum(events - expected)
        start = end - (events - expected)
        high = np.where(cells.is_point, end, np.minimum(start + events, end + expected))
        low = np.where(cells.is_point, end, np.maximum(start - expected, end - events))
        widest = np.array([max(high.max(), 0.0)]), np.array([min(low.min(), 0.0)])
        return float(self.measure.functional(*widest)[0] / self.unit - self.value())


class GroupPartialSums(BoundGroups):
    """The extremes of the partial sums of many groups, at the ends of cells."""

    def __init__(self, many: ManyCells, measure: PartialSumMeasure) -> None:
        unit = np.sqrt(many.variance) if measure.scaled else many.n.astype(np.float64)
        super().__init__(many, unit)
        self.measure = measure
        self.parameters = {"scaled": True} if measure.scaled else {}
        cells = many.cells
        high, low, highest, lowest = group_extremes(
            many.start, cells.events, cells.expected, cells.is_point, 1
        )
        self.sums = measure.functional(high, low)
        self.error = float(((measure.functional(highest, lowest) - self.sums) / self.unit).max())

    def values(self, n_jobs: int | None = None) -> Floats:
        return np.asarray(self.sums / self.unit)


class LargestSums(GroupPartialSums):
    """The largest partial sums, whose tails are exact by recursion.

    Where the number of events has a variance above 10^5, they are those of Brownian motion, which
    are larger by up to 1 %, since sums are looked at between cells only.
    """

    null_text = "the distribution of partial sums of independent events, by recursion"

    def pvalues(self, *, n_resamples: int, seed: int, n_jobs: int | None) -> Floats:
        cells, rows = self.many.cells, self.many.n
        reach = self.sums - tie_tolerance(self.sums / rows, self.scale) * rows
        large = np.flatnonzero(self.many.variance > LARGE)
        exact = np.where(self.many.variance > LARGE, -1.0, reach)  # left out at once
        found = crossing_tails(self.many.start, cells.n, cells.expected, exact, n_jobs)
        sd = np.sqrt(self.many.variance[large])
        limits = map(self.measure.brownian_sf, (reach[large] / sd).tolist())
        found[large] = np.fromiter(limits, dtype=np.float64, count=large.size)
        return found


class RangesOfSums(GroupPartialSums):
    """The ranges of the partial sums, compared with redrawn ones."""

    def pvalues(self, *, n_resamples: int, seed: int, n_jobs: int | None) -> Floats:
        redrawn = ResampledGroups.ranges(self.many, self.unit)
        pvalues = redrawn.pvalues(n_resamples=n_resamples, seed=seed, n_jobs=n_jobs)
        self.null_text = redrawn.null_text
        return pvalues
