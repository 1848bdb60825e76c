"""Measures of the partial sums of labels minus scores, in the order of the scores."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.base import BoundMeasure, Labels, Limit, Measure
from caltest.measures.one_dimension import sorted_rows
from caltest.numerics.labels import draw_events, event_table
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

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Limit:
        """Return the Brownian limit of the value over the standard deviation of the whole sum."""
        bound = self.bind(predictions, n_jobs)
        value = bound.value(n_jobs)
        sd = bound.standard_deviation()
        estimate, statistic = (value, value) if self.scaled else (value, value / sd)
        law = "Brownian limit; conservative where scores are tied"
        parameters = {"standard deviation": sd}
        name = self.symbol if self.scaled else f"scaled {self.symbol}"
        return Limit(name, statistic, self.brownian_sf(statistic), estimate, law, parameters)


class BoundPartialSums(BoundMeasure):
    """The partial sums, bound to sorted scores; the labels follow their order."""

    def __init__(self, predictions: Predictions, measure: PartialSumMeasure) -> None:
        super().__init__(predictions)
        self.measure = measure
        self.event, self._observed, self.weight = sorted_rows(predictions, f"the {measure.title}")
        self._ends = step_ends(self.event)
        self.parameters = {"scaled": True} if measure.scaled else {}
        self._unit = self.standard_deviation() if measure.scaled else 1.0
        # Rounding errors of a sum grow as a random walk.
        self.scale = max(1.0, 0.1 * math.sqrt(predictions.n)) / self._unit

    @property
    def observed(self) -> Labels:
        return self._observed

    @property
    def label_probs(self) -> Floats:
        return event_table(self.event)

    def redraw(self, rng: np.random.Generator, size: int) -> Labels:
        return draw_events(self.event, rng, size)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        high, low = partial_sum_extremes(labels, self.weight, self.event, self._ends)
        values = self.measure.functional(high, low)
        return np.asarray(values / (self.weight.sum() * self._unit))

    def standard_deviation(self) -> float:
        r"""Return :math:`\sqrt{\sum_i w_i^2 p_i (1 - p_i)} / \sum_i w_i`, which must not be 0."""
        sd = math.sqrt(sum_variance(self.event, self.weight)) / float(self.weight.sum())
        if sd == 0:
            raise NotApplicable(
                "all predictions are 0 or 1, so that the labels have no variance to scale by; "
                "use scaled=False and null='exact'"
            )
        return sd
