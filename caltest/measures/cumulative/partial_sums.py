"""Measures of the partial sums of labels minus scores, in the order of the scores."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.base import Gaps, Labels, Measure, Outcome, Rows
from caltest.measures.one_dimension import SortedRows, sorted_rows
from caltest.measures.residual_sums import OrderedSums, ResidualStatistic, event_residuals
from caltest.numerics.resampled_sums import partial_sums, total_of
from caltest.numerics.sorted_scores import partial_sum_extremes, step_ends, sum_variance
from caltest.predictions import Predictions

Floats = NDArray[np.float64]


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
    def brownian_sf(x: float) -> float:
        """Return the upper tail of the functional of Brownian motion on [0, 1]."""

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "asymptotic")

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundPartialSums:
        return BoundPartialSums(predictions, self)

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
            raise NotApplicable(
                "all predictions are 0 or 1, so that the labels have no variance to scale by",
                "use scaled=False and null='exact'",
            )
        return sd
