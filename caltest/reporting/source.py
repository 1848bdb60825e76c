"""What a report is made from: rows in memory, or cells that very many rows were counted in.

Both answer the same questions, of which the sections are made. Sections that need the rows ask for
`predictions`, which counted rows do not have; `absent` says so, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from caltest import checks, render, sources
from caltest.errors import NotApplicable
from caltest.htests import DEFAULT, combine, places, test_calibration
from caltest.htests import REGISTRY as TESTS
from caltest.htests.asked import Asked, as_columns, lies
from caltest.htests.cells import CountedRows, Prepared, counted_rows
from caltest.lenses import Classwise, Confidence, Cumulative, Lens, Strong, resolve_lens
from caltest.lenses.base import each_once
from caltest.measures import Measure
from caltest.measures.gap import Gap, event_rows, gap_of, gap_of_cells
from caltest.measures.scores.auc import AUC, area_of_cells, area_of_rows
from caltest.nulls import cluster, exact
from caltest.numerics.loops import blocks
from caltest.plots.seen import CellsEvent, RowsEvent
from caltest.predictions import ModelData, Predictions
from caltest.reporting import about, content, reading
from caltest.reporting.content import Block, ClassCount, Conclusion, Data, Settings
from caltest.reporting.where import round_cuts
from caltest.results import HTest, HTestTable, sheets
from caltest.results.base import plain
from caltest.sources.sources import ENGINES, ROWS, Reader
from caltest.sources.sources import Source as Table
from caltest.types import Floats, Ints

if TYPE_CHECKING:
    from caltest.calibrators.base import CalibrationSet

    Tests = Sequence[str | Measure] | None
    Lenses = Sequence[str | Lens] | None


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


class ReportedRows:
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
    event : RowsEvent
        The event of the rows, as diagrams ask for it.
    label_counts : (m,) array of int
        The number of rows of each class, whatever their weights.
    absent, cautions : tuple of str
        What a page of such rows lacks, and what a reader should know of them.
    """

    absent: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def __init__(
        self, predictions: Predictions, plan: TestPlan, logits: CalibrationSet | None, hashed: str
    ) -> None:
        self.predictions, self.plan, self.logits, self.hashed = predictions, plan, logits, hashed
        self.name, self.n, self.m = predictions.source, predictions.n, predictions.m
        self.weight = predictions.sample_weight
        self.lens = "confidence" if self.m > 2 else "strong"
        if self.m:
            self.event = RowsEvent(resolve_lens(self.lens)(predictions))
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
                left_out.append(f"{test}, lens {lens}: {error.reason}.")
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

    def search(self) -> places.RowSearch | None:
        """Return the classes and ranges that are candidates for places, if there are any."""
        return places.RowSearch(self.predictions, round_cuts, pairs=0)

    def gap(self) -> Gap:
        """Measure the gap of the event in all rows."""
        return gap_of(event_rows(self.event.predictions), "event", "all rows")

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
        for rows in blocks(self.n, BLOCK // self.m or 1):
            part = probs[rows]
            alike = alike and bool((part == probs[0]).all())
            certain += int(np.count_nonzero(part.max(axis=1) == 1))
            impossible += int((part[np.arange(len(part)), labels[rows]] == 0).sum())
        return alike, certain, impossible

    def score_sums(self) -> Iterator[tuple[str, Floats, float]]:
        """Yield name, (value, mean, variance under calibration) and largest value of scores.

        Yields
        ------
        tuple
            Of accuracy, Brier score and log loss.
        """
        weight = self.predictions.weights / self.predictions.weights.sum()
        out = np.zeros((3, 3))
        for rows in blocks(self.n, BLOCK // self.m or 1):
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


class ReportedCells:
    """Rows that were counted in cells of the events of some lenses; see `ReportedRows`.

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
        self.cells: sources.Cells = whole.events[0][None]
        self.name, self.n, self.m = whole.name, self.cells.rows, len(whole.classes)
        self.effective = float(self.n)
        self.hashed = about.cells_hash(zip(whole.lenses, whole.events, strict=True))
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
            rows += self._run(self.whole, lens, [test for test, _ in entries], settings).tests
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

    def search(self) -> places.CellSearch:
        """Return the ranges that are candidates for places."""
        return places.CellSearch(self.cells, round_cuts)

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
            bound = exact.bind_cells(measure_of(key)[1], cells)
            finite = np.where(np.isinf(table).any(axis=1, keepdims=True), 0.0, table)
            slope = unit * (finite[:, 1] - finite[:, 0])
            variance = float(np.square(slope) @ cells.variance) / cells.mass**2
            yield name, np.array([bound.value(), bound.calibrated, variance]), most


Source = ReportedRows | ReportedCells
Planner = Callable[[Any], "TestPlan"]  # of predictions, or of a number of classes


def read_rows(
    given: ModelData, plan: Planner, *, event: str | None, fitted: bool, name: str | None
) -> ReportedRows:
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

        predictions, logits = cast("Any", read_inputs(given))
    else:
        predictions, logits = cast("Any", given.rows()), None
        if not isinstance(predictions, Predictions):
            from caltest.reporting.forecasts import ForecastRows

            return ForecastRows(predictions, plan(predictions), None, about.data_hash(predictions))
    if name is not None:
        predictions = predictions.from_source(name)
    hashed = about.data_hash(predictions)
    names = about.named_event(predictions.classes.tolist(), event)
    if names is not None:
        found = predictions.probs, predictions.labels, np.array(names)
        predictions = Predictions.trusted(*found, like=predictions)
    return ReportedRows(predictions, plan(predictions), logits, hashed)


def count_rows(
    table: Table, given: ModelData, plan: Planner, *, event: str | None, on_error: str
) -> ReportedCells:
    """Count the rows of a table in one query.

    Parameters
    ----------
    table, given : Source, ModelData
        Where the rows lie, and which columns are what.
    plan : callable
        Returns what is tested of so many classes, by tests that cells are enough for.
    event : str or None
        What classes that are 0 and 1 are named by.
    on_error : {"raise", "skip"}
        Whether what is wrong is left out.
    """
    by = as_columns(given.by)
    named = {"label": given.label, "probs": given.probs, "classes": given.classes, "by": by}
    reader = Reader(table, named, on_error=on_error)
    columns = reader.columns()
    tested = plan(len(columns.classes))
    lenses = [resolve_lens(lens) for _, lens in tested.entries]
    members = each_once(m for lens in lenses for m in lens.members_of(columns.classes))
    bins = {count for test, _ in tested.entries for count in measure_of(test)[1].cell_bins}
    prepared = Prepared(reader, sources.Counting(columns, tuple(members), tuple(sorted(bins))))
    prepared.counting.check()
    cells = reader.count(prepared.counting)
    whole = _named(counted_rows(prepared, cells, grouped=False), event)
    whole.suspect()
    grouped = _named(counted_rows(prepared, cells, grouped=True), event) if by else None
    return ReportedCells(whole, grouped, tested, given)


def _named(counted: CountedRows, event: str | None) -> CountedRows:
    """Name classes that are 0 and 1 by the event that the author states."""
    names = about.named_event(counted.classes, event)
    if names is None:
        return counted
    both: dict[str, Any] = {"no_event": names[0], "event": names[1]}
    events = tuple(
        {g: replace(cells, **both) for g, cells in some.items()} if lens == Strong() else some
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
    checks.check_choice(engine, ENGINES, "engine")
    table = lies(given)
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


def table_of(rows: list[HTest], settings: Settings) -> HTestTable:
    """Adjust the p-values of all rows together."""
    adjusted, name = combine.adjusted_rows(rows, settings.correction)
    return HTestTable(tuple(rows), name, adjusted, level=settings.level)


def test_blocks(answer: Conclusion) -> Iterator[Block]:
    """Yield all tests.

    Yields
    ------
    Block
        Of the section.
    """
    tested = answer.tests
    adjusted = ("adjusted",) if tested.correction is not None else ()
    owners: dict[str, list[str]] = {}
    rows, findings = [], []
    bound = 0.1 if tested.level is None else tested.level
    for row, value in zip(tested, tested.adjusted.tolist(), strict=True):
        pvalues = [reading.short_pvalue(one) for one in (row.pvalue, value)[: 1 + len(adjusted)]]
        estimate = f"{row.estimate_name} {reading.significant(row.estimate)}"
        usual = sheets.usual_of(row)[0] if row.if_calibrated else ""
        usual = usual.replace("-", reading.MINUS)
        rows.append((row.test, row.lens, *pvalues, estimate, usual))
        if row.components is not None and value <= bound:  # the one that is farthest out
            first = row.components.rows[0]
            found = str(first.parameters["finding"])
            title = first.method.partition(": ")[2]
            if found.startswith(f"{first.estimate_name} = ") and title != first.estimate_name:
                found = f"{title}: {found}"  # a number alone
            findings.append((row.lens, f"{found} ({first.test})"))
        for note in row.notes:
            owners.setdefault(note, []).append(f"{row.test}, {row.lens}")
    header = ("test", "lens", "p-value", *adjusted, "estimate", "if calibrated")
    yield content.paragraph(reading.MEANING if tested[0].m else reading.MEANING_OF_FORECASTS)
    yield content.paragraph(
        f"The answer is that of {tested[0].test}, the first of them, with its own p-value, "
        "adjusted for groups and segments where there are some but not for the other tests."
    )
    closing, said = [], [text for kind, text in answer.verdict.sentences if kind == "note"]
    for note, names in owners.items():  # each once, with the rows that it belongs to
        if note in said:
            continue
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        whose = "" if len(names) == len(tested) else f"{'; '.join(names[:3])}{more}: "
        closing.append(("note", f"{whose}{note}"))
    yield content.table("Tests of calibration", header, rows, n_text=2, closing=tuple(closing))
    if findings:
        yield Block(kind="heading", text="What the combined tests saw first")
        yield content.facts("Findings", findings)
    if tested.level is not None:
        yield content.paragraph(
            f"At level {tested.level:g}, with adjusted p-values, calibration is rejected by "
            f"{int(tested.rejected.sum())} of {len(tested)} tests."
        )
    yield from content.notes(answer.left_out)


# Limits chosen so that each part takes about 10 s of one core with 999 resamples.
ALL_PAIRS = 2e9  # n^2 m: pairs of rows, times classes
LINE_ROWS = 2e6  # n times the number of classes that are tested one by one
MOST_CLASSES = 20
USUAL = (DEFAULT, "skce")


class TestPlan(NamedTuple):
    """The tests to be made, each with its lens, and remarks on those that are not."""

    entries: tuple[tuple[str | Measure, str | Lens], ...]
    notes: tuple[str, ...] = ()


def default_plan(predictions: Predictions, further: Sequence[str]) -> TestPlan:
    """Choose tests by what they cost, never by the labels, so that their p-values stay valid.

    `further` are those of two classes after the default one.
    """
    n, m, notes = predictions.n, predictions.m, []
    if m == 2:
        return TestPlan(tuple((test, "strong") for test in (DEFAULT, *further)))
    entries: list[tuple[str, str | Lens]] = [(DEFAULT, "strong"), ("skce", "strong")]
    if n * n * m > ALL_PAIRS:
        notes = [f"The SKCE of all pairs of {n:,} rows would take too long under the strong lens."]
        entries.pop()
    entries += [(test, "confidence") for test in ("skce", "ece")]
    chosen = frequent_classes(predictions)
    names = predictions.classes.tolist()
    if predictions.ordinal:
        entries += [(DEFAULT, Cumulative(names[k])) for k in chosen if k < m - 1]
    else:
        entries += [(DEFAULT, Classwise(names[k])) for k in chosen]
    if len(chosen) < m:
        notes.append(
            f"{m - len(chosen):,} of {m:,} classes are not tested one by one, to keep the time "
            "short and the adjustment small. The tested ones have the largest expected number of "
            "rows, a choice that does not depend on the labels."
        )
    return TestPlan(tuple(entries), tuple(notes))


def frequent_classes(predictions: Predictions) -> list[int]:
    """Return the codes of the classes that are taken one by one, in the order of the columns.

    They have the largest sums of probabilities, which do not see the labels.
    """
    count = int(min(predictions.m, MOST_CLASSES, max(1, LINE_ROWS // predictions.n)))
    return sorted(np.argsort(-predictions.probs.sum(axis=0), kind="stable")[:count].tolist())


def plan_of(
    predictions: Predictions, tests: Tests, lenses: Lenses, further: Callable[[int], Sequence[str]]
) -> TestPlan:
    """Return what was asked for, every test under every lens, or the default plan."""
    m = predictions.m
    if tests is None and lenses is None:
        from caltest.reporting.forecasts import PLAN

        return default_plan(predictions, further(m)) if m else PLAN
    usual, own = ["strong", "confidence"] if m > 2 else ["strong"], USUAL if m else [DEFAULT]
    return TestPlan(tuple((test, lens) for lens in lenses or usual for test in tests or own))


def plan_of_cells(
    m: int, tests: Tests, lenses: Sequence[Lens] | None, further: Callable[[int], Sequence[str]]
) -> TestPlan:
    """Return what was asked for of so many classes, or the usual tests, if they have cells."""
    usual = (DEFAULT, *(further(m) if m == 2 else ("ece",)))
    some: list[str | Measure] = []
    notes, last = [], None
    for test in usual if tests is None else tests:
        key, measure = measure_of(test)
        try:
            cells = sources.count_rows([0.25, 0.5, 0.5, 0.75], [0, 1, 0, 1], measure.cell_bins)
            exact.bind_cells(measure, cells)
        except NotApplicable as error:
            last = error
            notes.append(f"{key} is not tested: {measure.description} needs the rows.")
        else:
            some.append(test)
    if last is not None and not some:
        raise last
    default: Lens = Strong() if m == 2 else Confidence()
    entries = [(test, lens) for lens in lenses or [default] for test in some]
    if tests is None and lenses is None and m > 2:
        if m <= MOST_CLASSES:
            entries.append((DEFAULT, Classwise()))
        else:
            notes.append(f"{m:,} classes are too many to be tested one by one.")
    return TestPlan(tuple(entries), tuple(notes))


def measure_of(test: str | Measure) -> tuple[str, Measure]:
    """Return the key and the measure of a test."""
    return (test.key, test) if isinstance(test, Measure) else (test, TESTS[test].with_options({}))


# ---- What was tested: sizes, classes, groups, and what a reader should know of the data first ---

FEW_ROWS = 100
FEW_EVENTS = 5
NAMED = 5  # classes that a warning names


def describe_data(source: Source, tested: HTestTable | None = None) -> Data:
    """Count rows by class and group, and collect warnings; `tested` are the groups that were."""
    classes = source.class_counts()
    groups, warnings = source.group_sizes(tested), tuple(_warnings(source, classes))
    weighted = source.weight is not None
    return Data(source.name, source.n, source.m, weighted, classes, groups, warnings)


def _warnings(source: Source, classes: tuple[ClassCount, ...]) -> Iterator[str]:
    yield from source.cautions
    if source.n < FEW_ROWS:
        yield f"With as few rows as {source.n} even large errors may not be seen."
    if never := [one.name for one in classes if one.observed == 0]:
        yield f"Classes that were never observed: {_listing(never)}."
    if few := [one.name for one in classes if 0 < one.observed < FEW_EVENTS]:
        yield f"Classes observed fewer than {FEW_EVENTS} times: {_listing(few)}."
    alike, certain, impossible = source.extremes()
    where = [f"In {n:,} rows" if n > 1 else "In one row" for n in (impossible, certain)]
    if impossible:
        yield (
            f"{where[0]} a class of predicted probability 0 was observed: the log loss is "
            "infinite, and no calibrated model could have given these predictions."
        )
    if certain:
        yield f"{where[1]} one class has probability 1: nothing else may ever happen there."
    if source.n > 1 and alike:
        yield "All rows have the same predictions: tests see the class frequencies only."
    if source.weight is not None:
        yield "Counts are sums of weights."
    rows = source.predictions
    if rows is not None and rows.described:
        words = "; ".join(f"{name}: {text}" for name, text in rows.described.items())
        yield f"{words[:1].upper()}{words[1:]}."
    elif rows is not None and rows.has_dependence:
        yield (
            f"Rows of the same {rows.unit} may depend on each other; there are "
            f"{cluster.Clusters.of(rows).words()}. Tests, intervals and smooth curves allow "
            "for it; bars and ranges of what a calibrated model gives take rows as independent."
        )


def _listing(names: list[object]) -> str:
    shown = ", ".join(map(str, names[:NAMED]))
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED:,} more"


def data_blocks(data: Data) -> Iterator[Block]:
    """Yield what was tested.

    Yields
    ------
    Block
        Of the section.
    """
    sizes = {"rows (n)": data.n, "classes (m)": data.m, "groups": len(data.groups)}
    known = [(name, f"{size:,}") for name, size in sizes.items() if size]
    yield content.facts("The data", [("source", data.source), *known])
    if not data.classes:
        return
    total = sum(row.observed for row in data.classes)
    ordered = sorted(data.classes, key=lambda row: -abs(row.observed - row.expected))
    kept = data.classes if data.m <= content.MOST_ROWS else ordered[: content.MOST_ROWS]
    rows = []
    for row in kept:
        less = round(row.observed - row.expected, 1)
        gap = f"{less:+,.1f}".replace("-", reading.MINUS) if less else "0.0"
        seen = str(row.name), reading.count(row.observed), render.share(row.observed / total)
        predicted = reading.DASH if row.predicted is None else reading.count(row.predicted)
        rows.append((*seen, f"{row.expected:,.1f}", gap, predicted))
    header = ("class", "observed", "share", "expected", "difference", "predicted")
    text = "columns: expected is the sum of the probabilities of the class, difference observed "
    text += "less expected; predicted counts the rows where the class has the largest probability"
    yield content.table("Balance of the classes", header, rows, explained=text)
    if len(kept) < data.m:
        text = f"{data.m - len(kept):,} classes whose difference is smaller are not listed."
        yield from content.notes([text])
