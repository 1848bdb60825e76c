"""Honest confidence bands of the curve of calibration, Dimitriadis et al. 2023."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import NotApplicable, invalid
from caltest.lenses import Lens, resolve_lens
from caltest.measures.isotonic.band_loops import (
    exact_lower_bounds,
    group_events,
    hoeffding_excess,
    hoeffding_lower_bounds,
    smallest_tails,
)
from caltest.measures.one_dimension import sorted_rows
from caltest.numerics.isotonic import pool_steps
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions, as_measured
from caltest.scale import Cells
from caltest.validation.options import check_integer

__all__ = ["ConfidenceBandCurve", "confidence_band_curve"]

Floats = NDArray[np.float64]
Intervals = tuple[tuple[float, float], ...]
Labels = NDArray[np.unsignedinteger]
METHODS = ("standard", "round", "yang-barber")
UNROUNDED_PREDICTIONS = 2000  # distinct predictions up to which none is rounded by default
MOST_GROUPS = 50_000  # groups whose blocks are gone through at all
DIGITS = 3
MOST_DIGITS = 15
NO_WEIGHTS = (
    "the confidence band counts observations and takes no sample weights",
    "use test='corp'",
)


@dataclass(frozen=True, eq=False)
class ConfidenceBandCurve:
    """Simultaneous limits of P(Y = 1 | p) at every prediction p, valid at every n.

    Attributes
    ----------
    x : (M,) array
        Predictions in ascending order.
    lower, upper : (M,) array
        The bounds there. Between two predictions the lower bound of the left and the upper bound of
        the right one hold; see `at`.
    level : float
        The confidence level.
    above, below : tuple of (from, to)
        The intervals of p where the band lies above the diagonal, so that the predictions are too
        low, or below it.
    pvalue : float
        The smallest error probability at which the diagonal leaves the band; without `noncrossing`.
    method : str
    digits : int or None
        To which the predictions are rounded.
    n : int

    Examples
    --------
    >>> import caltest as ct
    >>> band = ct.measures.confidence_band_curve([0.5] * 10, [1] * 10)
    >>> band.lower.round(4), band.above
    (array([0.6915]), ((0.5, 0.6915028921812393),))
    """

    x: Floats = field(repr=False)
    lower: Floats = field(repr=False)
    upper: Floats = field(repr=False)
    level: float
    above: Intervals
    below: Intervals
    pvalue: float
    method: str
    digits: int | None
    n: int

    def __post_init__(self) -> None:
        for name in ("x", "lower", "upper"):
            object.__setattr__(self, name, validation.read_only(getattr(self, name)))

    def at(self, probs: object) -> tuple[Floats, Floats]:
        """Return lower and upper bounds at any predictions, 0 and 1 where there are none."""
        p = np.asarray(probs, dtype=np.float64)
        left = np.searchsorted(self.x, p, side="right")
        right = np.searchsorted(self.x, p, side="left")
        return np.append(0.0, self.lower)[left], np.append(self.upper, 1.0)[right]


def confidence_band_curve(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    confidence: float = 0.95,
    method: str | None = None,
    digits: int | None = None,
    noncrossing: bool = False,
) -> ConfidenceBandCurve | list[ConfidenceBandCurve]:
    r"""Compute simultaneous confidence limits of P(Y = 1 | p), assumed non-decreasing in p.

    The probability of a block of neighbouring predictions :math:`x_j, ..., x_k` is at most that at
    :math:`x_k` and at least that at :math:`x_j`, so its Clopper-Pearson limits bound both; with
    error probability :math:`\alpha / (M^2 + M)` each, M the number of distinct predictions, all
    hold together with probability :math:`1 - \alpha`. No bins, no asymptotics.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives a list.
    confidence : float, default 0.95
        Confidence level :math:`1 - \alpha`.
    method : {"standard", "round", "yang-barber"}, optional
        "standard" takes all distinct predictions, by default up to 2,000. "round" rounds them, up
        for the lower bounds and down for the upper bounds, so that the band stays valid with fewer
        blocks. "yang-barber" takes Hoeffding's inequality for blocks that start or end with those
        of the isotonic fit; fast and wide.
    digits : int, optional
        Decimal digits of "round", 3 by default.
    noncrossing : bool, default False
        Widen the band to hold the isotonic fit. Without it bounds that cross say that the curve
        is not non-decreasing.

    Returns
    -------
    ConfidenceBandCurve
        With the p-value that inverts the band.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, sample weights, or too many distinct predictions for a
        method that is asked for.

    References
    ----------
    Dimitriadis, Duembgen, Henzi, Puke, Ziegel (2023), Honest calibration assessment for binary
    outcome predictions, Biometrika 110, theorem 1 and section 3; Yang, Barber (2019), Contraction
    and uniform convergence of isotonic regression, Electronic Journal of Statistics 13.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=500, m=2, pi=0.5, rng=1)
    >>> band = ct.measures.confidence_band_curve(data)
    >>> band.method, band.pvalue < 0.05 or band.above == band.below == ()
    ('standard', True)
    """
    level = validation.check_confidence(confidence)
    validation.check_flag(noncrossing, "noncrossing")
    options = BandOptions(method, digits)
    predictions = as_measured(probs, labels)
    resolved = resolve_lens(lens)
    bands = [
        _band(member(predictions), options, level, noncrossing=noncrossing)
        for member in resolved.members(predictions)
    ]
    return bands if resolved.is_family else bands[0]


def _band(
    predictions: Predictions, options: BandOptions, level: float, *, noncrossing: bool
) -> ConfidenceBandCurve:
    blocks = BandBlocks(predictions, options)
    x, lower, upper = _merged(blocks.lower.x, blocks.upper.x, *blocks.bounds(level))
    if noncrossing:
        distinct = blocks.event[blocks.steps]
        fitted = blocks.isotonic(blocks.labels)[0][np.searchsorted(distinct, x)]
        lower, upper = np.minimum(lower, fitted), np.maximum(upper, fitted)
    log_pvalue = float(blocks.log_pvalues(blocks.labels[None])[0])
    return ConfidenceBandCurve(
        x=x,
        lower=lower,
        upper=upper,
        level=level,
        above=_above(x, lower),
        below=tuple((1.0 - b, 1.0 - a) for a, b in _above(1.0 - x[::-1], 1.0 - upper[::-1])[::-1]),
        pvalue=max(float(np.exp(min(log_pvalue, 0.0))), float(np.finfo(float).tiny)),
        method=blocks.method,
        digits=blocks.digits,
        n=predictions.n,
    )


def _merged(
    below: Floats, above: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return both bounds at the predictions of either; they hold to the right and to the left."""
    x = np.union1d(below, above)
    left = np.searchsorted(below, x, side="right")
    right = np.searchsorted(above, x, side="left")
    return x, np.append(0.0, lower)[left], np.append(upper, 1.0)[right]


def band_limits_of_cells(
    cells: Cells, level: float, digits: int = DIGITS
) -> tuple[Floats, Floats, Floats]:
    """Compute the limits of "round" from cells: predictions, lower and upper bounds.

    Cells are grouped by their rounded ends, and a group counts as at its largest prediction for the
    lower bounds and at its smallest for the upper ones; so the limits are valid, and a cell wider
    at most.
    """
    if cells.weights is not None:
        raise NotApplicable(*NO_WEIGHTS)
    scale = 10.0**digits
    error = math.log1p(-level)
    below, events, sizes = _groups_of_cells(cells, np.ceil(cells.most * scale), last=True)
    lower = exact_lower_bounds(events, sizes, error - log_blocks(sizes.size))
    above, events, sizes = _groups_of_cells(cells, np.floor(cells.least * scale), last=False)
    others = (sizes - events)[::-1].copy()
    upper = 1.0 - exact_lower_bounds(others, sizes[::-1].copy(), error - log_blocks(sizes.size))
    return _merged(below, above, lower, upper[::-1])


def _groups_of_cells(cells: Cells, rounded: Floats, *, last: bool) -> tuple[Floats, Floats, Floats]:
    """Return the outermost prediction, events and rows of each group of cells."""
    start = np.flatnonzero(np.append(True, np.diff(rounded) > 0))
    end = np.append(start[1:], len(cells)) - 1
    counts = (np.add.reduceat(sums.astype(np.float64), start) for sums in (cells.events, cells.n))
    return (cells.most[end] if last else cells.least[start], *counts)  # type: ignore[return-value]


def _above(x: Floats, lower: Floats) -> Intervals:
    """Return where a lower bound that holds up to the next x lies above the diagonal."""
    pairs: list[tuple[float, float]] = []
    for start, bound, end in zip(x, lower, np.append(x[1:], np.inf), strict=True):
        if bound <= start:
            continue
        stop = float(min(bound, end))
        if pairs and pairs[-1][1] == start:
            pairs[-1] = (pairs[-1][0], stop)
        else:
            pairs.append((float(start), stop))
    return tuple(pairs)


@dataclass(frozen=True)
class BandOptions:
    """The method of a band and the digits to which it rounds."""

    method: str | None = None
    digits: int | None = None

    def __post_init__(self) -> None:
        if self.method is not None:
            validation.check_choice(self.method, METHODS, "method")
        check_digits(self.digits)
        if self.method in {"standard", "yang-barber"}:
            validation.check_unused(f"with method={self.method!r}", digits=self.digits)

    def resolved(self, distinct: int) -> tuple[str, int | None]:
        """Return the method for a number of distinct predictions, and its digits."""
        method = self.method
        if method is None:
            rounds = distinct > UNROUNDED_PREDICTIONS or self.digits is not None
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
        """See `log_blocks`."""
        return log_blocks(self.x.size)


def log_blocks(groups: int) -> float:
    """Return the logarithm of M^2 + M, twice the number of blocks: they have two sides."""
    return math.log(groups) + math.log(groups + 1)


class BandBlocks:
    """Rows in the order of their predictions, grouped for lower and for upper bounds."""

    def __init__(self, predictions: Predictions, options: BandOptions) -> None:
        if predictions.sample_weight is not None:
            raise NotApplicable(*NO_WEIGHTS)
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
        if groups > MOST_GROUPS and self.method != "yang-barber":
            remedy = "fewer digits" if self.digits else "method='round'"
            raise NotApplicable(
                f"{groups} groups of predictions have too many blocks for the confidence band, "
                f"which takes up to {MOST_GROUPS}",
                f"use {remedy}",
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


def check_digits(digits: object, name: str = "digits") -> int | None:
    """Check a number of decimal digits, or None for the default."""
    if digits is None:
        return None
    value = check_integer(digits, name)
    if value > MOST_DIGITS:
        raise invalid(f"{name} must be at most {MOST_DIGITS}", str(value), "pass 2 or 3")
    return value
