"""The portfolio of one event for very many groups of cells, which are tested in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caltest.measures.combined.one_event import BINARY, EventGroups
from caltest.measures.combined.tails import (
    parameters_of,
    reference_keys,
    scales_of,
    scores_of,
)
from caltest.measures.of_units import BoundGroups, redrawn_text
from caltest.numerics.cell_counts import draw_counts
from caltest.numerics.joint import log_mean_exp
from caltest.numerics.labels import resample_keys, row_hashes
from caltest.sources import ManyCells
from caltest.types import Flags, Floats, Hashes, Ints
from caltest.units import CellUnits, Statistic
from caltest.units.groups import ENOUGH, Make, sequential_pvalues
from caltest.units.sums import UnitSums
from caltest.units.units import Observed

if TYPE_CHECKING:
    from caltest.measures.base import Measure

AT_A_TIME = 1 << 17  # numbers of events redrawn at a time, for the scales
LEAST = 8  # resamples at a time
FIRST = 999  # resamples of all groups
GROWTH = 4  # times as many for those whose statistics are rare
WORK = 7 * 10**8  # numbers of events that are redrawn for more resamples than the first
FEW, SHARE = 50, 0.05  # of groups, and of all after the first resamples, that go on beyond that ...
NEEDED = 40  # ... up to so many resamples for each group there is: Holm's p is at most 1 / 40


class PortfolioSums(UnitSums):
    """The components of each group, (K, B, G)."""

    def __init__(self, units: CellUnits) -> None:
        super().__init__(units)
        self.source = EventGroups(units.cells, units.start)
        self.portfolio = [kind.of(self.source.source) for kind in BINARY]

    def redrawn(self, observed: Observed) -> Floats:
        read = self.source.read(observed)
        return np.stack([component.values(read) for component in self.portfolio])


class CombinedGroups(BoundGroups):
    """The portfolio of one event, bound to the cells of very many groups.

    The scales of the components of a group are those of the group tested alone, so that the
    statistic is; its redrawn labels are others.
    """

    per_group = 1000
    in_all = 4_000_000

    @property
    def most_resamples(self) -> int:
        return max(super().most_resamples, NEEDED * len(self.many))

    def __init__(self, measure: Measure, many: ManyCells, scale: float) -> None:
        self.measure, self.many, self.scale = measure, many, scale
        self.units = CellUnits(many.cells, many.start)
        self.parameters = parameters_of(BINARY)
        self.blind = np.zeros(len(many), np.bool_)
        self.error = 0.0 if many.cells.is_point.all() else None
        self.hashes, self.observed = row_hashes(many.numbers), np.full(len(many), np.nan)

    def values(self, n_jobs: int | None = None) -> Floats:
        """Return the statistics (G,) of the observed events."""
        if np.isnan(self.observed).all():  # p-values were not asked for
            self._redrawn(np.ones(len(self.many), np.bool_), resample_keys(0, 1), n_jobs)
        return self.observed

    def pvalues(self, *, n_resamples: int, seed: int, n_jobs: int | None) -> Floats:
        """Return the p-values (G,), each exact by itself, and independent of each other.

        Besag and Clifford's with at most B resamples, where B grows until no group goes on, to
        `n_resamples`, or as far as the work allows. A few go on until Holm's method can reject one
        of them. How long the groups that go on do so depends on how many others do, not on their
        own statistics: the p-values stay valid.
        """
        B = min(FIRST, n_resamples)
        running = np.ones(len(self.many), np.bool_)
        pvalues, work, sizes = np.empty(running.size), 0, np.diff(self.units.start)
        while running.any():
            pvalues[running] = self._redrawn(running, resample_keys(seed, B), n_jobs)
            self.null_text = redrawn_text(self.many, B, seed)
            running = pvalues <= ENOUGH / (1.0 + B)
            more = min(GROWTH * B, n_resamples)
            work += more * int(sizes[running].sum())
            many = np.count_nonzero(running) > FEW + SHARE * running.size * FIRST / B
            if n_resamples == B or (work > WORK and (many or NEEDED * running.size <= B)):
                break
            B = more
        return pvalues

    def _redrawn(self, groups: Flags, keys: Hashes, n_jobs: int | None) -> Floats:
        """Return the p-values of some of the groups, and keep their statistics."""
        every = np.ones(len(self.units.cells), np.bool_)
        units, kept = (self.units, every) if groups.all() else self.units.some(groups)
        number, observed = row_hashes(np.flatnonzero(kept)), np.empty(units.start.size - 1)
        own = self.hashes[kept]

        def begin(several: CellUnits, first: int) -> Make:
            at = units.start[first]
            make = self._make(several, own[at : at + len(several.cells)])
            some = np.arange(several.start.size - 1)
            observed[first : first + some.size] = make(several, some).observed
            return make

        pvalues = sequential_pvalues(
            begin, units, keys, two_sided=False, n_jobs=n_jobs, hashes=number
        )
        self.observed[groups] = observed
        return pvalues

    def _make(self, units: CellUnits, hashes: Hashes) -> Make:
        """Estimate the scales of groups; return what makes the statistic of some of them."""
        sums, keys = PortfolioSums(units), reference_keys()
        step = max(LEAST, AT_A_TIME // hashes.size)
        reference = [
            sums.redrawn(draw_counts(units.cells.law, hashes, keys[k : k + step]))
            for k in range(0, keys.size, step)
        ]
        scales = scales_of(sums.portfolio, np.concatenate(reference, axis=1))

        def make(some: CellUnits, groups: Ints) -> Statistic:
            own = [scale.taken(groups) for scale in scales]
            return Statistic(
                units=some,
                sums=sums if some is units else PortfolioSums(some),
                value=lambda components: log_mean_exp(scores_of(own, components)),
                scale=self.scale,
            )

        return make
