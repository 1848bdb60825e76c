"""A statistic: a function of sums over units, with what is known of it besides its values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from caltest.types import Flags, Floats
from caltest.units.sums import UnitSums
from caltest.units.units import Observed, Units

Tails = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Norm:
    """What a statistic is a norm of, of one group: for intervals from resampled units.

    Attributes
    ----------
    gaps : callable
        Mean gaps (B, K) of residuals and masses (B, U).
    of : callable
        Their norms (B,).
    power : int
        2 where the statistic is the square of the norm.
    mean_gap : callable, optional
        What the residual of each unit counts, (U,), in the one gap that the norm is.
    """

    gaps: Callable[[Floats, Floats], Floats]
    of: Callable[[Floats], Floats]
    power: int = 1
    mean_gap: Callable[[], Floats] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistic:
    """A function of sums over the units of each group, written once for rows and cells.

    Attributes
    ----------
    units : Units
        The units, in the order of what is redrawn.
    sums : UnitSums
        What is summed.
    value : callable
        The statistics (B, G) of the sums.
    scale : float or (G,) array
        Size of the terms of the statistic: ties are measured by it.
    estimate : callable
        The calibration error that an observed value stands for, by default the value itself.
    calibrated : float
        What the estimate of calibrated predictions is about, where the statistic is no mean.
    parameters, notes, degenerate
        As those of a test: settings, what a reader should know, what the data left undefined.
    error : callable, optional
        How far the value may be from that of the rows of the cells, at most.
    caution : str
        What cells change where no number says it.
    norm : Norm, optional
        Where the statistic is a norm of mean gaps.
    score_table : callable, optional
        Scores (2, C) of the rows of cells without and with the event, where it is their mean.
    unseen : callable, optional
        How much larger the value may be unseen, each one-sided limit missed with probability a.
    blind : (G,) array of bool, optional
        Groups in which the statistic cannot vary.
    tails : callable, optional
        Of values (G,) and a number of threads to the probabilities that a statistic is at least as
        large; with `tails_text` in words. Without them, statistics are redrawn.
    """

    units: Units
    sums: UnitSums
    value: Callable[[Any], Floats]
    scale: Floats | float = 1.0
    estimate: Callable[[float], float] = float
    calibrated: float = 0.0
    parameters: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()
    error: Callable[[], float] | None = None
    caution: str = ""
    norm: Norm | None = None
    score_table: Callable[[], Floats] | None = None
    unseen: Callable[[float], float] | None = None
    blind: Flags | None = None
    tails: Tails | None = None
    tails_text: str = ""

    def values(self, observed: Observed) -> Floats:
        """Return the statistics (B, G) of what is observed (B, U)."""
        return self.value(self.sums.redrawn(observed))

    @property
    def observed(self) -> Floats:
        """The statistics (G,) of what was observed."""
        return np.asarray(self.value(self.sums.observed())[0])
