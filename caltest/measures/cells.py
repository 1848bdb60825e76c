"""Measures of cells: functions of the numbers of events in cells of very many rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from caltest.measures.bound import BoundMeasure
from caltest.sources import Cells
from caltest.types import Hashes
from caltest.units import Statistic
from caltest.units.units import rounding_scale

NO_WEIGHTS = ("the interval of weighted cells needs the rows", "use engine='rows'")
Counts = Any  # numbers of events (B, C), where measures of rows take labels (B, n)


class BoundCells(BoundMeasure):
    """A measure bound to cells: what remains is a function of their numbers of events.

    Attributes
    ----------
    cells : Cells
        The cells.
    """

    caution: str = ""  # what cells change where no number says it
    statistic: Statistic | None = None  # where the measure is one of sums over units

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.scale = rounding_scale(cells.rows)
        # Numbers of events are cheaper for many keys at once; those of many weights take memory.
        self.keys_together = 64 if cells.weights is None else 1

    @property
    def observed(self) -> Counts:
        return self.cells.events.astype(np.float64)

    @property
    def width(self) -> int:
        return self.cells.drawn

    def redraw(self, keys: Hashes) -> Counts:
        return self.cells.redrawn(keys)

    def described(self) -> dict[str, Any]:
        error = in_words(self.error(), self.caution)
        return {
            "null_text": "numbers of events of cells redrawn from the predictions",
            "parameters": {"cells": len(self.cells), **self.parameters, "error by cells": error},
            "notes": (*self.notes, *self.cells.notes()),
            "degenerate": self.degenerate,
        }

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


def in_words(error: float | None, caution: str = "") -> str:
    """Say what cells change in the statistic."""
    if error is None:
        return caution or "not bounded"
    return f"at most {error:.2g}" if error else "none"
