"""Very many forecasts, counted by the cell of their PIT and by their mean and scale."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from caltest.numerics.pit_cells import PitCells
from caltest.types import Flags, Floats, Hashes, Ints

if TYPE_CHECKING:
    from caltest.forecasts.container import Forecasts

FINEST = PitCells(17, 32)  # what others are compared with
ALONE, GROUPED = PitCells(13, 32), PitCells(8, 4)  # whose numbers are redrawn
SAMPLED = 16  # one row of as many tells where groups are cut
LEAST = 2.0**-53


class PitCounts:
    """How many rows have their PIT in each cell, by groups of like forecasts.

    Under calibration the PIT of all rows are independent uniform numbers, so that the numbers of a
    group are multinomial. A row counts with the mean and the scale of its group.

    Parameters
    ----------
    sample : Forecasts or None
        Some rows, whose means and scales are cut into groups of as many.
    groups : int
        The largest number of groups; of 1, neither is looked at.

    Attributes
    ----------
    cells : PitCells
        The cells.
    finest : (K,) array
        The numbers of rows of all groups together in the cells `FINEST`.
    """

    redrawn_text = "numbers of rows in cells of the PIT redrawn from the forecasts"
    label_probs, m = None, 0

    def __init__(self, sample: Forecasts | None, groups: int) -> None:
        self._inner, values = [], [np.zeros(1), np.ones(1)]
        if sample is not None and groups > 1:
            mean, scale = sample.told_apart
            ends, scales = _cut(scale, math.isqrt(groups))
            inner, means = _cut(mean, groups // scales.size)
            self._inner, values = [inner, ends], [means, scales]
        self._mean, self._scale = (x.ravel() for x in np.meshgrid(*values, indexing="ij"))
        self.cells = GROUPED if self._mean.size > 1 else ALONE
        self._counts = np.zeros((self._mean.size, self.cells.widths.size), np.int64)
        self.finest = np.zeros(FINEST.widths.size, np.int64)
        self._off = np.zeros(self._mean.size)

    def add(self, rows: Forecasts) -> None:
        """Count rows."""
        group = np.zeros(rows.n, np.int64)
        if self._inner:
            for inner, values in zip(self._inner, rows.told_apart, strict=True):
                group = group * (inner.size + 1) + np.searchsorted(inner, values)
            off, has_means = rows.errors
            self._off += np.bincount(group, off if has_means else off * np.nan, self._off.size)
        v, width = np.clip(rows.pit, LEAST, 1.0 - LEAST), self.cells.widths.size
        self.finest += np.bincount(FINEST.of(v), minlength=self.finest.size)
        np.add.at(self._counts.reshape(-1), group * width + self.cells.of(v), 1)

    # ---- what is tested -------------------------------------------------------------------------

    @property
    def _some(self) -> Flags:
        return np.asarray(self._counts.any(axis=1))

    @cached_property
    def observed(self) -> Ints:
        """The numbers of rows in cells, of the groups that have some, (G, cells)."""
        return self._counts[self._some]

    @property
    def copies(self) -> Floats:
        """The numbers of rows of these, (G,)."""
        return np.asarray(self.observed.sum(axis=1, dtype=np.float64))

    weights = copies

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.weights.sum())

    @property
    def told_apart(self) -> tuple[Floats, Floats]:
        """The means and the scales of the groups, (G,) each."""
        return self._mean[self._some], self._scale[self._some]

    @property
    def errors(self) -> tuple[Floats, bool]:
        """Mean outcomes less means, or, where these are not known, PIT less 0.5; and which."""
        off = self._off[self._some] / self.weights
        if np.isfinite(off).all():
            return off, True
        return self.observed @ self.cells.middles / self.weights - 0.5, False

    @property
    def width(self) -> int:
        """How many numbers are redrawn."""
        return self.observed.size

    @property
    def redrawing(self) -> PitCounts:
        """What redraws them."""
        return self

    def labels(self, keys: Hashes) -> Ints:
        """Redraw the numbers of rows in cells, (B, G, cells)."""
        return self.cells.redrawn(self.weights.astype(np.int64), keys)


def _cut(values: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the inner ends of parts of as many values, and their medians."""
    finite = values[np.isfinite(values)]
    inner = np.unique(np.quantile(finite, np.arange(1, count) / count)) if finite.size else finite
    inner = inner[inner < finite.max(initial=-np.inf)]  # no part is empty
    place = np.searchsorted(inner, finite)
    parts = [finite[place == k] for k in range(inner.size + 1)]
    return inner, np.array([np.median(part) if part.size else 0.0 for part in parts])
