"""A measure bound to predictions, cells or chunks: what remains is a function of labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from caltest.measures.outcome import Part
from caltest.predictions import Predictions
from caltest.predictions.redrawing import Redrawing
from caltest.sources import Cells
from caltest.sources.chunks import Totals
from caltest.types import Floats, Hashes, Labels, Order
from caltest.units import Observed, Statistic, rounding_scale

NO_WEIGHTS = ("the interval of weighted cells needs the rows", "use engine='rows'")
Counts = Any  # numbers of events (B, C), where measures of rows take labels (B, n)


class Bound(ABC):
    """A measure bound to rows, cells or a survey of rows: what is known without the labels.

    Attributes
    ----------
    scale : float
        Size of the terms of the statistic: ties are measured by it.
    parameters : Mapping
        What the print shows.
    notes, degenerate : tuple of str
        What the reader should know, and what the data left undefined.
    redrawn_text : str
        What is redrawn from what, in words.
    """

    scale: float = 1.0
    parameters: Mapping[str, object] = {}
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()
    redrawn_text: str

    def described(self) -> dict[str, Any]:
        """Return what an outcome of redrawn labels says besides its numbers."""
        return {
            "null_text": self.redrawn_text,
            "parameters": self.parameters,
            "notes": self.notes,
            "degenerate": self.degenerate,
        }

    def comparable(self, values: Floats) -> Floats:
        """Return an increasing function of the values in which ties are ties up to rounding."""
        return values

    def estimate(self, value: float) -> float:
        """Return the calibration error that an observed value stands for; often the same."""
        return value


class BoundMeasure(Bound):
    """A measure bound to predictions: what remains is a function of the labels.

    Everything that depends on the predictions alone (bins, bandwidth, order) is done once, here.
    A measure that keeps the rows in an order of its own has it in `order`.

    Attributes
    ----------
    predictions : Predictions or Forecasts
        The rows.
    """

    predictions: Any

    pooled: bool = False  # True: give all resamples in one call, it runs its own threads
    keys_together: int = 1  # resamples that are cheaper redrawn at once, where there are some
    combines: bool = False  # whether the value combines several statistics; see `statistics`

    def __init__(self, predictions: Any) -> None:
        self.predictions, self.redrawn_text = predictions, predictions.redrawn_text

    @abstractmethod
    def values(self, labels: Observed) -> Floats:
        """Return the measure for each row of `labels` (B, n)."""

    def statistics(self, labels: Labels) -> Floats:
        """Return what the value combines, (K, B); by default the value itself, (B,)."""
        return self.values(labels)

    def of_keys(self) -> Callable[[Hashes], Floats] | None:
        """Return the values (B,) of resamples with given keys, where labels need not be kept."""
        return None

    def combine(self, statistics: Floats) -> Floats:
        """Return the value (B,) of each column of what `statistics` gives."""
        return statistics

    def with_parts(self, statistics: Floats) -> tuple[Floats, tuple[Part, ...]]:
        """Return the value (B + 1,) of statistics (K, B + 1), and what these show, as results.

        The first column is of the observed labels. Where the value is one statistic it has no
        parts.
        """
        return statistics[0], ()

    @cached_property
    def order(self) -> Order | None:
        """The rows that are kept, in their order; None for all as they are."""
        return None

    @cached_property
    def observed(self) -> Observed:
        """What was observed, (n,), in the order of the rows."""
        observed = self.predictions.observed
        return observed if self.order is None else observed[self.order]

    @property
    def label_probs(self) -> Floats | None:
        """The probabilities (n, m) of the labels, in the order of the rows; None of no classes."""
        probs: Floats | None = self.predictions.label_probs
        return probs if probs is None or self.order is None else probs[self.order]

    def redraw(self, keys: Hashes) -> Observed:
        """Redraw the labels (B, n) from the predictions, in the order of the rows.

        Every measure and every lens sees the same labels in the resample of a key.
        """
        return self.drawn(self._redrawing.labels(keys))

    def drawn(self, redrawn: Observed) -> Any:
        """Return what the measure looks at of what is redrawn, (B, n): by default all of it."""
        return redrawn

    @cached_property
    def width(self) -> int:
        """How many numbers are redrawn for a resample."""
        return int(self.predictions.width)

    def value(self) -> float:
        """Return the measure for the labels that were observed."""
        return float(self.values(self.observed[None])[0])

    @cached_property
    def _redrawing(self) -> Redrawing:
        every: Redrawing = self.predictions.redrawing
        return every if self.order is None else every.taken(self.order)


class BoundCells(BoundMeasure):
    """A measure bound to cells: what remains is a function of their numbers of events.

    Attributes
    ----------
    cells : Cells
        The cells.
    """

    keys_together = 64
    redrawn_text = "numbers of events of cells redrawn from the predictions"
    caution: str = ""  # what cells change where no number says it
    statistic: Statistic | None = None  # where the measure is one of sums over units
    calibrated: float = 0.0  # what the estimate of calibrated predictions is about

    def __init__(self, cells: Cells) -> None:
        self.cells, self.width = cells, cells.drawn
        self.scale = rounding_scale(cells.rows)
        self.observed = cells.events.astype(np.float64)

    def redraw(self, keys: Hashes) -> Counts:
        return self.cells.redrawn(keys)

    def described(self) -> dict[str, Any]:
        about = {"cells": len(self.cells), **self.parameters}
        return super().described() | {
            "parameters": {**about, "error by cells": self.error_in_words()},
            "notes": (*self.notes, *self.cells.notes()),
        }

    def error(self) -> float | None:
        """Bound how far the observed statistic is from that of the rows; None where unknown.

        Nothing moves where each cell holds equal predictions.
        """
        return 0.0 if self.cells.is_point.all() else None

    def error_in_words(self) -> str:
        """Say how far that is."""
        return in_words(self.error(), self.caution)


class BoundChunks(Bound):
    """A measure bound to a survey of very many rows: what remains are sums over these.

    Attributes
    ----------
    make : callable
        ``make(size)`` returns sums over no rows, for that many vectors of labels; it can be
        pickled.
    references : (R,) array
        Keys of resamples that the measure takes for itself, beside those of the test.
    """

    make: Callable[[int], Totals]
    references: Hashes = np.empty(0, np.uint64)
    redrawn_text = Predictions.redrawn_text

    @abstractmethod
    def values(self, totals: Any, n_resamples: int) -> tuple[Floats, tuple[Part, ...]]:
        """Return the measure for the observed labels and the resamples, and what it combines.

        `totals` are for the observed labels, for B resamples, and for the references.
        """

    def error(self) -> dict[str, object]:
        """Say how far the statistic is from that of all pairs of rows, for print."""
        return {}

    def described(self) -> dict[str, Any]:
        return super().described() | {"parameters": {**self.parameters, **self.error()}}


def in_words(error: float | None, caution: str = "") -> str:
    """Say what cells change in the statistic."""
    if error is None:
        return caution or "not bounded"
    return f"at most {error:.2g}" if error else "none"
