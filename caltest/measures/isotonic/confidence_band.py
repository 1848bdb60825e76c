"""Honest confidence bands of the curve of calibration and their p-value, Dimitriadis et al."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Unpack

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, invalid
from caltest.lenses.base import Evaluated, Seen
from caltest.measures.base import Measure
from caltest.measures.fits import Fit, ReadOnly, by_member
from caltest.measures.isotonic import band_loops
from caltest.measures.outcome import Outcome, outcome_of
from caltest.numerics.isotonic import pool_steps
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions
from caltest.types import Flags, Floats
from caltest.units import Observed, RowUnits, Statistic, Units, check_unweighted

__all__ = ["ConfidenceBand", "ConfidenceBandCurve", "confidence_band", "confidence_band_curve"]

Intervals = tuple[tuple[float, float], ...]

METHODS = ("standard", "round", "yang-barber")
UNROUNDED_PREDICTIONS = 2000  # distinct predictions up to which none is rounded by default
MOST_GROUPS = 50_000  # groups whose blocks are gone through at all
DIGITS = 3
MOST_DIGITS = 15
BOUNDS = {
    "standard": "Clopper-Pearson limits of all blocks",
    "round": "Clopper-Pearson limits of all blocks of rounded predictions",
    "yang-barber": "Hoeffding limits of all blocks",
}


def check_digits(digits: object, name: str = "digits") -> int | None:
    """Check a number of decimal digits, or None for the default."""
    if digits is None:
        return None
    value = checks.check_integer(digits, name)
    if value > MOST_DIGITS:
        raise invalid(f"{name} must be at most {MOST_DIGITS}", str(value), "pass 2 or 3")
    return value


@dataclass(frozen=True, kw_only=True)
class ConfidenceBand(Measure):
    """How far the diagonal is outside of the band; see `confidence_band`."""

    method: str | None = checks.option(None, checks.optional(checks.one_of(METHODS)))
    digits: int | None = checks.option(None, check_digits)

    key, title, symbol = "confidence-band", "honest confidence band", "-log10 p"
    drawn_as: ClassVar[str] = "confidence-band"
    forms: ClassVar[tuple[str, ...]] = ("rows",)
    interval_instead: ClassVar[str] = "test='ks', or the band itself, measures.confidence_band"
    nulls: ClassVar[tuple[str, ...]] = ("closed-form", "exact", "consistency")
    needs_rows: ClassVar[str] = "its limits are those of all blocks of distinct predictions"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method in {"standard", "yang-barber"}:
            checks.check_unused(f"with method={self.method!r}", digits=self.digits)

    def blocks(self, units: Units) -> BandBlocks:
        """Return the blocks of units."""
        title = "the confidence band counts observations and"
        check_unweighted(units, title, "use test='corp'")
        return BandBlocks(units.ordered("the confidence band"), self)

    def statistic(self, units: Units) -> Statistic:
        return self.blocks(units).statistic()

    def closed_form(self, predictions: Predictions) -> Outcome:
        """Return the smallest level at which the diagonal leaves the band."""
        blocks = self.blocks(RowUnits(predictions))
        value = blocks.value()
        notes = ("the band that it inverts holds any non-decreasing P(Y = 1 | p)",)
        about = {"parameters": blocks.parameters, "notes": notes, "is_bound": True}
        pvalue, text = min(1.0, 10.0**-value), BOUNDS[blocks.method]
        return outcome_of(self.symbol, value, pvalue, text, value, **about)


class Side:
    """Groups of units whose blocks bound the probability from one side.

    The upper bounds are one minus the lower bounds of the other label, in descending order: such a
    side is turned round.

    Attributes
    ----------
    ends : (units,) array of bool
        Whether a unit is the last of its group, in ascending order of the predictions.
    x : (M,) array
        The prediction that stands for each group, in ascending order: the largest for lower bounds,
        the smallest for upper bounds.
    sizes, along : (M,) array
        The number of rows of each group, and x, or one minus it, in the order of the side.
    turned : bool
        Whether it is that of the upper bounds.
    log_blocks : float
        The logarithm of M^2 + M, twice the number of blocks: they have two sides.
    """

    def __init__(self, units: Units, ends: Flags, *, turned: bool, last: bool) -> None:
        # Groups end there, each at its last or first prediction.
        at = np.flatnonzero(ends)
        self.ends, self.turned, self.start = ends, turned, np.append(0, at[:-1] + 1)
        self.x = units.most[at] if last else units.least[self.start]
        self.sizes, self.along = np.add.reduceat(units.size, self.start), self.x
        if turned:
            self.sizes, self.along = self.sizes[::-1].copy(), 1.0 - self.x[::-1]
        self.log_blocks = math.log(self.x.size) + math.log(self.x.size + 1)

    def events(self, observed: Observed) -> Floats:
        """Return the events (B, M) of each row of what is observed, of a turned side the others."""
        events = np.add.reduceat(observed, self.start, axis=1, dtype=np.float64)
        return np.ascontiguousarray(self.sizes - events[:, ::-1]) if self.turned else events

    def isotonic(self, observed: Observed) -> tuple[Floats, Flags]:
        """Return the isotonic fit at each distinct prediction, and where it rises."""
        mass, events, last = pool_steps(observed, np.ones(observed.size), self.ends)
        block_of = np.searchsorted(last, np.flatnonzero(self.ends))
        fitted, change = (events / mass)[block_of], np.diff(block_of) > 0
        if self.turned:
            return 1.0 - fitted[::-1], np.append(change, True)[::-1].copy()
        return fitted, np.append(True, change)


class BandBlocks(Fit):
    """Rows or cells, grouped for lower and for upper bounds, and -log10 of their p-value."""

    def __init__(self, units: Units, options: ConfidenceBand) -> None:
        super().__init__(units)
        self.scale, self.steps = 1.0, step_ends(units.mean)
        distinct, method, digits = np.count_nonzero(self.steps), options.method, options.digits
        if method is None:
            rounds = distinct > UNROUNDED_PREDICTIONS or digits is not None
            method = "round" if rounds else "standard"
        self.method, self.digits = method, (digits or DIGITS) if method == "round" else None
        self.parameters = {"method": self.method}
        lower = upper = self.steps
        if self.method == "round":
            scale = 10.0 ** (self.digits or 0)
            self.parameters["digits"] = self.digits
            lower = step_ends(np.ceil(units.most * scale))
            upper = step_ends(np.floor(units.least * scale))
        self.lower = Side(units, lower, turned=False, last=True)
        self.upper = Side(units, upper, turned=True, last=self.method != "round")
        groups = max(self.lower.x.size, self.upper.x.size)
        if groups > MOST_GROUPS and self.method != "yang-barber":
            many = f"{groups} groups of predictions have too many blocks for the confidence band"
            remedy = "use fewer digits" if self.digits else "use method='round'"
            raise NotApplicable(f"{many}, which takes up to {MOST_GROUPS}", remedy)

    def values(self, observed: Observed) -> Floats:
        return self.log_pvalues(observed) / -math.log(10.0)

    def log_pvalues(self, observed: Observed) -> Floats:
        """Return log p for each row of what is observed, (B,); beyond 0 where p would exceed 1."""
        found = []
        for side in (self.lower, self.upper):
            if self.method == "yang-barber":
                fits = (side.isotonic(row) for row in observed)
                most = [
                    band_loops.hoeffding_excess(fitted, side.sizes, at, side.along)
                    for fitted, at in fits
                ]
                found.append(side.log_blocks - np.array(most))
            else:
                tails = band_loops.smallest_tails(side.events(observed), side.sizes, side.along)
                found.append(side.log_blocks - tails)
        return np.minimum(*found)

    def limits(self, level: float) -> tuple[Floats, Floats, Floats]:
        """Return predictions with both bounds; they hold to the right and to the left."""
        ends = []
        for side in (self.lower, self.upper):
            constant = side.log_blocks - math.log1p(-level)
            if self.method == "yang-barber":
                fitted, starts = side.isotonic(self.units.observed)
                bounds = band_loops.hoeffding_lower_bounds(fitted, side.sizes, starts, constant)
            else:
                events = side.events(self.units.observed[np.newaxis])[0]
                bounds = band_loops.exact_lower_bounds(events, side.sizes, -constant)
            # Of the probability of the event, in ascending order of the predictions.
            ends.append(1.0 - bounds[::-1] if side.turned else bounds)
        lower, upper = ends
        x = np.union1d(self.lower.x, self.upper.x)
        left = np.searchsorted(self.lower.x, x, side="right")
        right = np.searchsorted(self.upper.x, x, side="left")
        return x, np.append(0.0, lower)[left], np.append(upper, 1.0)[right]


def confidence_band(
    probs: object,
    labels: object = None,
    *,
    method: str | None = None,
    digits: int | None = None,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute -log10 of the smallest level at which the diagonal leaves the confidence band.

    With the distinct predictions :math:`x_1 < ... < x_M`, and for each block of neighbours j to k
    the number n of its observations and y of its events, the band of `confidence_band_curve` leaves
    out the diagonal at level :math:`\alpha` if and only if :math:`p \le \alpha`, where

    .. math:: p = (M^2 + M) \min_{j \le k} \min \{P(Bin(n, x_k) \ge y), P(Bin(n, x_j) \le y)\}.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    method : {"standard", "round", "yang-barber"}, optional
        As in `confidence_band_curve`.
    digits : int, optional
        As in `confidence_band_curve`.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        Negative where p, a sum of error probabilities, is above 1; infinite where the labels are
        impossible.

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
    outcome predictions, Biometrika 110, theorem 1.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.confidence_band([0.5] * 10, [1] * 10)  # p = 2 / 2^10
    2.70926...
    """
    return ConfidenceBand(method=method, digits=digits).evaluate(probs, labels, **rows)


@dataclass(frozen=True, eq=False)
class ConfidenceBandCurve(ReadOnly):
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
    confidence: float = 0.95,
    method: str | None = None,
    digits: int | None = None,
    noncrossing: bool = False,
    **rows: Unpack[Seen],
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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

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
    level = checks.check_confidence(confidence)
    checks.check_flag(noncrossing, "noncrossing")
    measure = ConfidenceBand(method=method, digits=digits)
    band = partial(_band, measure=measure, level=level, noncrossing=noncrossing)
    return by_member(probs, labels, band, confidence_band_curve, rows)


def _band(
    predictions: Predictions, measure: ConfidenceBand, level: float, *, noncrossing: bool
) -> ConfidenceBandCurve:
    blocks = measure.blocks(RowUnits(predictions))
    rows = blocks.units
    x, lower, upper = blocks.limits(level)
    if noncrossing:
        distinct = rows.mean[blocks.steps]
        every = Side(rows, blocks.steps, turned=False, last=True)
        fitted = every.isotonic(rows.observed)[0][np.searchsorted(distinct, x)]
        lower, upper = np.minimum(lower, fitted), np.maximum(upper, fitted)
    log_pvalue = float(blocks.log_pvalues(rows.observed[None])[0])
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
