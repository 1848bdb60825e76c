"""Measures of cells: functions of the numbers of events in cells of very many rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest.measures.bound import BoundMeasure
from caltest.sources import Cells
from caltest.types import Floats
from caltest.units.units import rounding_scale

NO_WEIGHTS = ("the interval of weighted cells needs the rows", "use engine='rows'")
Counts = Any  # numbers of events (B, C), where measures of rows take labels (B, n)


@dataclass(frozen=True)
class CellGaps:
    """Mean gaps as functions of rows of cells, for an interval of the norm of them.

    Attributes
    ----------
    vector : callable
        Events and rows without the event (B, C) to gaps (B, K).
    norm : callable
        Gaps (B, K) to their norms (B,).
    scores : (2, C) array or None
        What rows without and with the event add to the one mean that the norm is, if it is one.
    power : int
        2 where the error is the square of the norm.
    """

    vector: Callable[[Floats, Floats], Floats]
    norm: Callable[[Floats], Floats]
    scores: Floats | None = None
    power: int = 1


class BoundCells(BoundMeasure):
    """A measure bound to cells: what remains is a function of their numbers of events.

    Attributes
    ----------
    cells : Cells
        The cells.
    """

    caution: str = ""  # what cells change where no number says it

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.scale = rounding_scale(cells.rows)

    @property
    def observed(self) -> Counts:
        return self.cells.events.astype(np.float64)

    def error(self) -> float | None:
        """Bound how far the observed statistic is from that of the rows; None where unknown.

        Nothing moves where each cell holds equal predictions.
        """
        return 0.0 if self.cells.is_point.all() else None

    # ---- what confidence intervals are made from ------------------------------------------------

    @property
    def calibrated(self) -> float:
        """What the estimate of calibrated predictions is about."""
        return 0.0

    def gaps(self) -> CellGaps | None:
        """Return the gaps of which this error is a norm; None for other measures."""
        return None

    def score_table(self) -> Floats | None:
        """Return the scores (2, C) of rows without and with the event; None if it is no mean."""
        return None

    def unseen_reach(self, a: float) -> float:
        """Return how much larger the error may be unseen; see `Measure.unseen_reach`."""
        return 0.0
