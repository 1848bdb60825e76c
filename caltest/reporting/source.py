"""What a report is made from: rows in memory, or cells that very many rows were counted in.

Both answer the same questions, of which the sections are made. Sections that need the rows ask for
`predictions`, which counted rows do not have; `absent` says so, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from caltest.checks import check_choice
from caltest.errors import NotApplicable
from caltest.htests import DEFAULT, test_calibration
from caltest.htests.asked import Asked, as_columns
from caltest.htests.cells import CountedRows, Prepared, counted_rows
from caltest.htests.places import CellSearch, RowSearch
from caltest.lenses import Classwise, Lens, Strong, resolve_lens
from caltest.measures import Measure
from caltest.measures.gap import Gap, event_rows, gap_of, gap_of_cells
from caltest.measures.scores.auc import AUC, area_of_cells, area_of_rows
from caltest.nulls.exact import bind_cells
from caltest.plots.seen import CellsEvent, RowsEvent
from caltest.predictions import ModelData, Predictions
from caltest.reporting.about import cells_hash, data_hash, named_event
from caltest.reporting.content import ClassCount, Settings
from caltest.reporting.reading import sentence
from caltest.reporting.tested import TestPlan, measure_of, table_of
from caltest.reporting.where import round_cuts
from caltest.results import HTest, HTestTable
from caltest.results.base import plain
from caltest.sources import Cells, Counting
from caltest.sources.sources import ENGINES, ROWS, Reader, source_of
from caltest.sources.sources import Source as Table
from caltest.types import Floats, Ints

if TYPE_CHECKING:
    from caltest.calibrators.base import CalibrationSet

Tested = tuple[HTestTable, list[str]]  # and what is not tested, and why

ABSENT = (
    "What needs the rows is not on this page: recalibration, segments, grades, the tolerance, the "
    "witness, and the pictures of the belt and of decisions; engine='rows' reads them."
)
COUNTED = (
    "The rows were counted in {count:,} cells of predicted probability, at most 2^-16 wide, and "
    "the tests are computed from their numbers of rows and events."
)
BLOCK = 1 << 20  # probabilities at a time


class Rows:
    """Rows in memory.

    Attributes
    ----------
    predictions : Predictions
        The rows.
    plan : TestPlan
        What is tested.
    logits : CalibrationSet or None
        What calibrators are fitted to, where the rows were given as logits.
    hashed : str
        The SHA-256 of the data.
    lens : str
        Under which there is one event: that of two classes, or that the predicted class is right.
    seen : Predictions
        The event of the rows.
    event : RowsEvent
        The same, as diagrams ask for it.
    label_counts : (m,) array of int
        The number of rows of each class, whatever their weights.
    absent, cautions : tuple of str
        What a page of such rows lacks, and what a reader should know of them.
    """

    absent: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def __init__(
        self,
        predictions: Predictions,
        plan: TestPlan | None = None,
        logits: CalibrationSet | None = None,
        hashed: str | None = None,
    ) -> None:
        self.predictions, self.logits = predictions, logits
        self.plan = TestPlan(()) if plan is None else plan
        self.hashed = data_hash(predictions) if hashed is None else hashed
        self.name, self.n, self.m = predictions.source, predictions.n, predictions.m
        self.weight = predictions.sample_weight
        self.lens = "strong" if self.m == 2 else "confidence"
        self.seen = resolve_lens(self.lens)(predictions)
        self.event = RowsEvent(self.seen)
        self.label_counts = np.bincount(predictions.labels, minlength=self.m)

    @property
    def effective(self) -> float:
        """The number of rows of equal weight that would tell as much."""
        weight = self.weight
        return float(self.n if weight is None else weight.sum() ** 2 / (weight @ weight))

    def tests(self, settings: Settings) -> Tested:
        """Run the plan; tests that are not defined for the data are noted instead."""
        rows: list[HTest] = []
        left_out: list[str] = []
        for test, lens in self.plan.entries:
            try:
                part = self._run(test, lens, settings)
            except NotApplicable as error:
                if (test, lens) == self.plan.entries[-1] and not rows:
                    raise
                left_out.append(f"{test}, lens {lens}: {sentence(error)}")
                continue
            rows += part.rows
            left_out += part.notes
        return table_of(rows, settings), left_out

    def groups(self, settings: Settings) -> HTestTable | None:
        """Test each group, where there are some."""
        if self.predictions.groups is None:
            return None
        return self._run(DEFAULT, "strong", settings, by=True)

    def _run(
        self, test: str | Measure, lens: str | Lens, settings: Settings, *, by: bool | None = None
    ) -> HTestTable:
        """Run one test under one lens; a single result becomes a table of one row."""
        settings.progress(f"{test}, lens {lens}")
        own: dict[str, Any] = {"test": test, "lens": lens, "correction": settings.correction}
        found: Any = test_calibration(None, self.predictions, by=by, **own, **settings.of_draws)
        return found if isinstance(found, HTestTable) else table_of([found], settings)

    def search(self) -> RowSearch:
        """Return the classes and ranges that are candidates for places."""
        return RowSearch(self.predictions, round_cuts, pairs=0)

    def gap(self) -> Gap:
        """Measure the gap of the event in all rows."""
        return gap_of(event_rows(self.seen), "event", "all rows")

    def area(self) -> AUC:
        """Return the area under the ROC curve, of several classes the mean over their pairs."""
        return area_of_rows(self.predictions)

    def class_counts(self) -> tuple[ClassCount, ...]:
        """Count each class, with the weights of the rows."""
        data, weight = self.predictions, self.weight
        expected = data.probs.sum(axis=0) if weight is None else weight @ data.probs
        counts = [np.bincount(codes, weight, self.m) for codes in (data.labels, data.predicted)]
        columns = (np.asarray(one, np.float64) for one in (counts[0], expected, counts[1]))
        return class_counts(data.classes.tolist(), *(one.tolist() for one in columns))

    def group_sizes(self, _tested: HTestTable | None) -> tuple[tuple[object, int], ...]:
        """Count the rows of each group."""
        if self.predictions.groups is None:
            return ()
        names, counts = np.unique(self.predictions.groups, return_counts=True)
        return tuple(zip(map(plain, names.tolist()), counts.tolist(), strict=True))

    def extremes(self) -> tuple[bool, int, int]:
        """Whether all rows are alike; how many have a certain class, and how many an impossible."""
        probs, labels = self.predictions.probs, self.predictions.labels
        alike, certain, impossible = True, 0, 0
        for rows in self._blocks():
            part = probs[rows]
            alike = alike and bool((part == probs[0]).all())
            certain += int(np.count_nonzero(part.max(axis=1) == 1))
            seen = part[np.arange(len(part)), labels[rows]]
            impossible += int(np.count_nonzero(seen == 0))
        return alike, certain, impossible

    def score_sums(self) -> Iterator[tuple[str, Floats, float]]:
        """Yield name, (value, mean, variance under calibration) and largest value of scores.

        Yields
        ------
        tuple
            Of accuracy, Brier score and log loss.
        """
        weight = np.ones(self.n) if self.weight is None else self.weight
        weight = weight / weight.sum()
        out = np.zeros((3, 3))
        for rows in self._blocks():
            probs, labels = self.predictions.probs[rows], self.predictions.labels[rows]
            right = np.zeros_like(probs)
            right[np.arange(len(probs)), probs.argmax(axis=1)] = 1.0
            part = weight[rows]
            for number, table in enumerate((right, *score_tables(probs))):
                finite = np.where(probs > 0, table, 0.0)  # a class of probability 0 adds nothing
                mean = np.einsum("ik,ik->i", probs, finite)
                square = np.einsum("ik,ik,ik->i", probs, finite, finite)
                value = part @ table[np.arange(len(probs)), labels]
                out[number] += value, part @ mean, np.square(part) @ (square - np.square(mean))
        unit = 0.5 if self.m == 2 else 1.0  # the Brier score of two classes is halved
        out[1] *= unit, unit, unit * unit
        yield "accuracy", out[0], 1.0
        yield "Brier score", out[1], 2.0 * unit
        yield "log loss", out[2], np.inf

    def _blocks(self) -> Iterator[slice]:
        step = max(1, BLOCK // self.m)
        return (slice(start, start + step) for start in range(0, self.n, step))


def class_counts(names: Iterable[object], *columns: Iterable[Any]) -> tuple[ClassCount, ...]:
    """Return the classes with what was observed, expected and predicted of each."""
    return tuple(ClassCount(plain(name), *own) for name, *own in zip(names, *columns, strict=True))


def score_tables(probs: Floats) -> Iterator[Floats]:
    """Yield what each class as the label would add to the Brier score and to the log loss.

    Yields
    ------
    (n, m) array
        The Brier score is that of several classes, twice that of two.
    """
    yield 1.0 - 2.0 * probs + np.square(probs).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        yield -np.log(probs)


class Counted:
    """Rows that were counted in cells of the events of some lenses; see `Rows`.

    Parameters
    ----------
    whole, grouped : CountedRows
        The cells of all rows, and those of each group, where there are some.
    plan : TestPlan
        What is tested; its first lens is the one that has the event.
    given : ModelData
        Which columns are what.
    """

    absent = (ABSENT,)
    predictions = logits = weight = None

    def __init__(
        self, whole: CountedRows, grouped: CountedRows | None, plan: TestPlan, given: ModelData
    ) -> None:
        self.whole, self.grouped, self.plan, self.given = whole, grouped, plan, given
        self.cells: Cells = whole.events[0][None]
        self.name, self.n, self.m = whole.name, self.cells.rows, len(whole.classes)
        self.effective = float(self.n)
        self.hashed = cells_hash(zip(whole.lenses, whole.events, strict=True))
        self.lens = str(whole.lenses[0])
        self.event = CellsEvent(self.cells)
        count = sum(len(by_group[None]) for by_group in whole.events if by_group)
        left_out = (f"{text[0].upper()}{text[1:]}." for text in whole.left_out)
        self.cautions = (COUNTED.format(count=count), *left_out)

    @property
    def label_counts(self) -> Ints | None:
        """The number of rows of each of two classes, where their cells were counted."""
        counts = self.class_counts() if self.m == 2 else ()
        return np.array([one.observed for one in counts], np.int64) if counts else None

    def tests(self, settings: Settings) -> Tested:
        """Run the plan, all tests of a lens for the same redrawn events."""
        rows: list[HTest] = []
        for lens, entries in groupby(self.plan.entries, key=lambda entry: entry[1]):
            settings.progress(f"tests, lens {lens}")
            found = self._run(self.whole, lens, [test for test, _ in entries], settings)
            rows += found.rows if isinstance(found, HTestTable) else [found]
        if settings.correction == "joint" and len({row.lens for row in rows}) > 1:
            settings = replace(settings, correction="holm")  # each lens has redrawn its own events
        return table_of(rows, settings), []

    def groups(self, settings: Settings) -> HTestTable | None:
        """Test each group, where there are some, by the first test of the plan."""
        if self.grouped is None:
            return None
        settings.progress("groups")
        test, lens = self.plan.entries[0]
        found = self._run(self.grouped, lens, [test], settings)
        return found if isinstance(found, HTestTable) else table_of([found], settings)

    def _run(
        self, counted: CountedRows, lens: str | Lens, tests: Sequence[Any], settings: Settings
    ) -> HTest | HTestTable:
        lens, draws = resolve_lens(lens), settings.of_draws
        own: dict[str, Any] = {"seed": draws.pop("rng"), "correction": settings.correction}
        measures = list(dict(map(measure_of, tests)).items())
        asked = Asked(given=self.given, measures=measures, lenses=[lens], **own, **draws)
        return counted.under(lens.members_of(self.whole.classes)).run(asked)

    def search(self) -> CellSearch:
        """Return the ranges that are candidates for places."""
        return CellSearch(self.cells, round_cuts)

    def gap(self) -> Gap:
        """Measure the gap of the event in all rows."""
        return gap_of_cells(self.cells, "event", "all rows")

    def area(self) -> AUC:
        """Return the area under the ROC curve of two classes."""
        if self.m > 2:
            raise NotApplicable("pairs of several classes need the rows", "use engine='rows'")
        return area_of_cells(self.cells)

    def class_counts(self) -> tuple[ClassCount, ...]:
        """Count both of two classes, or those of several that the lens "classwise" has."""
        events = dict(zip(self.whole.lenses, self.whole.events, strict=True))
        if self.m > 2:
            of_class = ((one, cells) for one, cells in events.items() if isinstance(one, Classwise))
            return tuple(
                ClassCount(plain(k), float(one.events.sum()), float(one.expected.sum()), None)
                for k, one in [(one.k, cells[None]) for one, cells in of_class if cells]
            )
        if Strong() not in events:
            return ()
        cells = events[Strong()][None]
        likely = int(cells.n[cells.mean > 0.5].sum())
        counts = int(cells.events.sum()), float(cells.expected.sum()), likely
        return class_counts(self.whole.classes, *((cells.rows - count, count) for count in counts))

    def group_sizes(self, tested: HTestTable | None) -> tuple[tuple[object, int], ...]:
        """Count the rows of each group that is tested."""
        sizes = {} if tested is None else {row.group: row.n for row in tested.rows}
        return tuple((plain(name), n) for name, n in sizes.items())

    def extremes(self) -> tuple[bool, int, int]:
        """Whether all rows are alike; how many have a certain class, and how many an impossible."""
        cells = self.cells
        never, always = cells.most == 0, cells.least == 1
        impossible = int(cells.events[never].sum()) + int((cells.n - cells.events)[always].sum())
        alike = self.m == 2 and len(cells) == 1 and bool(cells.is_point[0])
        return alike, int(cells.n[never | always].sum()), impossible

    def score_sums(self) -> Iterator[tuple[str, Floats, float]]:
        """Yield name, (value, mean, variance under calibration) and largest value of scores.

        Yields
        ------
        tuple
            Of Brier score and log loss.
        """
        cells = self.cells
        tables = score_tables(np.column_stack([1.0 - cells.mean, cells.mean]))
        scores = (("Brier score", "brier", 0.5, 1.0), ("log loss", "log-loss", 1.0, np.inf))
        for table, (name, key, unit, most) in zip(tables, scores, strict=True):
            bound = bind_cells(measure_of(key)[1], cells)
            finite = np.where(np.isinf(table).any(axis=1, keepdims=True), 0.0, table)
            slope = unit * (finite[:, 1] - finite[:, 0])
            variance = float(np.square(slope) @ cells.variance) / cells.mass**2
            yield name, np.array([bound.value(), bound.calibrated, variance]), most


Source = Rows | Counted


def read_rows(
    given: ModelData,
    plan: Callable[[Predictions], TestPlan],
    *,
    event: str | None,
    fitted: bool,
    name: str | None = None,
) -> Rows:
    """Read the rows and, where maps are fitted to logits, these.

    Parameters
    ----------
    given : ModelData
        Model and data.
    plan : callable
        Returns what is tested of predictions.
    event : str or None
        What classes that are 0 and 1 are named by.
    fitted : bool
        Whether maps are fitted.
    name : str, optional
        What the rows are read from, where the data do not say.
    """
    if fitted and given.from_logits:
        from caltest.comparison.maps import read_inputs

        predictions, logits = read_inputs(given)
    else:
        found = given.rows()
        if not isinstance(found, Predictions):
            from caltest.reporting.forecasts import ForecastRows

            return ForecastRows(cast("Any", found), plan(cast("Any", found)))
        predictions, logits = found, None
    if name is not None:
        predictions = predictions.from_source(name)
    hashed = data_hash(predictions)
    names = named_event(predictions.classes.tolist(), event)
    if names is not None:
        predictions = Predictions.trusted(
            predictions.probs, predictions.labels, np.array(names), like=predictions
        )
    return Rows(predictions, plan(predictions), logits, hashed)


def count_rows(
    table: Table,
    given: ModelData,
    plan: Callable[[int], TestPlan],
    *,
    event: str | None,
    settings: Settings,
    on_error: str,
) -> Counted:
    """Count the rows of a table in one query.

    Parameters
    ----------
    table, given : Source, ModelData
        Where the rows lie, and which columns are what.
    plan : callable
        Returns what is tested of so many classes, by tests that cells are enough for.
    event : str or None
        What classes that are 0 and 1 are named by.
    settings : Settings
        What all tests share.
    on_error : {"raise", "skip"}
        Whether what is wrong is left out.
    """
    by = as_columns(given.by)
    named = {"label": given.label, "probs": given.probs, "classes": given.classes, "by": by}
    reader = Reader(table, named, on_error=on_error)
    settings.progress("counting")
    columns = reader.columns()
    tested = plan(len(columns.classes))
    lenses = dict.fromkeys(resolve_lens(lens) for _, lens in tested.entries)
    members = [one for lens in lenses for one in lens.members_of(columns.classes)]
    bins = {count for test, _ in tested.entries for count in measure_of(test)[1].cell_bins}
    prepared = Prepared(reader, Counting(columns, tuple(members), tuple(sorted(bins))))
    prepared.counting.check()
    cells = reader.count(prepared.counting)
    whole = _named(counted_rows(prepared, cells, grouped=False), event)
    whole.suspect()
    grouped = _named(counted_rows(prepared, cells, grouped=True), event) if by else None
    return Counted(whole, grouped, tested, given)


def _named(counted: CountedRows, event: str | None) -> CountedRows:
    """Name classes that are 0 and 1 by the event that the author states."""
    names = named_event(counted.classes, event)
    if names is None:
        return counted
    events = tuple(
        {group: replace(cells, no_event=names[0], event=names[1]) for group, cells in some.items()}
        if lens == Strong()
        else some
        for lens, some in zip(counted.lenses, counted.events, strict=True)
    )
    return replace(counted, classes=names, events=events)


def table_to_count(
    engine: str, given: ModelData, needs_rows: Mapping[str, object], *, skips: bool
) -> tuple[Table | None, bool]:
    """Return where the rows of a report lie, if they are in no array, and whether to count them.

    Raises
    ------
    NotApplicable
        If cells are asked for, and with them something that needs the rows.
    """
    check_choice(engine, ENGINES, "engine")
    alone = given.data if given.model is None else given.model if given.data is None else None
    table = None if alone is None else source_of(alone)
    wanted = [name for name, value in needs_rows.items() if value]
    if engine == "cells" and table is None:
        rule = "engine='cells' takes a data frame, a lazy one, paths or an iterator of frames"
        raise NotApplicable(rule, "use engine='rows' for arrays and models")
    if engine == "cells" and wanted:
        raise NotApplicable(f"{wanted[0]}= needs the rows", "use engine='rows'")
    if table is None or engine == "rows" or wanted:
        return table, False
    if engine == "cells" or skips:
        return table, True
    many, table = table.has_more_rows(ROWS)
    return table, many
