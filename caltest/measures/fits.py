"""Fits to the labels of rows, or to the events of cells of rows: each is written once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import scipy

from caltest.checks.arrays import read_only
from caltest.lenses import resolve_lens
from caltest.lenses.base import Seen, shown_by
from caltest.predictions import MeasuredOptions, Predictions, as_measured, check_names, parted
from caltest.types import Floats
from caltest.units import FunctionOfUnits, Observed, Statistic, Units, UnitSums

Result = TypeVar("Result")
IMPOSSIBLE = (
    "the log loss is infinite, and so is its miscalibration: the observed class has probability 0 "
    "in {rows}"
)

# What a statistic takes over from its fit.
DESCRIBED = "scale", "estimate", "calibrated", "caution", "parameters", "notes", "degenerate"


class Fit(UnitSums):
    """A function of what is observed of units: of the labels of rows, or the events of cells.

    Attributes
    ----------
    scale : float
        Size of the terms of the value, by which ties are measured.
    calibrated : float
        What the value of calibrated predictions is about.
    caution, parameters, notes, degenerate
        As those of a statistic.
    """

    calibrated: float = 0.0
    caution: str = ""
    parameters: Mapping[str, object] = {}
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()

    def __init__(self, units: Units) -> None:
        super().__init__(units)
        self.scale = float(np.max(units.rounding)) * max(1.0, units.heaviest)

    @abstractmethod
    def values(self, observed: Observed) -> Floats:
        """Return the value for each row of what is observed, (B, U)."""

    def redrawn(self, observed: Observed) -> Floats:
        return self.values(observed)[:, np.newaxis]

    def value(self) -> float:
        """Return the value for what was observed."""
        return float(self.observed()[0, 0])

    def estimate(self, value: float) -> float:
        """Return the calibration error that an observed value stands for; often the same."""
        return value

    def statistic(self, **described: Any) -> Statistic:
        """Return the value as a statistic, with other fields of it."""
        given: dict[str, Any] = {name: getattr(self, name) for name in DESCRIBED}
        return Statistic(sums=self, **(given | described))


def fitted(units: Units, values: Callable[[Observed], Floats], **described: Any) -> Statistic:
    """Return a function of what is observed, (B, U) -> (B,), as a statistic.

    Its terms have the size of the rounding of the units, where nothing else is told.
    """
    sums = FunctionOfUnits(units, lambda observed: values(observed)[:, np.newaxis])
    scale = float(np.max(units.rounding)) * max(1.0, units.heaviest)
    given: dict[str, Any] = {"scale": scale, **described}
    return Statistic(sums=sums, **given)


class ReadOnly:
    """A frozen dataclass whose arrays are locked."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                read_only(value)


def by_member(
    probs: object,
    labels: object,
    compute: Callable[[Predictions], Result],
    function: Callable[..., object],
    rows: Seen,
) -> Result | list[Result]:
    """Return what a function of (probs, labels) computes under a lens, of a family a list."""
    check_names(rows, Seen, function)
    read, how = parted(rows, MeasuredOptions)
    predictions = as_measured(probs, labels, function, **read)
    resolved = resolve_lens(how.get("lens", "strong"))
    found = [
        compute(shown_by(member, predictions).drawn_from)
        for member in resolved.members(predictions)
    ]
    return found if resolved.is_family else found[0]


def over_sum(weight: Floats, total: float) -> Floats:
    """Return weights over their sum; of equal ones that take no memory, without an array."""
    if weight.strides == (0,):
        return np.broadcast_to(1.0 / total, weight.size)
    return weight / total


def log_odds_grid(low: float, high: float, points: int) -> Floats:
    """Return log odds, half at equal distances and half at those of their probabilities."""
    if low == high:
        return np.array([low])
    half = points // 2
    first, last = scipy.special.expit([low, high])
    inner = scipy.special.logit(np.linspace(first, last, points - half + 2)[1:-1])
    return np.sort(np.concatenate([np.linspace(low, high, half), np.clip(inner, low, high)]))
