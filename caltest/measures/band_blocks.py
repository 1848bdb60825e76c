"""Blocks of neighbouring predictions, for simultaneous confidence bands and their p-value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import NotApplicable
from caltest.measures.sorted_rows import sorted_rows
from caltest.numerics.bands import (
    exact_lower_bounds,
    group_events,
    hoeffding_excess,
    hoeffding_lower_bounds,
    smallest_tails,
)
from caltest.numerics.isotonic import pool_steps
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]

METHODS = ("standard", "round", "yang-barber")
FEW = 2000  # distinct predictions up to which none is rounded by default
MOST = 50_000  # groups whose blocks are gone through at all
DIGITS = 3


@dataclass(frozen=True)
class BandOptions:
    """The method of a band and the digits to which it rounds."""

    method: str | None = None
    digits: int | None = None

    def __post_init__(self) -> None:
        if self.method is not None:
            validation.check_choice(self.method, METHODS, "method")
        validation.check_digits(self.digits)
        if self.method in {"standard", "yang-barber"}:
            validation.check_unused(f"with method={self.method!r}", digits=self.digits)

    def resolved(self, distinct: int) -> tuple[str, int | None]:
        """Return the method for a number of distinct predictions, and its digits."""
        method = self.method
        if method is None:
            rounds = distinct > FEW or self.digits is not None
            method = "round" if rounds else "standard"
        return method, (self.digits or DIGITS) if method == "round" else None


@dataclass(frozen=True)
class Side:
    """Groups of rows whose blocks bound the probability from one side.

    Attributes
    ----------
    ends : (n,) array of bool
        Whether a row is the last of its group.
    sizes, x : (M,) array
        Number of rows, and the prediction that stands for the group: the largest for lower bounds,
        the smallest for upper bounds.
    """

    ends: NDArray[np.bool_]
    sizes: Floats
    x: Floats

    @property
    def log_blocks(self) -> float:
        """The logarithm of M^2 + M, twice the number of blocks: they have two sides."""
        size = self.x.size
        return math.log(size) + math.log(size + 1)


class BandBlocks:
    """Rows in the order of their predictions, grouped for lower and for upper bounds."""

    def __init__(self, predictions: Predictions, options: BandOptions) -> None:
        if predictions.sample_weight is not None:
            raise NotApplicable(
                "the confidence band counts observations and takes no sample weights; "
                "use test='corp'"
            )
        self.event, self.labels, _ = sorted_rows(predictions, "the confidence band")
        steps = step_ends(self.event)
        self.steps = steps
        self.method, self.digits = options.resolved(int(np.count_nonzero(steps)))
        if self.method == "round":
            scaled = self.event * 10.0 ** (self.digits or 0)
            self.lower = self._side(step_ends(np.ceil(scaled)), last=True)
            self.upper = self._side(step_ends(np.floor(scaled)), last=False)
        else:
            self.lower = self.upper = self._side(steps, last=True)
        groups = max(self.lower.x.size, self.upper.x.size)
        if groups > MOST and self.method != "yang-barber":
            remedy = "fewer digits" if self.digits else "method='round'"
            raise NotApplicable(
                f"{groups} groups of predictions have too many blocks for the confidence band, "
                f"which takes up to {MOST}; use {remedy}"
            )

    def _side(self, ends: NDArray[np.bool_], *, last: bool) -> Side:
        at = np.flatnonzero(ends)
        sizes = np.diff(at, prepend=-1)
        return Side(ends, sizes.astype(np.float64), self.event[at if last else at - sizes + 1])

    def log_pvalues(self, labels: Labels) -> Floats:
        """Return log p for each row of labels, (B,); beyond 0 where p would be above 1."""
        if self.method == "yang-barber":
            return np.array([self._hoeffding_log_pvalue(row) for row in labels])
        events = group_events(labels, self.lower.ends)
        high = smallest_tails(events, self.lower.sizes, self.lower.x)
        if self.upper is not self.lower:
            events = group_events(labels, self.upper.ends)
        sizes = self.upper.sizes[::-1]
        others = np.ascontiguousarray((self.upper.sizes - events)[:, ::-1])
        low = smallest_tails(others, sizes.copy(), 1.0 - self.upper.x[::-1])
        return np.minimum(self.lower.log_blocks - high, self.upper.log_blocks - low)

    def _hoeffding_log_pvalue(self, labels: NDArray[np.unsignedinteger]) -> float:
        fitted, starts, stops = self.isotonic(labels)
        side = self.lower
        high = hoeffding_excess(fitted, side.sizes, starts, side.x)
        sizes, x = side.sizes[::-1].copy(), 1.0 - side.x[::-1]
        low = hoeffding_excess(1.0 - fitted[::-1], sizes, stops[::-1].copy(), x)
        return side.log_blocks - max(high, low)

    def isotonic(
        self, labels: NDArray[np.unsignedinteger]
    ) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the isotonic fit at each distinct prediction, and the ends of its blocks."""
        weight = np.broadcast_to(1.0, labels.size)
        mass, events, last = pool_steps(labels, weight, self.steps)
        block_of = np.searchsorted(last, np.flatnonzero(self.steps))
        change = np.diff(block_of) > 0
        starts, stops = np.append(True, change), np.append(change, True)
        return (events / mass)[block_of], starts, stops

    def bounds(self, level: float) -> tuple[Floats, Floats]:
        """Return the lower bounds at the x of the lower groups, the upper ones likewise."""
        error = math.log1p(-level)
        if self.method == "yang-barber":
            return self._hoeffding_bounds(self.lower.log_blocks - error)
        events = group_events(self.labels[None], self.lower.ends)[0]
        lower = exact_lower_bounds(events, self.lower.sizes, error - self.lower.log_blocks)
        events = group_events(self.labels[None], self.upper.ends)[0]
        sizes = self.upper.sizes[::-1].copy()
        others = sizes - events[::-1]
        upper = exact_lower_bounds(others, sizes, error - self.upper.log_blocks)
        return lower, 1.0 - upper[::-1]

    def _hoeffding_bounds(self, constant: float) -> tuple[Floats, Floats]:
        fitted, starts, stops = self.isotonic(self.labels)
        sizes = self.lower.sizes
        lower = hoeffding_lower_bounds(fitted, sizes, starts, constant)
        turned = (1.0 - fitted[::-1], sizes[::-1].copy(), stops[::-1].copy())
        return lower, 1.0 - hoeffding_lower_bounds(*turned, constant)[::-1]
