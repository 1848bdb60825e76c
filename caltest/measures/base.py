"""What a measure is: a value, its distribution when labels are redrawn, what else it offers."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, cast

import numpy as np

from caltest.checks import alphabet, check_jobs, warn_caller
from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.forecasts import Forecasts
from caltest.lenses import resolve_lens
from caltest.lenses.base import Evaluated, shown_by
from caltest.measures.bound import (
    BoundCells,
    BoundChunks,
    BoundGroups,
    BoundMeasure,
    CellStatistic,
    RowStatistic,
    flipped_statistic,
)
from caltest.measures.outcome import Ends, Gaps, Outcome, Part, RowTerms
from caltest.measures.residual_sums import Flippable, ResidualStatistic, of_row_terms
from caltest.numerics.class_sums import times_drawn
from caltest.numerics.loops import threads
from caltest.predictions import ModelData, Predictions
from caltest.predictions.options import MeasuredOptions, check_names, parted
from caltest.predictions.rows import Rows
from caltest.sources import Cells, ManyCells
from caltest.types import Floats, SmallInts
from caltest.units import CellUnits, RowUnits, ScoreSums, Statistic, Units
from caltest.units.units import check_one_dimension, row_weights

if TYPE_CHECKING:
    from caltest.kernels import MatrixKernel
    from caltest.measures.gap import Gap
    from caltest.measures.kernel.pairs import AllPairs
    from caltest.measures.tolerance import ToleranceTest

__all__ = ["BoundMeasure", "Measure"]


# What a measure with a statistic has for each form of units that this takes.
FROM_STATISTIC = {"bind_cells": "cells", "bind_groups": "groups", "residual_statistics": "clusters"}
REGISTRY: dict[str, type[Measure]] = {}  # filled by the package, in the order of its lines

CLASSES = "a lens that leaves classes, such as 'interval'"
TESTS, METHOD = "use one of the tests {tests}", "use method={measure.intervals[0]!r}"
EXACT, ROWS = "use null='exact'", "use engine='rows', or one of the tests {tests}"
DECLINES = {  # what a measure lacks, in words, and what to use instead
    "statistic": ("is no function of sums of residuals", "bind it"),
    "bind_cells": ("needs the rows{why}", ROWS),
    "bind_chunks": ("takes no rows by chunks", ROWS),
    "bind_pits": ("takes no numbers of rows in cells of the PIT", ROWS),
    "bind_groups": ("tests one group after the other", TESTS),
    "residual_statistics": ("has no test for rows that depend on each other", TESTS),
    "limit": ("has no limiting distribution", EXACT),
    "closed_form": ("has no null distribution in closed form", EXACT),
    "concentration_bound": ("has no concentration bound", EXACT),
    "degenerate_ustatistic": ("is no U-statistic", EXACT),
    "row_terms": ("is no sum over rows", EXACT),
    "tolerance": ("has no test with a tolerance", "use test={either}"),
    "outcome_of_counts": ("needs the rows of a grade", TESTS),
    "outcome_of_grades": ("needs the rows of the grades", TESTS),
    "grade_interval": ("needs rows", "use test_calibration"),
    "own_interval": ("has no interval of its own", METHOD),
    "gaps": ("is no norm of gaps", METHOD),
    "score_table": ("is no mean over rows", METHOD),
}


def declines(measure: Measure, capability: str) -> NotApplicable:
    """Return the error of a measure that lacks a capability; it names the tests that have it."""
    reason, remedy = DECLINES[capability]
    keys = keys_by_cells() if capability == "bind_cells" else keys_offering(capability, measure.of)
    tests = ", ".join(map(repr, keys))
    either = " or ".join(tests.rsplit(", ", 1))
    why = f": {measure.needs_rows}" if measure.needs_rows else ""
    if not keys and ("{tests}" in remedy or "{either}" in remedy):
        remedy = f"use {CLASSES}"
    return NotApplicable(
        f"{measure.description} {reason.format(why=why)}",
        remedy.format(measure=measure, tests=tests, either=either),
    )


def declining(capability: str) -> Any:
    """Return a member that declines, for what few measures offer."""

    def decline(measure: Measure, *_given: object, **_options: object) -> Any:
        raise declines(measure, capability)

    return decline


def keys_offering(capability: str, of: type[Rows] = Rows) -> tuple[str, ...]:
    """Return the keys of the named tests of some rows that offer it; see `Measure.offers`."""
    kinds = [kind for kind in REGISTRY.values() if issubclass(kind.of, of) or kind.of is Rows]
    tests = {key: kind(**own) for kind in kinds for key, own in kind.declared_tests().items()}
    able = (key for key, one in tests.items() if one.offers(capability))
    return tuple(key for key in able if capability not in tests[key].lacking)


def keys_by_cells() -> tuple[str, ...]:
    """Return the keys of the named tests with an exact null that have a version for cells."""
    offering = [measure for measure in REGISTRY.values() if measure.offers("bind_cells")]
    tests = {key: kind(**own) for kind in offering for key, own in kind.declared_tests().items()}
    return tuple(k for k, test in tests.items() if not test.needs_rows and "exact" in test.nulls)


def is_named(test: str) -> bool:
    """Tell whether a key is that of a test of `test_calibration`."""
    return any(test in kind.declared_tests() for kind in REGISTRY.values())


def side_of(test: str, alternative: str) -> str:
    """Return what a test looks for, where it looks for one direction of an error only."""
    kinds = (kind for kind in REGISTRY.values() if test in kind.declared_tests())
    return next((kind.sides.get(alternative, "") for kind in kinds), "")


class Measure(ABC):
    """A calibration error or score with its options, and what it offers besides its value.

    Subclasses are frozen dataclasses of options. What differs between measures is asked of the
    measure: one that knows more than its value overrides members below, which decline by default.
    It is a test under its own key; a measure that is none has `tests = {}`, and one that several
    tests are named after declares each of them with the options that its name stands for.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]  # every subclass is a dataclass

    def __post_init__(self) -> None:
        for one in fields(self):
            if "check" in one.metadata:
                one.metadata["check"](getattr(self, one.name), one.name)

    key: ClassVar[str]
    title: ClassVar[str]
    function: ClassVar[str | None] = None  # its name, where it is not that of the key
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = None  # key -> options it fixes
    alternative: ClassVar[str] = "greater"  # or "two-sided": which values speak against H0
    largest: ClassVar[float] = math.inf  # value that it can have where there are two classes
    sides: ClassVar[Mapping[str, str]] = {}  # what an alternative means, where it has a direction
    is_proper_score: ClassVar[bool] = False  # whether the true probabilities have the best mean
    no_interval: ClassVar[str] = (
        "is a statistic that grows with n and estimates no quantity that an interval could hold"
    )
    own_intervals: ClassVar[Mapping[str, str]] = {}  # keys and titles of what `own_interval` does
    forms: ClassVar[tuple[str, ...]] = ("rows", "cells", "groups", "clusters")  # see `takes`
    of: ClassVar[type[Rows]] = Predictions  # what it is a measure of
    drawn_as: ClassVar[str] = ""  # a plot of its own, see `plot_kind`
    convex_notes: ClassVar[tuple[str, ...]] = ()  # on an interval by the method "convex"
    is_squared: ClassVar[bool] = False  # the error of a deviation, whose root is steadier
    note_of_groups: ClassVar[str] = ""  # what to know of its test of all groups together
    least_score: ClassVar[float | None] = None  # of a row, where it is the mean of their scores
    bounds_mean_gap: ClassVar[bool] = False  # never below the mean gap of two classes (Jensen)
    interval_instead: ClassVar[str | None] = None  # of a statistic that grows with n
    cell_bins: ClassVar[tuple[int, ...]] = ()  # numbers of equal bins that are unions of cells
    lacking: ClassVar[tuple[str, ...]] = ()  # what its options take away of what its kind offers

    @property
    def witness_kernel(self) -> MatrixKernel | None:
        """The kernel of the function that shows where the error lies; None where there is none."""
        return None

    @property
    def needs_rows(self) -> str:
        """Why no cells take the place of the rows, where there is a why."""
        return ""

    @classmethod
    def offers(cls, capability: str) -> bool:
        """Tell whether the measure overrides a member that declines by default.

        One that has a `statistic` of units has what follows from it.
        """
        if cls.statistic is not Measure.statistic and FROM_STATISTIC.get(capability) in cls.forms:
            return True
        return getattr(cls, capability) is not getattr(Measure, capability)

    def check_of(self, seen: Rows, note: str = "", *, needed: str = "") -> None:
        """Raise NotApplicable unless it is a measure of such rows; a note says why it is tested.

        Of the other tests those are named that offer what is `needed`.
        """
        if isinstance(seen, self.of):
            return
        kinds = [kind for kind in REGISTRY.values() if isinstance(seen, kind.of)]
        able = [kind for kind in kinds if not needed or kind.offers(needed)]
        tests = ", ".join(repr(key) for kind in able for key in kind.declared_tests())
        raise NotApplicable(
            f"{self.description} is no measure of {type(seen).__name__}"
            + f" ({note})" * bool(note),
            "use " + f"one of the tests {tests}, or " * bool(tests) + CLASSES,
        )

    # ---- the value --------------------------------------------------------------------------

    def support(self, m: int) -> tuple[float, float]:
        """Return the range of what the measure estimates for m classes: intervals stay in it."""
        least = 0.0 if self.is_error else -math.inf
        return least, self.largest if m == 2 else math.inf

    @classmethod
    def function_name(cls) -> str:
        """Return the name in `caltest.measures` of the function that computes the measure."""
        return cls.function or cls.key.replace("-", "_")

    @classmethod
    def declared_tests(cls) -> Mapping[str, Mapping[str, object]]:
        """Return the tests that are named after the measure: their keys, and what each fixes."""
        return {cls.key: {}} if cls.tests is None else cls.tests

    @property
    @abstractmethod
    def symbol(self) -> str:
        """The name of the value, as printed."""

    def statistic(self, units: Units) -> Statistic:
        """Return the statistic of units, rows or cells, once for all forms of them.

        From it follow the values and exact p-values of rows, cells and very many groups, those of
        clusters by flipped signs, and intervals. A measure without one binds predictions itself.
        """
        raise declines(self, "statistic")

    def takes(self, form: str) -> bool:
        """Tell whether the statistic takes units of this form: "rows", "cells", "groups", ...

        Those are of very many groups of cells, and "clusters" are of rows that depend.
        """
        able = self.offers("statistic") and form in self.forms
        return able and not (form == "cells" and self.needs_rows)

    def bind(self, predictions: Any) -> BoundMeasure:
        """Do all that depends on the predictions alone."""
        return RowStatistic(self.statistic(self.rows(predictions)))

    def rows(self, predictions: Any) -> RowUnits:
        """Return the rows of predictions as the units that the statistic takes."""
        return RowUnits(predictions)

    def bind_cells(self, cells: Cells, *, alone: bool = False) -> BoundCells:
        """Do all that depends on the predictions alone, for cells of very many rows.

        `alone` tells that no other measure sees the redrawn numbers of these cells.
        """
        if self.takes("cells"):
            return CellStatistic(self.statistic(CellUnits(cells)), cells)
        raise declines(self, "bind_cells")

    def bind_counted(self, predictions: Any, *, alone: bool = True) -> BoundMeasure | None:
        """Bind to cells of rows in memory, where these are so many that cells are cheaper.

        Where the measure is not alone, other tests see the same redrawn labels.
        """
        takes = alone and self.offers("bind_pits")
        counts = predictions.counted(self.pit_groups) if takes else None
        with suppress(NotApplicable):
            return None if counts is None else self.bind_pits(counts)
        return None

    # Of numbers of forecasts by the cells of their PIT, and by as many groups of like ones.
    bind_pits: ClassVar[Callable[..., BoundMeasure]] = declining("bind_pits")
    pit_groups: ClassVar[int] = 1

    def takes_chunks_of(self, predictions: Predictions, n_resamples: int) -> bool:
        """Whether rows in memory are so many that chunks of them are cheaper, and what is held."""
        return False

    # Of a survey of very many rows and the names of the classes: all that depends on these alone.
    bind_chunks: ClassVar[Callable[..., BoundChunks]] = declining("bind_chunks")

    def bind_groups(self, many: ManyCells) -> BoundGroups:
        """Do all that depends on the predictions alone, for cells of very many groups."""
        if self.takes("groups"):
            return BoundGroups(self, many)
        raise declines(self, "bind_groups")

    @property
    def estimate_symbol(self) -> str:
        """The name of the calibration error that the value stands for; often the same."""
        return self.symbol

    @property
    def description(self) -> str:
        """The measure with its variant, as messages name it."""
        return self.title

    # ---- its tests --------------------------------------------------------------------------

    @property
    def nulls(self) -> tuple[str, ...]:
        """The nulls that have a meaning for this measure; the first is the default."""
        return ("exact", "consistency")

    # Tests of (predictions): by a limiting distribution, by a null distribution that has a formula
    # at every n, and by an inequality that holds for every model.
    limit: ClassVar[Callable[..., Outcome]] = declining("limit")
    closed_form: ClassVar[Callable[..., Outcome]] = declining("closed_form")
    concentration_bound: ClassVar[Callable[..., Outcome]] = declining("concentration_bound")
    # The measure of (predictions) as a U-statistic that is degenerate under calibration.
    degenerate_ustatistic: ClassVar[Callable[..., AllPairs]] = declining("degenerate_ustatistic")
    # The terms of rows of the predictions, for a statistic that is a function of their sum.
    row_terms: ClassVar[Callable[[Any, Predictions], RowTerms]] = declining("row_terms")
    # Tests of (d, n, pd, notes): d defaults of n obligors with the probability of default pd; and
    # of (pd, defaults, n), (G,) each: all grades together. No rows are needed.
    outcome_of_counts: ClassVar[Callable[..., Outcome]] = declining("outcome_of_counts")
    outcome_of_grades: ClassVar[Callable[..., Outcome]] = declining("outcome_of_grades")

    def residual_statistics(self, predictions: Any) -> Flippable:
        """Return the statistics of the residuals that test this measure where rows depend."""
        if self.takes("clusters"):
            own = self.statistic(self.rows(predictions))
            return [ResidualStatistic(partial(flipped_statistic, own))]
        lacks = declines(self, "residual_statistics")
        if predictions.censoring is not None:  # rows depend by their weights alone
            raise NotApplicable(f"{self.description} takes no censored rows", lacks.remedy)
        raise lacks

    def findings(self, predictions: Predictions) -> tuple[Part, ...]:
        """Return what the labels show of each statistic that the measure combines, in order."""
        return ()

    @property
    def tolerance(self) -> ToleranceTest | None:
        """The tests with a tolerance, of a measure that knows them; see `ToleranceTest`."""
        return None

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the nearest measure that is defined for few rows, down to one; often itself.

        Parameters
        ----------
        weighted : bool, default False
            Whether rows have sample weights. Where the measure takes none, their number is not
            what keeps it from being defined, and it stays as it is.
        """
        return self

    # ---- its confidence intervals -----------------------------------------------------------

    @property
    def intervals(self) -> tuple[str, ...]:
        """The methods of intervals that have a meaning for this measure; the first is the default.

        By default those of an error, which is 0 in the long run for calibrated predictions, or of
        any function of rows. The keys are those of `caltest.intervals.REGISTRY`.
        """
        return ("plug-in", "bca") if self.alternative == "greater" else ("bca",)

    def calibrated_value(self, predictions: Predictions) -> float | None:
        """Return what the estimate of calibrated predictions is about; None where unknown."""
        return 0.0 if self.alternative == "greater" else None

    @property
    def is_one_sided(self) -> bool:
        """Whether no value of the estimate below that of calibration speaks against it."""
        return self.alternative == "greater"

    @property
    def is_error(self) -> bool:
        """Whether the statistic is its own estimate, of an error that is 0 under calibration."""
        return self.alternative == "greater" and not self.offers("calibrated_value")

    # By a method of its own, whose key is in `own_intervals`: the interval of (predictions,
    # level=), and that of the default rate of a grade from (d, n, level=), without rows.
    own_interval: ClassVar[Callable[..., Ends]] = declining("own_interval")
    grade_interval: ClassVar[Callable[..., Ends]] = declining("grade_interval")

    def cell_interval(self, cells: Cells, *, level: float) -> Ends | None:
        """Bound the measure from cells by its own method; None where it has none."""
        return None

    def sized(self, gap: Gap) -> Gap:
        """Return the gap of the rows with an interval as wide as the measure has it."""
        return gap

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the gaps of which this error is a norm, for "convex"; weights are positive."""
        found = self.statistic(self.rows(predictions)) if self.offers("statistic") else None
        if found is None or found.norm is None:
            raise declines(self, "gaps")
        norm, gaps, mass = found.norm, found.units.residuals, np.array(found.units.mass)

        def vector(rows: SmallInts) -> Floats:
            counts = times_drawn(rows, mass.size).astype(np.float64)[np.newaxis]
            return np.asarray(norm.gaps(counts * gaps, counts * mass)[0])

        return Gaps(mass.size, vector, lambda v: float(norm.of(v[np.newaxis])[0]), norm.power)

    # The score (n, m) of each label of predictions, times the weights, for "unseen-events".
    score_table: ClassVar[Callable[[Any, Predictions], Floats]] = declining("score_table")

    @property
    def unrooted(self) -> Measure:
        """The unbiased square, where the measure is its root; else itself."""
        return self

    def unseen_reach(self, predictions: Predictions, a: float) -> float:
        """Return how much larger the error, or the root of a squared one, may be unseen.

        What the upper end adds for events that few rows may lack: each one-sided limit is missed
        with probability a.
        """
        return 0.0

    def mean_gap_tables(self, predictions: Predictions) -> Sequence[Floats]:
        """Return scores (n, m) of the labels whose means the error is never below, if any.

        Of an error that is the largest of many means, that where it has it. Resampled rows show
        none of them as skewed as few events make it.
        """
        if predictions.m != 2:
            return ()
        gap = np.asarray(np.arange(2.0) - predictions.probs[:, 1:])
        tables = (gap, -gap) if self.bounds_mean_gap else ()
        found = self.statistic(self.rows(predictions)) if self.offers("statistic") else None
        if found is None or found.norm is None or found.norm.mean_gap is None:
            return tables
        order, rows = cast("RowUnits", found.units).order, np.zeros(predictions.n)
        rows[slice(None) if order is None else order] = found.norm.mean_gap()
        return (*tables, rows[:, np.newaxis] * gap)

    def interval_notes(self, method: str, n: int) -> tuple[str, ...]:
        """Return what a reader of an interval by that method from n rows should know."""
        return self.convex_notes if method == "convex" else ()

    # ---- where the error lies ---------------------------------------------------------------

    def plot_kind(self, m: int) -> str:
        """Return the plot that shows best what was tested, for m classes under the lens.

        A kind of `HTest.plot`: a reliability diagram for two classes, for more the null
        distribution, unless the measure has a plot of its own.
        """
        return self.drawn_as or ("reliability" if m == 2 else "null")

    def evaluate(
        self,
        probs: object,
        labels: object = None,
        **rows: Unpack[Evaluated],
    ) -> float | Floats:
        """Return the value under a lens; an array, one value each, under a family of lenses."""
        function = getattr(sys.modules[self.__module__], self.function_name(), type(self))
        check_names(rows, Evaluated, function)
        read, how = parted(rows, MeasuredOptions)
        predictions: Any = ModelData(probs, labels, **read).rows()
        resolved = resolve_lens(how.get("lens", "strong"))
        resolved.claim_of(predictions)
        values = []
        with threads(check_jobs(how.get("n_jobs"))):
            for member in resolved.members(predictions):
                seen = shown_by(member, predictions).drawn_from
                self.check_of(seen)
                bound = self.bind(seen)
                for message in bound.degenerate:
                    warn_caller(message, DegenerateDataWarning)
                values.append(bound.value())
        return np.array(values) if resolved.is_family else values[0]


def event_table(probs: Floats) -> Floats:
    """Return the number of events of each label of two classes, (n, 2)."""
    return np.tile(np.arange(2.0), (len(probs), 1))


def event_terms(predictions: Predictions, measure: str, **options: bool) -> RowTerms:
    """Return the terms of the number of events; with sample weights of their sum."""
    check_one_dimension(predictions, measure)
    table = np.column_stack([np.zeros(predictions.n), row_weights(predictions)])
    return RowTerms.of(table, predictions, **options)


class OfOrderedClasses(Measure):
    """A measure that takes the classes in their order; it comes before that of the statistic."""

    def statistic(self, units: Units) -> Statistic:
        """Return the statistic, which says in which order classes of text count, if nobody did."""
        found = super().statistic(units)
        seen = cast("RowUnits", units).predictions if units.mean.ndim > 1 else None
        order = "" if seen is None or seen.ordinal else alphabet(seen.classes)
        note = f"the classes count in the order of their columns, {order}"
        return replace(found, notes=(*found.notes, note)) if order else found


class ForecastMeasure(Measure):
    """A measure of forecasts of numbers, whose rows are tested by redrawn outcomes."""

    nulls: ClassVar[tuple[str, ...]] = ("exact",)
    intervals: ClassVar[tuple[str, ...]] = ()
    interval_instead: ClassVar[str] = "a test of the lens 'interval', whose event has one"
    of = Forecasts
    forms: ClassVar[tuple[str, ...]] = ()


class LabelScore(Measure):
    """A measure that is a function of the sum over rows of a score; its test is two-sided."""

    alternative: ClassVar[str] = "two-sided"

    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the scores of each label, times the weights."""
        return RowTerms.of(self.score_table(predictions), predictions)

    def residual_statistics(self, predictions: Predictions) -> Flippable:
        """Return the sum of the terms of the rows, each less its mean."""
        return of_row_terms(self.row_terms(predictions), predictions)


class MeanScore(LabelScore):
    """The mean over rows of a score that is known for any probabilities, of rows or cells."""

    least_score: ClassVar[float | None] = 0.0
    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", "saddlepoint")
    intervals: ClassVar[tuple[str, ...]] = ("unseen-events", "studentized", "bca")

    @abstractmethod
    def scores(self, units: Units) -> ScoreSums:
        """Return the sums of the score."""

    def score_table(self, predictions: Predictions) -> Floats:
        return self.scores(RowUnits(predictions)).weighted

    def statistic(self, units: Units) -> Statistic:
        return self.mean(self.scores(units))

    def mean(self, sums: ScoreSums, **described: Any) -> Statistic:
        """Return the mean of the scores, with other fields of a statistic."""
        return Statistic(
            sums=sums,
            value=lambda scores: np.asarray(scores / sums.units.total),
            scale=sums.units.rounding,
            score_table=lambda: sums.table.T,
            **described,
        )

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return the mean score of labels drawn from the predictions."""
        weight, probs = row_weights(predictions), predictions.probs
        own = np.where(probs > 0, self.score_table(predictions), 0.0) * probs
        return float(own.sum() / weight.sum())
