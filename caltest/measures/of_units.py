"""A statistic of units as rows, cells, many groups and flipped signs take it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from caltest.measures.bound import BoundMeasure
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.residual_sums import ResidualStatistic, in_parts
from caltest.numerics.joint import tie_tolerance
from caltest.numerics.labels import resample_keys
from caltest.sources import Cells, ManyCells
from caltest.types import Floats, Hashes, Ints, Labels, Order
from caltest.units import CellUnits, RowUnits, Statistic, Sums
from caltest.units.groups import ENOUGH, sequential_pvalues
from caltest.units.sums import Flipped

if TYPE_CHECKING:
    from caltest.measures.base import Measure


class RowStatistic(BoundMeasure):
    """A statistic of rows as a function of their labels."""

    def __init__(self, statistic: Statistic) -> None:
        self.units = cast("RowUnits", statistic.units)
        super().__init__(self.units.predictions)
        self.statistic = statistic
        self.scale = float(np.max(statistic.scale))
        self.parameters, self.notes = statistic.parameters, statistic.notes
        self.degenerate = statistic.degenerate

    @cached_property
    def order(self) -> Order | None:
        return self.units.order

    @cached_property
    def observed(self) -> Labels:
        return cast("Labels", self.units.observed)

    def values(self, labels: Labels) -> Floats:
        return self.statistic.value(self.statistic.sums.redrawn(labels))[:, 0]

    def of_keys(self) -> Callable[[Hashes], Floats] | None:
        sums = self.statistic.sums.of_keys(self._redrawing)
        return None if sums is None else lambda keys: self.statistic.value(sums(keys))[:, 0]

    def value(self) -> float:
        return float(self.statistic.observed[0])

    def estimate(self, value: float) -> float:
        found = self.statistic.estimate
        return value if found is None else float(found(value))


class CellStatistic(BoundCells):
    """A statistic of cells as a function of their numbers of events."""

    statistic: Statistic

    def __init__(self, statistic: Statistic, cells: Cells) -> None:
        super().__init__(cells)
        self.statistic, self.caution = statistic, statistic.caution
        self.scale = float(np.max(statistic.scale))
        self.parameters, self.notes = statistic.parameters, statistic.notes
        self.degenerate = statistic.degenerate

    @property
    def calibrated(self) -> float:
        if self.statistic.score_table is None:
            return self.statistic.calibrated
        return float(self.values(self.cells.expected[np.newaxis])[0])

    def values(self, labels: Counts) -> Floats:
        return self.statistic.values(labels)[:, 0]

    def estimate(self, value: float) -> float:
        found = self.statistic.estimate
        return value if found is None else float(found(value))

    def error(self) -> float | None:
        error = self.statistic.error
        return super().error() if error is None else error()


class BoundGroups:
    """A statistic of the cells of G groups, which are tested in one pass.

    Attributes
    ----------
    many : ManyCells
        The cells.
    blind : (G,) array
        Where the statistic cannot vary: nothing can be seen there, unless a label is impossible.
    error : float, optional
        How far a statistic may be from that of the rows, if it is known.
    parameters : dict
        For print.
    """

    null_text: str = ""
    caution: str = ""  # what cells change where no number says it

    def __init__(self, measure: Measure, many: ManyCells) -> None:
        self.measure, self.many = measure, many
        self.units = CellUnits(many.cells, many.start)
        self.statistic = measure.statistic(self.units)
        self.parameters: Mapping[str, object] = self.statistic.parameters
        blind = self.statistic.blind
        self.blind = np.zeros(len(many), np.bool_) if blind is None else blind
        error = self.statistic.error
        self.error = None if error is None else error()

    def values(self) -> Floats:
        """Return the statistics (G,) of the observed events."""
        return self.statistic.observed

    def pvalues(self, *, n_resamples: int, seed: int) -> Floats:
        """Return the p-values (G,), each exact by itself, and independent of each other."""
        found = self.statistic
        if found.tails is not None:
            self.null_text = found.tails_text
            observed = found.observed
            return found.tails(observed - tie_tolerance(observed, found.scale))
        self.null_text = (
            "numbers of events of cells redrawn from the predictions, until "
            f"{ENOUGH} were as extreme (Besag-Clifford), at most B = {n_resamples:,}, seed = {seed}"
        )
        return sequential_pvalues(
            self.measure.statistic,
            self.units,
            resample_keys(seed, n_resamples),
            two_sided=self.measure.alternative == "two-sided",
        )


class FlippedStatistic(ResidualStatistic):
    """A statistic of rows as a function of the signs of their clusters."""

    def __init__(self, statistic: Statistic) -> None:
        self.statistic = statistic

    def flipped(self, clusters: Ints, count: int) -> Flipped:
        units, value = cast("RowUnits", self.statistic.units), self.statistic.value
        by_cluster = units.by_row, units.in_order(clusters), count
        sums = cast("Sums", self.statistic.sums).flipped(*by_cluster)
        return in_parts(lambda signs: value(sums(signs))[:, 0], clusters.size)
