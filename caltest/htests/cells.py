"""Tests of very many rows: counted in cells where they lie, and tested by these."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from caltest import validation
from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.htests.combine import adjusted_rows, omnibus, pvalue_of_groups
from caltest.htests.groups import FROM, STANDS_IN, GroupsCall, test_of_groups
from caltest.htests.outcome import with_parts
from caltest.lenses import Lens, resolve_lens
from caltest.measures import Measure
from caltest.measures.gap import gap_of_cells
from caltest.measures.outcome import Outcome
from caltest.measures.tolerance import Tolerance
from caltest.nulls.cells import KEY, bind_cells, cells_tests
from caltest.predictions import ModelData, sources
from caltest.results import GroupsTest, HTest, HTestTable
from caltest.results.evidence import Counted
from caltest.scale import Cells, count_rows
from caltest.scale.columns import Columns
from caltest.scale.query import Counting
from caltest.scale.sources import ENGINES, ROWS, CountedParts, Reader, Source, source_of
from caltest.validation.suspicions import suspect_counted

Progress = Callable[[int, int], None]
MOST = 1 << 26  # resampled statistics of all rows of a table: 512 MiB
OF_THE_USER = 5  # the stack level of the caller of the test
SEVERAL_LENSES = "events of several lenses are redrawn each by itself: adjusted by Holm's method"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What `test_calibration` was asked, checked.

    Attributes
    ----------
    given : ModelData
        Model and data, not read.
    measures : list of (str, Measure)
        Keys and measures.
    lenses : list of Lens
        None for the usual one of segments.
    tolerance : Tolerance or None
        H0 is on the size of the error.
    n_resamples : int or None
        None for an adaptive number.
    note : str
        How the tests differ from what was asked for.
    is_default : bool
        Whether nobody named a test.
    """

    given: ModelData
    measures: list[tuple[str, Measure]]
    lenses: list[Lens]
    null: str | None
    tolerance: Tolerance | None
    correction: str | None
    n_resamples: int | None
    seed: int
    n_jobs: int | None
    level: float | None
    on_error: str
    progress: Progress | None
    note: str = ""
    is_default: bool = False

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that cells are counted by."""
        given, by = self.given, as_columns(self.given.by)
        return {
            "label": given.label,
            "probs": given.probs,
            "classes": given.classes,
            "by": by,
            "weight": given.sample_weight,
        }

    @property
    def _needs_rows(self) -> dict[str, object]:
        """Arguments that need the rows, by name; None where they were not given."""
        given = self.given
        return {
            "null": None if self.null == "exact" else self.null,
            "tolerance": self.tolerance,
            **vars(given.dependence),
            "features": given.features,
            **{name: value or None for name, value in given.reading.items()},
            "by": given.by if as_columns(given.by) == () else None,
            "an array of sample_weight": None
            if isinstance(given.sample_weight, str)
            else given.sample_weight,
        }

    @property
    def skips(self) -> bool:
        """Whether what is wrong is left out, which only counting and reading by chunks can."""
        return self.on_error == "skip"

    @property
    def bins(self) -> tuple[int, ...]:
        """Numbers of bins that cells must not cross."""
        found = {count for _, measure in self.measures for count in measure.cell_bins}
        return tuple(sorted(found))

    def check(self) -> None:
        """Raise NotApplicable where something asked for needs the rows."""
        self.check_arguments()
        weight = None if self.given.sample_weight is None else [1.0, 2.0, 1.0, 1.0]
        few = count_rows([0.25, 0.5, 0.5, 0.75], [0, 1, 0, 1], self.bins, weight)
        for _, measure in self.measures:
            bind_cells(measure, few)

    def check_arguments(self) -> None:
        """Raise NotApplicable where an argument needs the rows in memory."""
        for name, value in self._needs_rows.items():
            if value is not None:
                raise NotApplicable(f"{name}= needs the rows", "use engine='rows'")
        if self.n_resamples is None:
            reason = "n_resamples='adaptive' needs the rows"
            raise NotApplicable(reason, "pass a number, or use engine='rows'")

    def has_cells(self) -> bool:
        """Tell whether all that is asked for has a version for cells."""
        try:
            self.check()
        except NotApplicable:
            return False
        return True


def as_columns(by: Any) -> tuple[str, ...]:
    """Return the columns that `by` names; none where it holds values, or is not given."""
    names = [by] if isinstance(by, str) else by
    is_list = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return tuple(names) if is_list else ()


@dataclass(frozen=True)
class Prepared:
    """Rows that will be counted in cells: how they are read, and what is counted."""

    reader: Reader
    counting: Counting

    def run(self, asked: Asked) -> HTest | HTestTable | GroupsTest:
        """Count the rows, and test the cells."""
        return run_cells(self, asked)


def source_for(engine: str, asked: Asked) -> tuple[Source | None, Prepared | None]:
    """Return where the rows lie, if they are in no array, and how they become cells.

    Parameters
    ----------
    engine : {"auto", "rows", "cells"}
        "auto" takes cells for more than 2 million rows, and where rows may be left out, if all that
        is asked for has a version for cells.
    asked : Asked
        What is asked for, of a model or of data alone.

    Raises
    ------
    InvalidInput
        If cells are asked for what is no frame, path or iterator.
    NotApplicable
        If cells are asked for what needs the rows.
    """
    validation.check_choice(engine, ENGINES, "engine")
    source = source_asked(asked)
    if engine == "cells":
        if source is None:
            reason = "engine='cells' takes a data frame, a lazy one, paths or an iterator of frames"
            raise NotApplicable(reason, "use engine='rows' for arrays and models")
        asked.check()
        return source, _prepared(source, asked)
    if source is None or engine == "rows" or stays(source, asked) or not asked.has_cells():
        return source, None
    many, source = are_many(source, asked)
    prepared = None
    if many:
        with suppress(*() if source.is_stream else (NotApplicable,)):
            prepared = _prepared(source, asked)
    return source, prepared


def source_asked(asked: Asked) -> Source | None:
    """Return where the rows lie, if they are in no array."""
    model, data = asked.given.model, asked.given.data
    alone = data if model is None else model if data is None else None
    return None if alone is None else source_of(alone)


def stays(source: Source, asked: Asked) -> bool:
    """Tell whether the rows are in memory and few, and none may be left out."""
    if asked.skips or not source.is_eager:
        return False
    return bool(sources.as_frame(source.native).shape[0] <= ROWS)


def are_many(source: Source, asked: Asked) -> tuple[bool, Source]:
    """Tell whether rows are many, or may be left out; return a source that has all of them."""
    return (True, source) if asked.skips else source.has_more_rows(ROWS)


def _prepared(source: Source, asked: Asked) -> Prepared:
    """Read which columns there are, and check that the lenses can be counted."""
    reader = Reader(source, asked.columns, on_error=asked.on_error, progress=asked.progress)
    return prepared_of(reader, reader.columns(), asked)


def prepared_of(reader: Reader, columns: Columns, asked: Asked) -> Prepared:
    """Check that the lenses of these columns can be counted."""
    usual = resolve_lens("strong" if len(columns.classes) == 2 else "confidence")
    chosen = asked.lenses or [usual]  # of segments
    lenses = [m for lens in chosen for m in lens.members_of(columns.classes)]
    counting = Counting(columns, tuple(lenses), asked.bins)
    counting.check()
    return Prepared(reader, counting)


@dataclass(frozen=True)
class CountedRows:
    """Rows that were counted in cells.

    Attributes
    ----------
    name : str
        What was counted, for print.
    classes : sequence
        Names of the classes.
    lenses : tuple of Lens
        Each leaves one event.
    events : tuple of dict
        The cells of each event by group; without groups, by None.
    left_out : tuple of str
        What is left out of the rows, in words.
    grouped : bool
        Whether there are groups.
    """

    name: str
    classes: Sequence[object]
    lenses: tuple[Lens, ...]
    events: tuple[dict[Any, Cells], ...]
    left_out: tuple[str, ...]
    grouped: bool

    def under(self, lenses: Sequence[Lens]) -> CountedRows:
        """Return what some of the lenses leave."""
        kept = [k for k, lens in enumerate(self.lenses) if lens in lenses]
        some = tuple(self.lenses[k] for k in kept), tuple(self.events[k] for k in kept)
        return replace(self, lenses=some[0], events=some[1])

    def suspect(self) -> None:
        """Warn where the rows of two classes look like a mistake."""
        if len(self.classes) == 2 and str(self.lenses[0]) == "strong":
            columns = [(one.mean, one.counts, one.hits) for one in self.events[0].values()]
            mean, rows, events = map(np.concatenate, zip(*columns, strict=True))
            suspect_counted(mean, rows, events, np.array(self.classes))


def counted_rows(prepared: Prepared, table: CountedParts, *, grouped: bool) -> CountedRows:
    """Return the cells of a table by group, or of all rows together."""
    counting = prepared.counting
    cells = table.table
    if counting.columns.by and not grouped:
        counting = replace(counting, columns=replace(counting.columns, by=()))
        cells = counting.merged([cells], repeats=True)
    columns, name = counting.columns, prepared.reader.source.name
    if len(columns.probs) == 1 and columns.kind == "text":
        name = f"{name}, event: {columns.classes[1]}"
    return CountedRows(
        name=name,
        classes=columns.classes,
        lenses=counting.lenses,
        events=tuple(counting.split(cells)),
        left_out=table.left_out.notes(),
        grouped=bool(columns.by),
    )


def run_cells(prepared: Prepared, asked: Asked) -> HTest | HTestTable | GroupsTest:
    """Count the rows of a source in one query, and test the cells.

    Parameters
    ----------
    prepared : Prepared
        How the rows are read, and what is counted.
    asked : Asked
        What is asked for; `asked.check()` has passed.

    Returns
    -------
    HTest, HTestTable or GroupsTest
        A table where tests, lenses or groups are several, a GroupsTest of more than 500 groups.
    """
    counting = prepared.counting
    table = prepared.reader.count(counting)
    if counting.columns.by and _is_one_pass(table.count_groups(), counting.lenses, asked):
        return _run_groups(table, prepared.reader.source.name, asked)
    counted = counted_rows(prepared, table, grouped=True)
    counted.suspect()
    return tests_of(counted, asked)


def tests_of(counted: CountedRows, asked: Asked) -> HTest | HTestTable:
    """Test rows that were counted; see `run_cells`."""
    lenses, grouped = counted.lenses, counted.grouped
    runs = _runs(counted.events, lenses, asked, grouped=grouped)
    call = _Call(counted.name, counted.classes, counted.left_out, asked)
    rows, too_small = call.run_all(list(runs))
    is_family = any(lens.is_family for lens in asked.lenses)
    if len(asked.measures) == len(asked.lenses) == 1 and not grouped and not is_family:
        return rows[0]
    correction, notes = asked.correction, [*counted.left_out, *too_small]
    if correction == "joint" and len({row.lens for row in rows}) > 1:
        correction = "holm"
        notes.append(SEVERAL_LENSES)
    adjusted, name = adjusted_rows(rows, correction)
    together = tuple(_omnibus(rows, asked)) if grouped else ()
    return HTestTable(
        tuple(rows),
        name,
        adjusted,
        level=asked.level,
        notes=tuple(notes),
        omnibus=together,
        together=pvalue_of_groups(rows, together),
    )


def _is_one_pass(groups: int, lenses: Sequence[Lens], asked: Asked) -> bool:
    """Tell whether groups are so many that they are tested in one pass, and can be."""
    if groups < FROM or len(lenses) > 1 or asked.given.sample_weight is not None:
        return False
    one = len(asked.measures) == 1 and asked.measures[0][1].offers("bind_groups")
    return asked.is_default or one


def _run_groups(counted: CountedParts, name: str, asked: Asked) -> GroupsTest:
    """Test very many groups in one pass."""
    counting, left_out = counted.counting, counted.left_out.notes()
    key, measure = test_of_groups(asked.measures, default=asked.is_default)
    call = GroupsCall(
        asked=asked,
        key=key,
        measure=measure,
        lens=counting.lenses[0],
        m=len(counting.columns.classes),
        data_name=name,
        notes=(*left_out, *([STANDS_IN] if asked.is_default else [])),
    )
    return call.disjoint(counting.many(counted.table, 0))


@dataclass(frozen=True)
class _Run:
    """Rows of the table that have the same cells."""

    lens: Lens
    cells: Cells
    seed: int
    group: object
    is_one_of_many: bool


def _runs(
    events: Sequence[dict[Any, Cells]], lenses: Sequence[Lens], asked: Asked, *, grouped: bool
) -> Iterator[_Run]:
    groups = sorted({group for cells in events for group in cells}, key=_order)
    seeds = [asked.seed]
    if grouped:
        children = np.random.SeedSequence(asked.seed).spawn(len(groups))
        seeds = [int(child.generate_state(1)[0]) for child in children]
    one_of_many = grouped or len(lenses) > len(asked.lenses)
    for seed, group in zip(seeds, groups, strict=True):
        for lens, cells in zip(lenses, events, strict=True):
            if group in cells:
                yield _Run(lens, cells[group], seed, group, one_of_many)


def _order(group: object) -> tuple[str, Any]:
    return (type(group).__name__, group)


@dataclass(frozen=True)
class _Call:
    """What the rows of one call share."""

    data_name: str
    classes: Sequence[object]
    left_out: tuple[str, ...]
    asked: Asked

    def run_all(self, runs: list[_Run]) -> tuple[list[HTest], list[str]]:
        """Return the results, and notes on classes and groups that are too small for a test."""
        self._check_size(len(runs) * len(self.asked.measures))
        rows: list[tuple[int, HTest]] = []
        notes: list[str] = []
        for run in runs:
            rows += self._results(run, notes, len(runs) * len(self.asked.measures))
        groups = [run.group for run in runs]
        place = {group: number for number, group in enumerate(dict.fromkeys(groups))}
        rows.sort(key=lambda row: (place[row[1].group], row[0]))  # stable: lenses keep their order
        return [row for _, row in rows], notes

    def _check_size(self, count: int) -> None:
        """Raise NotApplicable where the resampled statistics of all rows would fill the memory."""
        size = count * (1 + (self.asked.n_resamples or 0))
        if size > MOST:
            raise NotApplicable(
                f"{count} tests of groups and lenses with B = {self.asked.n_resamples} hold {size} "
                f"resampled statistics, more than {MOST}",
                "pass a smaller n_resamples, a test such as 'ks', or a column with fewer groups",
            )

    def _results(self, run: _Run, notes: list[str], count: int) -> list[tuple[int, HTest]]:
        """Return the results of the same cells, with the number of the test of each."""
        bound = []
        for number, (key, measure) in enumerate(self.asked.measures):
            try:
                bound.append((number, key, measure, bind_cells(measure, run.cells)))
            except NotApplicable as error:
                if not run.is_one_of_many or len(notes) + 1 == count:
                    raise
                group = "" if run.group is None else f"group {run.group!r}, "
                notes.append(f"{key} under {group}lens {run.lens} is left out: {error}")
                warnings.warn(notes[-1], DegenerateDataWarning, stacklevel=OF_THE_USER)
        outcomes = cells_tests(
            [(measure, one) for _, _, measure, one in bound],
            run.cells,
            n_resamples=self.asked.n_resamples or 0,
            seed=run.seed,
            n_jobs=self.asked.n_jobs,
        )
        for message in dict.fromkeys(text for one in outcomes for text in one.degenerate):
            warnings.warn(message, DegenerateDataWarning, stacklevel=OF_THE_USER)
        pairs = zip(bound, outcomes, strict=True)
        return [
            (number, self._result(run, key, measure, outcome, count // len(self.asked.measures)))
            for (number, key, measure, _), outcome in pairs
        ]

    def _result(self, run: _Run, key: str, measure: Measure, outcome: Outcome, among: int) -> HTest:
        asked = self.asked
        kind = "confidence" if run.lens.is_confidence else "event"
        result = HTest.from_outcome(
            outcome,
            test=key,
            method=f"Exact test of calibration: {measure.title}",
            estimate_name=measure.estimate_symbol,
            null=KEY,
            n=run.cells.rows,
            m=len(self.classes),
            lens=str(run.lens),
            claim=run.lens.claim,
            data_name=self.data_name,
            n_resamples=asked.n_resamples,
            seed=run.seed,
            note=asked.note,
            level=asked.level,
            group=run.group,
            size=gap_of_cells(run.cells, kind, run.cells.event),
            counted=Counted(measure, run.lens, run.cells, run.seed),
        )
        result = replace(result, notes=(*result.notes, *self.left_out))
        search = {"among": among, "n_resamples": asked.n_resamples or 0, "seed": run.seed}
        return with_parts(result, outcome.parts, run.cells, **search)


def _omnibus(rows: Sequence[HTest], asked: Asked) -> Iterator[HTest]:
    """Yield the test of all groups together for each test and lens that two groups have."""
    for _, some in groupby(sorted(rows, key=_of_test), key=_of_test):
        members = list(some)
        if len(members) > 1:
            title = members[0].method.partition(": ")[2]
            yield omnibus(members, title=title, n_resamples=asked.n_resamples or 0, seed=asked.seed)


def _of_test(row: HTest) -> tuple[str, str]:
    return row.test, row.lens
