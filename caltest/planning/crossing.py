"""Where a power curve crosses a power: data sets are simulated where they tell most."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from caltest.errors import NotApplicable
from caltest.planning.rates import crossing, probit_line
from caltest.planning.results import PowerRow
from caltest.planning.simulation import SEARCH, Study, simulate

ROUNDS = 6  # fits of the curve once a size with enough power is known
SURE = 0.999  # coverage of the interval below which a power is certainly not reached
FIRST_DATASETS = 50  # data sets of a first look at a size
LOCAL_FACTOR = 1.6  # sizes within this factor make up the local curve, if it has a slope there
STEP = 2.0  # a step changes the size by no more than this factor
SPREAD = 1.25  # looks are on both sides of the crossing, so that the curve has a slope
QUANTILE = 1.959963984540054  # of the normal distribution, for intervals of 95 %


class Crossing(NamedTuple):
    """A number of rows with the ends of its interval, None outside of the sizes searched."""

    n: int
    low: int | None
    high: int | None


@dataclass
class Search:
    """The search for the least n in [n_min, n_max] whose power is the target.

    Attributes
    ----------
    n_min : int
        Raised to the least size that was tried for which the test is defined.
    seen : dict
        The rows for the sizes that were tried.
    """

    study: Study
    target: float
    n_min: int
    n_max: int
    n_datasets: int
    progress: Callable[[int, int], None] | None = None
    seen: dict[int, PowerRow] = field(default_factory=dict)
    done: int = 0

    def run(self) -> Crossing:
        """Return the crossing.

        Raises
        ------
        NotApplicable
            If the power is not reached at n_max, or the test is not defined there.
        """
        centre = self._bracket()
        if self.seen[self.n_min].interval()[0] > self.target:
            return Crossing(self.n_min, None, self.n_min)
        for left in range(ROUNDS, 0, -1):
            centre = self._next(centre)
            side = centre * SPREAD if left % 2 else centre / SPREAD
            self._look(self._inside(side), -(-self.n_datasets // ROUNDS), left)
        root, low, high = self._cross(centre)
        if root > self.n_max:
            raise self._not_reached(max(self.seen), root)
        return Crossing(
            max(math.ceil(root), self.n_min),
            math.floor(low) if low >= self.n_min else None,
            math.ceil(high) if high <= self.n_max else None,
        )

    def rows(self) -> list[PowerRow]:
        """Return the rows of all sizes, in ascending order."""
        return [self.seen[n] for n in sorted(self.seen)]

    def _bracket(self) -> int:
        """Double n until the power is reached, over two sizes at least."""
        few = max(FIRST_DATASETS, self.n_datasets // 10)
        n = self._first(few)
        while True:
            enough = self.seen[n].power >= self.target
            if n == self.n_max and not enough:
                if self.seen[n].interval(SURE)[1] >= self.target:
                    self._look(n, self.n_datasets, ROUNDS)
                if self.seen[n].power < self.target:
                    raise self._not_reached(n)
                return n
            if enough and (n > self.n_min or self.seen[n].interval()[0] > self.target):
                return n
            n = min(2 * n, self.n_max)
            self._look(n, few, ROUNDS + 1)

    def _first(self, few: int) -> int:
        """Look at n_min, which is doubled while data sets are too small for the test."""
        while True:
            try:
                self._look(self.n_min, few, ROUNDS + 1)
            except NotApplicable:
                if 2 * self.n_min >= self.n_max:
                    raise
                self.n_min *= 2
            else:
                return self.n_min

    def _look(self, n: int, sets: int, left: int) -> None:
        """Simulate more data sets of a size."""
        before = self.seen.get(n)
        start = 0 if before is None else before.n_datasets
        row = simulate(self.study, n, range(start, start + sets), stage=SEARCH)[0]
        self.seen[n] = row if before is None else _joined(before, row)
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.done + left)

    def _next(self, centre: int) -> int:
        """Return the size at which the fitted curve crosses the target, not far from the last."""
        root, _, _ = self._cross(centre)
        if not math.isfinite(root):  # the rates fall by chance
            root = centre
        return self._inside(min(max(root, centre / STEP), centre * STEP))

    def _inside(self, n: float) -> int:
        return min(max(math.ceil(n), self.n_min), self.n_max)

    def _cross(self, centre: int) -> tuple[float, float, float]:
        """Fit Phi(a + b sqrt(n)) near a size; return the crossing and its interval, in rows."""
        near = [
            row for row in self.rows() if centre / LOCAL_FACTOR <= row.n <= centre * LOCAL_FACTOR
        ]
        local = _crossing_of(near, self.target) if len(near) > 1 else None
        if local is None or not math.isfinite(local[1] + local[2]):
            return _crossing_of(self.rows(), self.target)
        return local

    def _not_reached(self, n: int, root: float = math.inf) -> NotApplicable:
        row = self.seen[n]
        low, high = row.interval()
        fitted = ""
        if math.isfinite(root):
            fitted = f", and by the curve through all sizes it takes {math.ceil(root)}"
        return NotApplicable(
            f"{row.test} does not reach a power of {self.target:g} with n_max = {self.n_max} rows: "
            f"{row.power:.3f} [{low:.3f}, {high:.3f}] with {n}{fitted}",
            "raise n_max, state a larger deviation, or use another test",
        )


def _crossing_of(rows: list[PowerRow], target: float) -> tuple[float, float, float]:
    from scipy.special import ndtri

    columns = zip(*((math.sqrt(r.n), r.rejections, r.n_datasets) for r in rows), strict=True)
    x, events, trials = (np.array(column, dtype=np.float64) for column in columns)
    found = crossing(probit_line(x, events, trials), float(ndtri(target)), QUANTILE)
    root, low, high = (math.copysign(value * value, value) for value in found)
    return root, low, high


def _joined(first: PowerRow, second: PowerRow) -> PowerRow:
    """Join what was found in different data sets of one size."""
    parts = [row for row in (first, second) if not math.isnan(row.estimate)]
    finite = [row.n_datasets - row.not_applicable - row.infinite for row in parts]
    return replace(
        first,
        n_datasets=first.n_datasets + second.n_datasets,
        rejections=first.rejections + second.rejections,
        estimate=float(np.average([row.estimate for row in parts], weights=finite))
        if parts
        else math.nan,
        infinite=first.infinite + second.infinite,
        not_applicable=first.not_applicable + second.not_applicable,
        reason=first.reason or second.reason,
    )
