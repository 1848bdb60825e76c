"""How far the mean prediction of an event is from its share, with an interval for few events."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from caltest.errors import NotApplicable, invalid
from caltest.numerics.ends import between_words
from caltest.numerics.event_tails import rate_limits
from caltest.numerics.loops import blocks
from caltest.numerics.tails import student_isf
from caltest.predictions import Predictions, event_column
from caltest.sources import Cells, ManyCells
from caltest.types import Flags, Floats, Ints

LEVEL = 0.95
ROUNDING = 1e-9
BLOCK = 1 << 14  # rows that stay in the cache
UNSEEN = 1.92  # squared residuals that rows of one label may have hidden: half of 1.96^2


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Which rows a place is of: what it takes to find them again.

    Attributes
    ----------
    event : str or None
        The class whose probability it is of; None for the predicted class, the confidence.
    above, below : float or None
        Ends of that probability. No prediction of the rows that were tested is equal to one, so
        that "from" and "above" select the same of them.
    predicted : str or None
        The predicted class of the rows; None for all.
    lens : str
        Under which this is said of the predictions.
    group : str or None
        The group of the rows; None for all.
    segment : str or None
        The conditions that rows of a segment meet.
    """

    event: str | None = None
    above: float | None = None
    below: float | None = None
    predicted: str | None = None
    lens: str = "strong"
    group: str | None = None
    segment: str | None = None

    @property
    def is_class(self) -> bool:
        """Whether it is a class as a whole."""
        return self.event is not None and (self.above, self.below, self.predicted) == (None,) * 3

    @property
    def words(self) -> str:
        """The place in words, with ends that select the same rows."""
        what = "the confidence" if self.event is None else f"P({self.event})"
        if self.predicted is not None:
            return f"{what} where {self.predicted} is predicted"
        every = "of all rows" if self.group is None else ""
        return f"{what} {between_words(self.above, self.below) or every}".rstrip()

    @property
    def own_lens(self) -> str:
        """The key of the lens that leaves the event alone."""
        return "confidence" if self.event is None else f"classwise[{self.event}]"

    @property
    def is_range(self) -> bool:
        """Whether it has an end."""
        return (self.above, self.below) != (None, None)

    def is_range_of(self, lens: str, event: str) -> bool:
        """Tell whether it is a range of the probability of that event, as a lens shows it."""
        if not self.is_range or self.predicted is not None:
            return False
        return lens == self.own_lens or (lens, event) == (self.lens, self.event)

    def inside(self, seen: Predictions) -> Flags:
        """Return which rows are in the place, (n,), of predictions as the lens shows them."""
        p, rows = self.rows(seen).probs, np.ones(seen.n, np.bool_)
        if self.above is not None:
            rows &= p > self.above
        if self.below is not None:
            rows &= p < self.below
        if self.predicted is not None:
            rows &= seen.predicted == self._code(self.predicted, seen)
        return rows

    def rows(self, seen: Predictions) -> EventRows:
        """Return the probability of the event in all rows, and whether it happened."""
        return rows_of_event(seen, None if self.event is None else self._code(self.event, seen))

    @staticmethod
    def _code(name: str, seen: Predictions) -> int:
        names = [str(one) for one in seen.classes]
        if name not in names:
            rule = f"predictions must have the class {name!r}, of which the place is"
            raise invalid(rule, ", ".join(names), "pass those that were tested")
        return names.index(name)

    def mask(self, predictions: Predictions) -> Flags:
        """Return which rows are in the place, (n,), of predictions as they were tested."""
        from caltest.lenses import resolve_lens

        if self.segment is not None:
            reason = f"predictions do not hold the columns of the segment {self.segment!r}"
            raise NotApplicable(reason, "filter the data by its conditions")
        out, numbers = np.zeros(predictions.n, np.bool_), np.arange(predictions.n)
        if self.group is not None:
            if predictions.groups is None:
                rule = f"predictions must have groups, of which the place is {self.group!r}"
                raise invalid(rule, "none", "pass groups=")
            numbers = numbers[[str(one) == self.group for one in predictions.groups.tolist()]]
        # Each row is a cluster, whose code it keeps where a lens leaves others out.
        seen = resolve_lens(self.lens)(predictions.subset(numbers).with_clusters(numbers))
        out[numbers[np.asarray(seen.clusters)[self.inside(seen)]]] = True
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A mean prediction against an observed share, over all rows or some of them.

    Attributes
    ----------
    kind : str
        "event" for the event of two classes, "confidence" for the predicted class; of a part of
        the rows "region", "class", "group" or "segment"; "difference" where predicted is what the
        curve of the other groups gives in a group.
    name : str
        The event, or which rows.
    n : int
        Rows.
    predicted, observed : float
        Mean prediction and share of events, weighted as the rows are.
    low, high : float
        Ends of the interval of observed - predicted.
    deviation : float
        Standard deviation of the gap if the predictions are calibrated.
    pvalue : float or None
        That they are calibrated there, adjusted where it is one of many.
    confidence : float
        Of the interval by itself: 0.95, or more where it is one of many that hold together.
    effective : float or None
        The number of independent rows of one prediction that would tell as much; None for n.
    clusters : int or None
        The number of clusters that the variance was estimated from, where rows depend.
    where : Where or None
        Which rows, where they are a part that can be found again.
    limits : callable or None
        Those of the share at a confidence, `level=`, where its rows are not independent.
    """

    kind: str
    name: str
    n: int
    predicted: float
    observed: float
    low: float
    high: float
    deviation: float
    pvalue: float | None = None
    confidence: float = LEVEL
    effective: float | None = None
    clusters: int | None = None
    where: Where | None = None
    limits: Callable[..., Any] | None = field(
        default=None, compare=False, repr=False, metadata={"json": "never"}
    )

    @classmethod
    def of(cls, **measured: Any) -> Self:
        """Return a gap with its 95 % interval, from its other fields."""
        return cls(low=0.0, high=0.0, **measured).at(LEVEL)

    def at(self, confidence: float) -> Self:
        """Return the same gap with an interval of another confidence."""
        size = float(self.n) if self.effective is None else self.effective
        if self.clusters is not None:  # Student's quantile for that of clusters
            tail = (1.0 - confidence) / 2.0
            size *= (student_isf(tail, np.inf) / student_isf(tail, self.clusters - 1)) ** 2
        ends: Any = share_limits(self.observed, size, confidence)
        if self.limits is not None:
            ends = (own := self.limits(level=confidence)).low, own.high
        low, high = (float(end) - self.predicted for end in ends)
        return replace(self, low=low, high=high, confidence=confidence)

    def one_of(self, count: int) -> Self:
        """Return it with an interval that holds for it and `count` - 1 others together in 95 %."""
        return self if count < 2 else self.at(1.0 - (1.0 - LEVEL) / count)

    def mask(self, predictions: Predictions) -> Flags:
        """Return which rows the gap is of, (n,) booleans.

        Parameters
        ----------
        predictions : Predictions
            As they were tested, before the lens; with groups= where the place is a group's.

        Returns
        -------
        (n,) array of bool
            A reader who filters by what is printed gets the same rows.

        Raises
        ------
        NotApplicable
            If it takes more than predictions to find them: the columns of a segment, or the lens
            "custom".
        InvalidInput
            If these predictions lack the class or the groups.
        """
        return (self.where or Where()).mask(predictions)

    @property
    def is_simultaneous(self) -> bool:
        """Whether the interval holds together with those of others that could have been picked."""
        return self.confidence > LEVEL

    @property
    def surely(self) -> float:
        """The end of the interval that is nearer to no gap, in size; 0 where that is inside."""
        return min(abs(self.low), abs(self.high)) if self.is_clear else 0.0

    @property
    def side(self) -> str:
        """Whether predictions are too "high" or too "low"."""
        return "high" if self.predicted > self.observed else "low"

    @classmethod
    def of_values(cls, values: Mapping[str, Any]) -> Gap:
        """Rebuild a gap from JSON."""
        where = values.get("where")
        gap = cls(**{**values, "where": None if where is None else Where(**where)})
        if not gap.low - ROUNDING <= gap.gap <= gap.high + ROUNDING:
            rule = f"low and high must be limits of observed - predicted ({gap.gap:.3g})"
            got = f"{gap.low:.3g} and {gap.high:.3g}"
            raise invalid(rule, got, "measure again: caltest once had predicted - observed")
        return gap

    @property
    def gap(self) -> float:
        """The observed share less the mean prediction: above 0 where predictions are too low."""
        return self.observed - self.predicted

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


class EventRows(NamedTuple):
    """Predictions of an event (n,), whether it happened, weights and clusters of the rows.

    All rows together may have a censoring, of which their weights were estimated.
    """

    probs: Floats
    happened: Flags | Floats
    weight: Floats | None = None
    clusters: Ints | None = None
    censoring: Any = None

    def of(self, some: Flags) -> EventRows:
        """Return some of the rows."""
        return EventRows(*(None if column is None else column[some] for column in self[:-1]))  # type: ignore[arg-type]


def gap_of(rows: EventRows, kind: str, name: str) -> Gap:
    r"""Measure the gap of some rows.

    The interval is that of Korn and Graubard for the share of events: the limits of Clopper and
    Pearson for an effective number of rows :math:`\bar y (1 - \bar y) / v`, with v the variance of
    the mean residual, by the jackknife over clusters where rows depend. v is no less than that of
    calibrated predictions, nor than few rows could hide. Independent rows have no wider limits
    than the binomial ones, which hold for events of any probabilities (Hoeffding 1956).

    References
    ----------
    Korn, Graubard (1998), Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data, Survey Methodology 24; Clopper, Pearson (1934),
    Biometrika 26; Hoeffding (1956), On the distribution of the number of successes in independent
    trials, Ann. Math. Statist. 27.
    """
    p, weight = np.ascontiguousarray(rows.probs), rows.weight
    if weight is None:
        mass = square = float(p.size)
        predicted, observed = float(p.mean()), float(rows.happened.sum() / p.size)
    else:
        mass, square = float(weight.sum()), float(weight @ weight)
        predicted, observed = float(weight @ p) / mass, float(weight @ rows.happened) / mass

    def weighted(values: Floats, some: slice) -> Floats:
        return values if weight is None else weight[some] * values

    def residuals(some: slice) -> Floats:
        return weighted(rows.happened[some] - p[some] - (observed - predicted), some)

    variance = squares = 0.0
    for some in blocks(p.size, BLOCK):
        own = residuals(some)
        squares += float(own @ own)
        variance += float(weighted(p[some], some) @ weighted(1.0 - p[some], some))
    gap = gap_of_sums(kind, name, p.size, predicted, observed, variance, squares, (mass, square))
    if rows.clusters is None:
        return gap
    each, most = residuals(slice(None)), gap.effective or float(p.size)
    if rows.censoring is not None:
        each, most = rows.censoring.influences(each), float(p.size)
    codes = np.unique(rows.clusters, return_inverse=True)[1]
    others = 1.0 - np.bincount(codes, weight) / mass
    count, scale, size = others.size, observed * (1.0 - observed) * mass * mass, float(others.size)
    if count < 2 or scale == 0 or others.min() <= 0:
        return replace(gap, effective=min(gap.effective or size, size)).at(LEVEL)
    sums = np.bincount(codes, each) / others
    size = scale / max((size - 1) / size * float(sums @ sums), 1e-300)
    return replace(gap, effective=min(most, size), clusters=count).at(LEVEL)


def gap_of_cells(cells: Cells, kind: str, name: str) -> Gap:
    """Measure the gap of the rows of cells, as `gap_of` does.

    The squared residuals are those of predictions at the mean of their cell, and where weights
    differ within it, at the mean of those of its rows.
    """
    mass, excess = cells.mass, cells.events - cells.expected
    predicted, observed = float(cells.expected.sum()) / mass, float(cells.events.sum()) / mass
    gap, own = observed - predicted, excess * (cells.squares / cells.n)
    weight, variance = float(cells.squares.sum()), float(cells.noise.sum())
    squares = float(cells.square_residuals(excess).sum()) - 2.0 * gap * float(own.sum())
    squares += gap * gap * weight
    given = predicted, observed, variance, squares, (mass, weight)
    return gap_of_sums(kind, name, cells.rows, *given)


def gap_of_sums(
    kind: str,
    name: str,
    rows: int,
    predicted: float,
    observed: float,
    variance: float,
    squares: float,
    weights: tuple[float, float] | None = None,
) -> Gap:
    """Measure the gap of many rows, as `gap_of` does.

    Parameters
    ----------
    kind, name : str
        As in the result.
    rows : int
        Their number.
    predicted, observed : float
        The mean prediction and the share of events.
    variance : float
        The sum of w^2 p (1 - p).
    squares : float
        The sum of the squared residuals, about their mean, times w^2.
    weights : tuple of float, optional
        The sums of w and of w^2; by default both are the number of rows.
    """
    mass, square = weights or (float(rows), float(rows))
    spread = max(squares, variance, UNSEEN * square / rows)
    return Gap.of(
        kind=kind,
        name=name,
        n=rows,
        predicted=predicted,
        observed=observed,
        deviation=math.sqrt(variance) / mass,
        effective=float(effective_rows(observed, mass, square, spread)),
    )


def effective_rows(share: Any, mass: Any, square: Any, spread: Any) -> Any:
    """Return the number of rows of one prediction that would tell as much; see `gap_of`.

    Parameters
    ----------
    share : float or (G,) array
        Of events.
    mass, square : float or (G,) array
        The sums of w and of w^2.
    spread : float or (G,) array
        The variance of the sum of the residuals.
    """
    n = mass * mass / square  # Kish
    scale = share * (1.0 - share) * mass * mass
    return np.where(scale == 0, n, np.maximum(n, scale / spread))


def limits_of_groups(many: ManyCells) -> tuple[Floats, Floats]:
    """Return the limits of observed - predicted in each group of cells, as `gap_of_cells` does."""
    n, events, variance = many.n.astype(np.float64), many.events, many.variance
    predicted, observed = many.expected / n, events / n
    excess = many.cells.events - many.cells.expected
    squares = variance + many.sums(excess * (1.0 - 2.0 * many.cells.mean))
    squares -= n * np.square(predicted - observed)
    spread = np.maximum(np.maximum(squares, variance), UNSEEN)
    low, high = share_limits(observed, effective_rows(observed, n, n, spread))
    return low - predicted, high - predicted


def gap_of_counts(predicted: float, events: int, n: int, name: str) -> Gap:
    """Measure the gap of a number of events among n rows of the same prediction."""
    return Gap.of(
        kind="event",
        name=name,
        n=n,
        predicted=predicted,
        observed=events / n,
        deviation=math.sqrt(predicted * (1.0 - predicted) / n),
    )


def share_limits(shares: Any, sizes: Any, confidence: float = LEVEL) -> tuple[Floats, Floats]:
    """Return the limits of Clopper and Pearson, for numbers of rows that need not be whole.

    Parameters
    ----------
    shares, sizes : float or (G,) array
        Shares of events, and the numbers of rows, each by itself.
    confidence : float
        That of each interval.
    """
    return rate_limits(shares * sizes, sizes, (1.0 - confidence) / 2.0)


def event_rows(predictions: Predictions) -> EventRows:
    """Return the second of two classes, of more whether the predicted class is right."""
    return rows_of_event(predictions, 1 if predictions.m == 2 else None)


def rows_of_event(seen: Predictions, code: int | None) -> EventRows:
    """Return the rows of a class as the event, or of None of a right prediction."""
    if code == 1 and seen.m == 2:
        p = event_column(seen)
    else:
        p = seen.probs.max(axis=1) if code is None else seen.probs[:, code]
    happened = seen.labels == (seen.predicted if code is None else code)
    clusters = seen.clusters if seen.has_dependence else None
    if code == 1 and seen.happened_partly is not None:
        happened = seen.happened_partly
    return EventRows(p, happened, seen.sample_weight, clusters, seen.censoring)
