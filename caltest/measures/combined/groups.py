"""The portfolio of one event for very many groups: few redrawn labels, more for small p-values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from caltest.measures.base import REGISTRY
from caltest.measures.combined.component import BINARY, combine
from caltest.measures.combined.tails import parameters_of
from caltest.measures.of_units import BoundGroups
from caltest.numerics.joint import ROUNDING, tail_scores
from caltest.numerics.labels import resample_keys
from caltest.numerics.loops import map_threads
from caltest.sources import ManyCells
from caltest.types import Floats, Ints

if TYPE_CHECKING:
    from caltest.measures.base import Measure

FIRST, SECOND = 299, 4999  # redrawn labels of all groups, and of those with a small p-value
SMALL, SMALLER = 0.02, 0.001  # the largest p-values that are found anew
WORK = 2 * 10**9  # labels that are redrawn beyond, at most
AT_A_TIME = 1 << 19  # labels


class CombinedGroups(BoundGroups):
    r"""The portfolio of one event, bound to each of very many groups.

    The statistic of a group is that of the group by itself. Its p-value comes in stages: that of B
    redrawn labels, and if it is small, one of more and fresh ones in its place, twice. In a stage
    each component is ranked among its B + 1 values, the observed one among them, and so is the
    combination of these ranks, so that the p-value of a stage, :math:`p_s`, is exact. The one that
    stays is exact too: with :math:`c_s` the largest p-value of stage s that is found anew, it is at
    most t, for :math:`c_s \le t < c_{s-1}`, only where :math:`p_s \le t`.

    The p-values of the last stage are :math:`2 \min(p, p_{KS})`: that of KS is computed and not
    redrawn, so that one far out has digits that no number of redrawn labels gives. The B of this
    stage grows with the number of all groups, and falls with that of the others which come so far.
    """

    observed: Floats | None = None

    def __init__(self, measure: Measure, many: ManyCells) -> None:
        self.measure, self.many, self.parameters = measure, many, parameters_of(BINARY)
        self.blind = np.zeros(len(many), np.bool_)
        self.error = 0.0 if many.cells.is_point.all() else None
        self.caution = "statistics at the mean prediction of each cell"

    def values(self) -> Floats:
        """Return the statistics (G,) of the observed events."""
        if self.observed is None:
            self._stage(np.arange(len(self.many)), 1, (0,))
        return cast("Floats", self.observed)

    def pvalues(self, *, n_resamples: int, seed: int) -> Floats:
        """Return the p-values (G,), each exact by itself, and independent of each other.

        Parameters
        ----------
        n_resamples : int
            The most redrawn labels of a group.
        seed : int
            Of what is redrawn.
        """
        out = self._stage(np.arange(len(self.many)), FIRST, (seed, 0))
        few = np.flatnonzero(out <= SMALL)
        out[few] = self._stage(few, SECOND, (seed, 1))
        few = few[out[few] <= SMALLER]
        most = min(n_resamples, WORK // max(1, int(np.diff(self.many.start)[few].sum())))
        if most > SECOND:
            out[few] = self._stage(few, most, (seed, 2))
        ks = REGISTRY["ks"]().bind_groups(self.many)
        tails = ks.pvalues(n_resamples=n_resamples, seed=seed)[few]
        out[few] = np.minimum(1.0, 2.0 * np.minimum(out[few], tails))
        redrawn = "numbers of events of cells" if self.many.rows is None else "labels"
        self.null_text = (
            f"{redrawn} redrawn from the predictions, B = {FIRST}; p <= {SMALL} found anew with "
            f"B = {SECOND:,}, p <= {SMALLER} with B = {max(most, SECOND):,} and the exact law of "
            f"KS, seed = {seed}"
        )
        return out

    def _stage(self, groups: Ints, size: int, seed: tuple[int, ...]) -> Floats:
        """Return the p-values of some groups, each among labels that are redrawn for it."""
        pairs = map_threads(partial(self._tested, size, seed), zip(groups.tolist()))
        values, pvalues = np.array(list(pairs)).reshape(-1, 2).T
        if self.observed is None:
            self.observed = values
        return np.asarray(pvalues)

    def _tested(self, size: int, seed: tuple[int, ...], group: int) -> tuple[float, float]:
        """Return statistic and p-value of a group."""
        first, stop = self.many.start[group : group + 2].tolist()
        rows = self.many.rows_of(group)
        bound: Any = (
            self.measure.bind_cells(self.many.cells.between(first, stop))
            if rows is None
            else self.measure.bind(rows)
        )
        observed = bound.statistics(bound.observed[np.newaxis])
        keys, step = resample_keys((*seed, group), size), max(8, AT_A_TIME // (stop - first))
        redrawn = [bound.statistics(bound.redraw(keys[k : k + step])) for k in range(0, size, step)]
        pairs = zip(bound.portfolio, np.concatenate([observed, *redrawn], axis=1), strict=True)
        scores = [
            tail_scores(values, bound.scale, two_sided=component.two_sided, by_rank=True)
            for component, values in pairs
        ]
        joint = combine(bound.portfolio, np.stack(scores))
        return float(bound.combine(observed)[0]), float(np.mean(joint >= joint[0] - ROUNDING))
