"""Measures of the partial sums of labels minus scores, in the order of the scores."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome
from caltest.predictions import Predictions
from caltest.units import Norm, PartialSums, RowUnits, Statistic, Units
from caltest.units.statistic import Tails

Floats = NDArray[np.float64]
NO_VARIANCE = (
    "all predictions are 0 or 1, so that the labels have no variance to scale by",
    "use scaled=False and null='exact'",
)
RECURSION = "the distribution of partial sums of independent events, by recursion"


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

    def statistic(self, units: Units) -> Statistic:
        units = units.ordered(f"the {self.title}")
        sums, unit = PartialSums(units), units.total
        if self.scaled:
            unit = units.positive(np.sqrt(units.variance), *NO_VARIANCE)

        def error() -> float:
            high, low, highest, lowest = sums.widest
            wider = self.functional(highest, lowest) - self.functional(high, low)
            return float((wider / unit).max())

        return Statistic(
            units=units,
            sums=sums,
            value=lambda extremes: np.asarray(self.functional(*extremes) / unit),
            scale=units.rounding * units.total / unit,
            parameters={"scaled": True} if self.scaled else {},
            error=error,
            norm=None if self.scaled else self._norm(sums),
            blind=units.variance == 0 if self.scaled else None,
            tails=self.tails(units, unit),
            tails_text=RECURSION,
        )

    def tails(self, units: Units, unit: Floats) -> Tails | None:
        """Return the tails of the statistics of many groups, where they are known."""
        return None

    def _norm(self, sums: PartialSums) -> Norm:
        """Return the error as a norm of the partial sums at the end of each step."""

        def gaps(residuals: Floats, mass: Floats) -> Floats:
            return np.asarray(sums.all(residuals) / mass.sum(axis=1, keepdims=True))

        def norm(gaps: Floats) -> Floats:
            extremes = np.maximum(gaps.max(axis=1), 0.0), np.minimum(gaps.min(axis=1), 0.0)
            return np.asarray(self.functional(*extremes))

        return Norm(gaps, norm, mean_gap=partial(self._mean_gap, sums))

    def _mean_gap(self, sums: PartialSums) -> Floats:
        """Return 1 or -1 between the two sums whose difference is the error, else 0."""
        residuals = sums.units.residuals
        ends = np.append(0, np.flatnonzero(sums.ends) + 1)
        first, last, sign = self.span(np.append(0.0, np.cumsum(residuals))[ends])
        inside = np.zeros(residuals.size)
        inside[ends[first] : ends[last]] = sign
        return inside

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the Brownian limit of the value over the standard deviation of the whole sum."""
        found = self.statistic(RowUnits(predictions))
        units, value = found.units, float(found.observed[0])
        variance = units.positive(units.variance, *NO_VARIANCE)
        sd = float((np.sqrt(variance) / units.total)[0])
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

    @property
    def intervals(self) -> tuple[str, ...]:
        return super().intervals if self.scaled else ("convex", *super().intervals)

    @property
    def interval_instead(self) -> str | None:
        return "scaled=False" if self.scaled else None
