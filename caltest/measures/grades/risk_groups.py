"""Chi-square statistics of observed and expected counts in groups along the predicted risk."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import NotApplicable
from caltest.measures.base import BoundMeasure, Measure, Order
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.label_scores import rounding_scale
from caltest.measures.one_dimension import score_order, sorted_rows
from caltest.measures.outcome import Outcome
from caltest.numerics.bins import event_counts
from caltest.numerics.loops import njit
from caltest.predictions import Predictions
from caltest.scale import Cells

Floats = NDArray[np.float64]
EXPECTED_FOR_LIMIT, LEAST_EXPECTED = 5, 1  # expected counts: the usual rules for the chi^2 limit
SHARE_OF_DF = 0.95  # a mean that is this share of the degrees of freedom costs little
Ints = NDArray[np.int64]
Labels = NDArray[np.unsignedinteger]
REDUCE = {"contract", "nsz", "reassoc"}  # lets sums run in several chains


@dataclass(frozen=True, kw_only=True)
class GroupedMeasure(Measure):
    """A sum over groups of squared deviations of counts, with a chi^2 limit."""

    groups: int = 10
    internal: bool = False

    def __post_init__(self) -> None:
        validation.check_integer(self.groups, "groups", 2)
        validation.check_flag(self.internal, "internal")

    @property
    def nulls(self) -> tuple[str, ...]:
        # A model is nearer to the labels that it was fitted to than to redrawn ones.
        return ("asymptotic",) if self.internal else ("exact", "consistency", "asymptotic")

    @property
    def interval_instead(self) -> str:
        return "test='debiased-ece' or 'ece'"

    @property
    def description(self) -> str:
        return f"{self.title} of the development sample" if self.internal else self.title

    @property
    @abstractmethod
    def lost(self) -> int:
        """Degrees of freedom, for each class but one, that fitting the model takes."""

    @abstractmethod
    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> GroupedCounts:
        """Do all that depends on the predictions alone."""

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the chi^2 limit; its degrees of freedom depend on what the model was fitted to."""
        bound = self.bind(predictions, n_jobs)
        df = bound.freedom - (self.lost * (predictions.m - 1) if self.internal else 0)
        if df < 1:
            groups = f"{bound.count} group{'s' if bound.count > 1 else ''}"
            groups += " with certain classes" if bound.degenerate else ""
            raise NotApplicable(
                f"the chi^2 limit has no degrees of freedom with {groups}",
                "use more groups, or internal=False and null='exact'",
            )
        sample = "development" if self.internal else "external"
        parameters = {**bound.parameters, "df": df, "sample": sample}
        notes = (*bound.notes, *self._which(bound, df), *bound.sparse())
        value = bound.value(n_jobs)
        return Outcome(
            statistic_name=self.symbol,
            statistic=value,
            pvalue=float(scipy.special.chdtrc(df, value)),
            estimate=value,
            alternative="greater",
            null_text=f"chi^2 limit with {df} degree{'s' if df > 1 else ''} of freedom",
            parameters=parameters,
            notes=notes,
            degenerate=bound.degenerate,
        )

    def _which(self, bound: GroupedCounts, df: int) -> tuple[str, ...]:
        """Return notes on what the degrees of freedom are for, and whether they are too many."""
        if self.internal:
            note = (
                f"df = {df} is for the sample that the model was fitted to; for other data, "
                "internal=False"
            )
            return (note,)
        note = (
            f"df = {df} is for data that the model was not fitted to; for its development sample, "
            "internal=True"
        )
        if bound.mean >= SHARE_OF_DF * df:
            return (note,)
        conservative = (
            f"predictions vary within groups, so that under calibration {self.symbol} has the mean "
            f"{bound.mean:.4g}, below df = {df}: the chi^2 limit is conservative; use null='exact'"
        )
        return note, conservative


class GroupedCounts(BoundMeasure):
    """Counts of labels in groups; the rows are kept in the order of the groups."""

    start: NDArray[np.int64]
    expected: Floats  # (groups, m)
    mean: float  # of the statistic under calibration

    def __init__(self, predictions: Predictions, wanted: int, title: str) -> None:
        super().__init__(predictions)
        _check_weights(predictions.sample_weight, title)
        self.scale = rounding_scale(predictions.n)
        self.wanted = wanted

    @property
    def count(self) -> int:
        """The number of groups that ties leave."""
        return self.start.size - 1

    @property
    @abstractmethod
    def freedom(self) -> int:
        """The rank of the deviations under calibration: what df is for external data."""

    def describe(self) -> None:
        """Set the parameters and notes, from the groups and expected counts."""
        self.parameters = {"groups": self.count}
        if self.count < self.wanted:
            self.notes = (f"ties and few rows leave {self.count} of {self.wanted} groups",)
        certain = int(np.count_nonzero((self.expected == 0).any(axis=1)))
        if certain:
            message = (
                f"in {certain} of {self.count} groups a class has the expected count 0: it adds 0 "
                "to the statistic, or infinity where it is observed"
            )
            self.degenerate = (message,)

    def sparse(self) -> tuple[str, ...]:
        """Return a note where expected counts are too small for the chi^2 limit."""
        few, fewer = (
            (self.expected < bound).sum() for bound in (EXPECTED_FOR_LIMIT, LEAST_EXPECTED)
        )
        if not few:
            return ()
        note = (
            f"{few} of {self.expected.size} expected counts are below {EXPECTED_FOR_LIMIT}, and "
            f"{fewer} below "
            f"{LEAST_EXPECTED}: the chi^2 limit is unreliable; use null='exact' for data that the "
            "model was "
            "not fitted to, or fewer groups"
        )
        return (note,)


class EventGroups(GroupedCounts):
    """Groups of two classes along P(class 1)."""

    def __init__(self, predictions: Predictions, wanted: int, title: str, *, pooled: bool) -> None:
        super().__init__(predictions, wanted, title)
        self.event, self._observed, _ = sorted_rows(predictions, f"the {title}")
        self.start = group_starts(self.event, wanted)
        size = np.diff(self.start)
        self.expected, variance = event_expectations(self.event, self.start)
        others, self._events = self.expected.T
        self._variance = others * self._events / size if pooled else variance
        possible = self._variance > 0
        self.mean = float((variance[possible] / self._variance[possible]).sum())
        self.describe()

    @property
    def freedom(self) -> int:
        return int(np.count_nonzero(self._variance))

    @cached_property
    def order(self) -> Order:
        return score_order(self.predictions)

    @property
    def observed(self) -> Labels:
        return self._observed

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        deviation = event_counts(labels, None, self.start) - self._events
        return np.asarray(standardised(deviation, self._variance).sum(axis=1))


class CellGroups(BoundCells):
    """Groups of two classes that end where cells do.

    A group ends with the cell in which it would end, of rows with equal predictions alike.
    """

    caution = "groups end where cells do, up to 2^-16 beyond the quantiles"

    def __init__(self, cells: Cells, wanted: int, title: str, *, pooled: bool) -> None:
        _check_weights(cells.weights, title)
        super().__init__(cells)
        self.start = cell_group_starts(cells, wanted)
        self._events = np.add.reduceat(cells.expected, self.start)
        self._variance = np.add.reduceat(cells.variance, self.start)
        if pooled:
            others = np.add.reduceat(cells.n - cells.expected, self.start)
            self._variance = others * self._events / np.add.reduceat(cells.n, self.start)
        count = self.start.size
        self.parameters = {"groups": count}
        if count < wanted:
            self.notes = (f"ties and few rows leave {count} of {wanted} groups",)

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        deviation = np.add.reduceat(labels, self.start, axis=1) - self._events
        return np.asarray(standardised(deviation, self._variance).sum(axis=1))


def _check_weights(weights: object, title: str) -> None:
    if weights is not None:
        raise NotApplicable(f"the {title} takes no sample weights", "use the test 'ece'")


def cell_group_starts(cells: Cells, groups: int) -> Ints:
    """Return the first cell of each group; see `group_starts`."""
    upto = np.cumsum(cells.n)
    low, rest = np.divmod(np.arange(1, groups) * (cells.rows - 1), groups)
    below = np.searchsorted(upto, low, side="right")
    above = np.searchsorted(upto, low + (rest > 0), side="right")
    # A break at the smallest prediction is none, unless it lies above it.
    inner = ((below > 0) | (above > below) | ~cells.is_point[0]) & (below < len(cells) - 1)
    return np.append(0, np.unique(below[inner]) + 1)


def standardised(deviation: Floats, variance: Floats) -> Floats:
    """Return deviation^2 / variance; where the variance is 0, 0 or infinity."""
    with np.errstate(over="ignore"):
        terms = np.square(deviation) / np.where(variance > 0, variance, 1.0)
    certain = np.where(deviation == 0, 0.0, np.inf)
    return np.asarray(np.where(variance > 0, terms, certain))


def group_starts(ordered: Floats, groups: int) -> Ints:
    """Return where each group of sorted scores starts, and where the last one ends.

    The groups are those of cut(score, unique(quantile(score, type = 7)), include.lowest = TRUE) in
    R. A break lies on a score or between two that are next to each other in order; groups are
    right-closed, so that the lower of the two cuts alike, and nothing is interpolated. Breaks that
    coincide with each other, or with the smallest or largest score, are one.
    """
    last = ordered.size - 1
    low, rest = np.divmod(np.arange(1, groups) * last, groups)
    below, above = ordered[low], ordered[low + (rest > 0)]
    inner = ((below > ordered[0]) | (above > below)) & (below < ordered[last])
    cuts = np.unique(below[inner])
    ends = np.searchsorted(ordered, cuts, side="right")
    return np.concatenate(([0], ends, [ordered.size])).astype(np.int64)


@njit(fastmath=REDUCE)
def event_expectations(event: Floats, start: Ints) -> tuple[Floats, Floats]:
    """Return the expected others and events (groups, 2), and the variance, sum p (1 - p).

    Others are summed for themselves: n less the events would lose those with p next to 1.
    """
    expected, variance = np.zeros((start.size - 1, 2)), np.zeros(start.size - 1)
    for g in range(start.size - 1):
        others = events = spread = 0.0
        for i in range(start[g], start[g + 1]):
            others += 1.0 - event[i]
            events += event[i]
            spread += event[i] * (1.0 - event[i])
        expected[g, 0], expected[g, 1], variance[g] = others, events, spread
    return expected, variance


@njit()
def class_counts(labels: Labels, start: Ints, m: int) -> Floats:
    """Return how often each class occurs in each group of rows, (B, groups, m)."""
    out = np.zeros((labels.shape[0], start.size - 1, m))
    for b in range(labels.shape[0]):
        for g in range(start.size - 1):
            for i in range(start[g], start[g + 1]):
                out[b, g, labels[b, i]] += 1.0
    return out
