"""Sums over units, the only loops of a statistic: of what is redrawn, and of flipped residuals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.crossings import group_extremes
from caltest.numerics.sorted_scores import partial_sum_extremes
from caltest.units.units import CellUnits, Observed, Units

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flipped = Callable[[Floats], Floats]  # signs (B, C) of the clusters -> (B,), or sums of them

AT_A_TIME = 1 << 22  # numbers in a temporary array


class UnitSums(ABC):
    """What a statistic needs of the observations of units, of each group by itself.

    Parameters
    ----------
    units : Units
        The units.
    """

    def __init__(self, units: Units) -> None:
        self.units = units

    @abstractmethod
    def redrawn(self, observed: Observed) -> Any:
        """Return the sums for what is observed, (B, U)."""

    def observed(self) -> Any:
        """Return the sums for what was observed, with B = 1, which may be known in another way."""
        return self.redrawn(self.units.observed[np.newaxis])


class Sums(UnitSums):
    """Sums over the residuals of units, of each group by itself."""

    @abstractmethod
    def of(self, observed: Observed, scale: Floats, shift: Floats) -> Any:
        """Return the sums of `scale` (e - `shift`): an array whose last axes are B and G.

        Parameters
        ----------
        observed : (B, U) array
            What is observed, e; or signs.
        scale, shift : (U,) array
            Those of the units; or the residuals whose signs are flipped, and 0.
        """

    def redrawn(self, observed: Observed) -> Any:
        return self.of(observed, self.units.scale, self.units.shift)

    def flipped(self, residuals: Floats, clusters: Ints, count: int) -> Callable[[Floats], Any]:
        """Return the sums of residuals whose signs (B, count) are flipped by cluster.

        Parameters
        ----------
        residuals : (U,) array
            The residuals of the units.
        clusters : (U,) array
            The cluster of each unit, 0 to `count` - 1.
        count : int
            The number of clusters.
        """
        zero, step = np.zeros(clusters.size), max(8, AT_A_TIME // clusters.size)

        def sums(signs: Floats) -> Any:
            parts = (signs[b : b + step, clusters] for b in range(0, len(signs), step))
            found = [self.of(np.ascontiguousarray(part), residuals, zero) for part in parts]
            return np.concatenate(found, axis=-2)

        return sums


class PartialSums(Sums):
    """The largest and the smallest partial sum, 0 among them, (2, B, G).

    Sums end where no further unit has the same prediction.
    """

    def __init__(self, units: Units) -> None:
        super().__init__(units)
        self.ends = units.ends
        self.at = np.flatnonzero(self.ends)

    def of(self, observed: Observed, scale: Floats, shift: Floats) -> Floats:
        given = scale, shift, self.ends, self.units.start
        return np.asarray(partial_sum_extremes(observed, *given))

    def all(self, values: Floats) -> Floats:
        """Return all partial sums (B, K) of values (B, U), of one group."""
        sums = np.cumsum(values, axis=1)
        return sums if self.at.size == sums.shape[1] else sums.take(self.at, axis=1)

    @property
    def widest(self) -> Floats:
        """The extremes of what was observed, and what those between rows cannot exceed, (4, G)."""
        cells = cast("CellUnits", self.units).cells
        given = cells.events, cells.expected, cells.is_point
        return group_extremes(self.units.start, *given, 1)
