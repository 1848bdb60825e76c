"""How the label of a row follows from its uniform number, in the predictions and under a lens."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caltest.numerics import labels as loops
from caltest.types import AnyArray, Flags, Floats, Hashes, Ints, Labels

Codes = NDArray[np.integer]


class Redrawing(ABC):
    """The labels of n rows as a function of their uniform numbers, one for each resample.

    Whatever is induced by a lens is a function of the label that the same number gives the row
    under the predictions themselves: all lenses see the same redrawn labels.
    """

    @abstractmethod
    def labels(self, keys: Hashes) -> AnyArray:
        """Return the labels (B, n) of the resamples with these keys (B,)."""

    def labels_by_row(self, keys: Hashes) -> AnyArray:
        """Return the labels (n, B), those of a row side by side."""
        return np.ascontiguousarray(self.labels(keys).T)

    @abstractmethod
    def taken(self, rows: Codes) -> Redrawing:
        """Return that of some rows, in their order; each keeps its uniform numbers."""

    def summing(self, table: Floats) -> Callable[[Hashes], Floats] | None:
        """Return the sums (B,) of a table (n, m) over the labels, where it is cheaper at once."""
        return None

    def events(self, codes: Codes, m: int) -> Redrawing:
        """Return that of the event that the label of each row, one of m, is its code, (n,)."""
        return self.relabelled(codes[:, None] == np.arange(m), 2)

    def upto(self, code: int, shape: tuple[int, int]) -> Redrawing:
        """Return that of the event that the label is at most a code, of labels (n, m)."""
        return self.relabelled(np.broadcast_to(np.arange(shape[1]) <= code, shape), 2)

    def relabelled(self, table: Codes | Flags, m: int) -> Redrawing:
        """Return that of the labels (n, m before) in a table, for each label before."""
        return Relabelled(self, table.astype(loops.label_dtype(m)))


@dataclass(frozen=True)
class Uniforms(Redrawing):
    """The uniform numbers themselves: those at which a distribution function is inverted."""

    rows: Hashes

    def labels(self, keys: Hashes) -> Floats:
        return loops.draw_uniforms(self.rows, keys)

    def taken(self, rows: Codes) -> Uniforms:
        return Uniforms(self.rows[rows])

    def between(self, low: Floats, high: Floats) -> Redrawing:
        """Return that of the event that the number of each row is from low on, below high."""
        ends = (np.ceil(np.clip(end, 0.0, 1.0) * float(loops.ALWAYS)) for end in (low, high))
        first, last = (end.astype(np.int64) for end in ends)
        return UniformInterval(first, last - first, self.rows)

    def classes(self, probs: Floats) -> Redrawing:
        """Return that of the classes of which one begins where the one before it ends."""
        return Inversion(probs, self.rows)


class Inversion(Redrawing):
    """Labels drawn from the rows of probabilities, by inversion of their running sums.

    Parameters
    ----------
    probs : (n, m) array
        Probabilities.
    rows : (n,) array, optional
        Hashes of the rows; by default these are numbered from 0.
    """

    def __init__(self, probs: Floats, rows: Hashes | None = None) -> None:
        self.probs = probs
        if rows is not None:
            self.rows = rows

    @cached_property
    def limits(self) -> Ints:
        """Where each class but the last ends."""
        return loops.cumulative_limits(self.probs)

    @cached_property
    def rows(self) -> Hashes:
        """What the rows contribute to their uniform numbers."""
        return loops.row_hashes(np.arange(len(self.probs)))

    @cached_property
    def _second_of_two(self) -> UniformInterval:
        first = np.ascontiguousarray(self.limits[:, 0])
        return UniformInterval(first, loops.ALWAYS - first, self.rows)

    def labels(self, keys: Hashes) -> Labels:
        if self.probs.shape[1] == 2:
            return self._second_of_two.labels(keys)
        return loops.draw_labels(self.limits, self.rows, keys)

    def summing(self, table: Floats) -> Callable[[Hashes], Floats] | None:
        return self._second_of_two.summing(table) if self.probs.shape[1] == 2 else None

    def taken(self, rows: Codes) -> Redrawing:
        return Inversion(self.probs.take(rows, axis=0), self.rows[rows])

    def events(self, codes: Codes, m: int) -> Redrawing:
        at, last = np.arange(len(self.probs)), self.limits.shape[1] - 1
        low = np.where(codes > 0, self.limits[at, np.maximum(codes - 1, 0)], 0)
        high = np.where(codes <= last, self.limits[at, np.minimum(codes, last)], loops.ALWAYS)
        return UniformInterval(low, high - low, self.rows)

    def upto(self, code: int, shape: tuple[int, int]) -> Redrawing:
        high = np.ascontiguousarray(self.limits[:, code])
        return UniformInterval(np.zeros_like(high), high, self.rows)


@dataclass(frozen=True)
class UniformInterval(Redrawing):
    """Events that happen where the uniform number lies in an interval."""

    low: Ints
    width: Ints
    rows: Hashes

    def labels(self, keys: Hashes) -> Labels:
        return loops.draw_events(self.low, self.width, self.rows, keys)

    @property
    def _unsigned(self) -> tuple[Hashes, Hashes, Hashes]:
        return self.low.view(np.uint64), self.width.view(np.uint64), self.rows

    def labels_by_row(self, keys: Hashes) -> Labels:
        return loops.events_by_row(*self._unsigned, keys)

    def summing(self, table: Floats) -> Callable[[Hashes], Floats] | None:
        # Rows that have one label only add it exactly: no rounding errors where nothing varies.
        base = np.where(self.width < loops.ALWAYS, table[:, 0], table[:, 1])
        varies = (self.width > 0) & (self.width < loops.ALWAYS)
        slope = np.subtract(table[:, 1], base, out=np.zeros_like(base), where=varies)
        total = float(base.sum())
        if not math.isfinite(total) or not np.isfinite(slope).all():
            return None
        return lambda keys: loops.event_sums(*self._unsigned, keys, slope) + total

    def taken(self, rows: Codes) -> Redrawing:
        return UniformInterval(self.low[rows], self.width[rows], self.rows[rows])


@dataclass(frozen=True)
class Relabelled(Redrawing):
    """Labels that are a function of those of another redrawing and of the row.

    Attributes
    ----------
    origin : Redrawing
        Of the labels before.
    table : (n, m) array
        The label after, for each label before.
    """

    origin: Redrawing
    table: Labels

    def labels(self, keys: Hashes) -> Labels:
        return loops.relabelled(self.table, self.origin.labels(keys))

    def taken(self, rows: Codes) -> Redrawing:
        return Relabelled(self.origin.taken(rows), self.table[rows])
