"""Tests of very many rows where they lie: counted in cells, or read by chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, rows_named
from caltest.forecasts.container import SAMPLED, Forecasts, PitCounts
from caltest.htests.asked import Asked, Keys, Plan, as_columns, lies
from caltest.htests.combine import GroupsCall, in_one_pass
from caltest.htests.runner import Answer, Answering
from caltest.lenses import Lens, resolve_lens
from caltest.measures import REGISTRY
from caltest.measures.gap import event_rows, gap_of_cells, gap_of_sums
from caltest.nulls.base import Draws
from caltest.nulls.exact import bind_cells, chunk_tests, exact_tests
from caltest.predictions import ModelData, tables
from caltest.results import GroupsTest, HTest, HTestTable
from caltest.results.htest import Counted
from caltest.segments import SegmentsTest
from caltest.segments.null import SegmentSettings
from caltest.segments.run import run_given
from caltest.sources import Cells, Counting, ManyCells, count_rows
from caltest.sources.chunks import SHARE, Chunk, Survey
from caltest.sources.columns import Columns, column
from caltest.sources.readings import Readings, batches_of
from caltest.sources.sources import ENGINES, ON_ERROR, ROWS, Reader, Source, SourcePart

if TYPE_CHECKING:
    import polars as pl

MOST = 1 << 26  # resampled statistics of all rows of a table: 512 MiB
SEVERAL_LENSES = "events of several lenses are redrawn each by itself: adjusted by Holm's method"
STRONG = "strong"


@dataclass(frozen=True)
class Prepared:
    """Rows that will be counted in cells: how they are read, and what is counted."""

    reader: Reader
    counting: Counting

    @staticmethod
    def refuse(asked: Asked) -> None:
        """Raise NotApplicable where something asked for needs the rows."""
        weight = None if asked.given.sample_weight is None else [1.0, 2.0, 1.0, 1.0]
        few = count_rows([0.25, 0.5, 0.5, 0.75], [0, 1, 0, 1], asked.bins, weight)
        for _, measure in asked.measures:
            bind_cells(measure, few)

    @classmethod
    def of(cls, reader: Reader, columns: Columns, asked: Asked) -> Prepared:
        """Check that the lenses of these columns can be counted."""
        usual = "strong" if len(columns.classes) == 2 else "confidence"
        chosen = asked.lenses or [resolve_lens(usual)]  # of segments
        lenses = [m for lens in chosen for m in lens.members_of(columns.classes)]
        counting = Counting(columns, tuple(lenses), asked.bins)
        counting.check()
        return cls(reader, counting)

    def run(self, asked: Asked) -> HTest | HTestTable | GroupsTest:
        """Count the rows of a source in one query, and test the cells.

        Returns
        -------
        HTest, HTestTable or GroupsTest
            A table where tests, lenses or groups are several, a GroupsTest of more than 500 groups.
        """
        table, columns = self.reader.count(self.counting), self.counting.columns
        weighted, events = columns.weight is not None, len(self.counting.lenses)
        groups = int(table["group"].n_unique()) if columns.by else 0
        if in_one_pass(groups, asked, events=events, weighted=weighted):
            left_out, name = self.reader.left_out.notes(), self.reader.source.name
            call = GroupsCall(asked, self.counting.lenses[0], len(columns.classes), name, left_out)
            return call.disjoint(self.counting.many(table, 0))
        counted = counted_rows(self, table, grouped=True)
        counted.suspect()
        return counted.run(asked)


@dataclass(frozen=True)
class CountedRows(Answering):
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
    keys : (names, mapping) or None
        The columns that groups are made of, if there are some, and their values in each.
    """

    name: str
    classes: Sequence[object]
    lenses: tuple[Lens, ...]
    events: tuple[dict[Any, Cells], ...]
    left_out: tuple[str, ...]
    keys: Keys | None

    @property
    def m(self) -> int:  # type: ignore[override]  # an attribute of others
        """Number of classes."""
        return len(self.classes)

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
            checks.suspect_counted(mean, rows, events, np.array(self.classes))

    def parts(self, asked: Asked) -> dict[Any, list[tuple[Lens, Any]]]:
        """Return what is tested of each group: the cells of each lens.

        Raises
        ------
        NotApplicable
            If the resampled statistics of all would fill the memory.
        """
        known = {group for cells in self.events for group in cells}
        groups = sorted(known, key=lambda group: (type(group).__name__, group))
        seen = list(zip(self.lenses, self.events, strict=True))
        found = {g: [(lens, cells[g]) for lens, cells in seen if g in cells] for g in groups}
        count = sum(map(len, found.values())) * len(asked.measures)
        size = count * (1 + asked.most_resamples)
        if size > MOST:
            raise NotApplicable(
                f"{count} tests of groups and lenses with B = {asked.n_resamples} hold {size} "
                f"resampled statistics, more than {MOST}",
                "pass a smaller n_resamples, a test such as 'ks', or a column with fewer groups",
            )
        return found

    def answers(self, plans: Sequence[Plan], asked: Asked) -> Iterator[Answer | NotApplicable]:
        """Yield the answer to each plan, in their order, or why there is none."""
        of_cells: dict[int, list[Plan]] = {}
        for plan in plans:
            of_cells.setdefault(id(plan.predictions), []).append(plan)
        ready = {cells: _answers(some, asked) for cells, some in of_cells.items()}
        yield from (next(ready[id(plan.predictions)]) for plan in plans)

    def apart(self, plans: Sequence[Plan]) -> str:
        """Tell of several lenses, whose events are redrawn each by itself."""
        return SEVERAL_LENSES if len({str(plan.lens) for plan in plans}) > 1 else ""


def _answers(plans: Sequence[Plan], asked: Asked) -> Iterator[Answer | NotApplicable]:
    """Yield the answers to the tests of the same cells: they see the same redrawn events."""
    cells: Cells = plans[0].predictions
    bound = [_bound(plan, cells) for plan in plans]
    pairs = [(plan.measure, one) for plan, one in bound if not isinstance(one, NotApplicable)]
    outcomes = iter(exact_tests(pairs, Draws(**asked.draws(plans[0].seed))) if pairs else ())
    for plan, one in bound:
        if isinstance(one, NotApplicable):
            yield one
            continue
        gap = gap_of_cells(cells, "confidence" if plan.lens.is_confidence else "event", cells.event)
        counted = Counted(plan.measure, plan.lens, cells, plan.seed)
        yield Answer(plan, next(outcomes), cells.rows, gap, cells, counted=counted)


def _bound(plan: Plan, cells: Cells) -> tuple[Plan, Any]:
    """Bind the measure of a plan, or in a group that is too small the nearest that is defined."""
    weighted = cells.weights is not None
    try:
        return plan.first_defined(lambda one: bind_cells(one.measure, cells), weighted=weighted)
    except NotApplicable as error:
        return plan, error


def counted_rows(prepared: Prepared, cells: pl.DataFrame, *, grouped: bool) -> CountedRows:
    """Return the cells of a table by group, or of all rows together."""
    counting = prepared.counting
    if counting.columns.by and not grouped:
        counting = replace(counting, columns=replace(counting.columns, by=()))
        cells = counting.merged([cells], repeats=True)
    columns, name = counting.columns, prepared.reader.source.name
    if len(columns.probs) == 1 and columns.kind == "text":
        name = f"{name}, event: {columns.classes[1]}"
    events = [counting.many(cells, number) for number in range(len(counting.lenses))]
    values = {name: key for one in events for name, key in zip(one.names, one.values, strict=True)}
    return CountedRows(
        name=name,
        classes=columns.classes,
        lenses=counting.lenses,
        events=tuple(dict(one.each()) for one in events),
        left_out=prepared.reader.left_out.notes(),
        keys=(columns.by, values) if columns.by else None,
    )


# ---- chunks -------------------------------------------------------------------------------------


class RowsByChunks(Answering):
    """Rows of several classes that are read twice, chunk by chunk.

    Parameters
    ----------
    reader : Reader
        How they are read.
    counting : Counting
        What their columns hold.
    """

    def __init__(self, reader: Reader, counting: Counting) -> None:
        self.reader, self.counting = reader, counting
        self.name, self.m = reader.source.name, len(counting.columns.classes)

    @staticmethod
    def refuse(asked: Asked) -> None:
        """Raise NotApplicable where something asked for is not to be had by chunks."""
        if as_columns(asked.given.by):
            raise NotApplicable("chunks have no groups", "use engine='rows', or test without by=")
        if asked.given.sample_weight is not None:
            raise NotApplicable("chunks have no sample weights", "use engine='rows'")
        for lens in asked.lenses:
            if str(lens) != STRONG:
                reason = f"chunks are for the lens {STRONG!r}, not for {str(lens)!r}"
                raise NotApplicable(reason, "use engine='cells' or 'rows'")
        probs = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
        few = Survey.of(3, (0, 0), [Chunk(probs, np.array([0, 1]), {})])
        for _, measure in asked.measures:
            measure.bind_chunks(few, "abc")

    @classmethod
    def of(cls, reader: Reader, columns: Columns, asked: Asked) -> RowsByChunks:
        """Check that there are several classes."""
        if len(columns.classes) == 2:
            remedy = "use engine='cells' or 'rows' for two"
            raise NotApplicable("chunks are for more than two classes", remedy)
        return cls(reader, Counting(columns, tuple(asked.lenses)))

    @property
    def left_out(self) -> tuple[str, ...]:  # type: ignore[override]  # known once they are read
        """What is left out of the rows, in words."""
        return self.reader.left_out.notes()

    def parts(self, asked: Asked) -> dict[Any, list[tuple[Lens, Any]]]:
        """Return the lens, which is the same for all tests; rows are not held."""
        return {None: [(asked.lenses[0], None)]}

    def answers(self, plans: Sequence[Plan], asked: Asked) -> Iterator[Answer | NotApplicable]:
        """Yield the answer to each plan: all see the same redrawn labels."""
        with Readings(self.reader, self.counting, asked.progress) as readings:
            survey = readings.survey()
            names = [str(name) for name in self.counting.columns.classes]
            bound = [(plan.measure, plan.measure.bind_chunks(survey, names)) for plan in plans]
            draws = Draws(asked.most_resamples, asked.seed)
            found = chunk_tests(bound, draws, partial(readings.redraw, survey))
        confidence, squares, right, both = (survey.confidence / SHARE).tolist()
        n, variance = survey.n, confidence - squares
        shares = confidence / n, right / n
        residuals = squares - 2.0 * both + right - n * (shares[0] - shares[1]) ** 2
        gap = gap_of_sums("confidence", "right", n, *shares, variance, residuals)
        yield from (Answer(plan, one, n, gap) for plan, one in zip(plans, found, strict=True))


# ---- forecasts ----------------------------------------------------------------------------------


class ForecastsByChunks(RowsByChunks):
    """Forecasts that are read batch by batch; twice, where they are counted by groups of like ones.

    Parameters
    ----------
    reader : Reader
        How they are read.
    names : sequence of str
        The columns that are read.
    asked : Asked
        What is asked for.
    """

    m = 0

    def __init__(self, reader: Reader, names: Sequence[str], asked: Asked) -> None:
        self.reader, self.names, self.given = reader, names, asked.given
        self.name, self.progress = reader.source.name, asked.progress

    @staticmethod
    def refuse(asked: Asked) -> None:
        """Raise NotApplicable where something asked for needs the rows."""
        given = asked.given
        lacking = {
            "groups": as_columns(given.by),
            "sample weights": given.sample_weight is not None,
            "rows that are left out": asked.on_error == "skip",
            "lenses": any(str(lens) != "strong" for lens in asked.lenses),
        }
        for name, is_asked in lacking.items():
            if is_asked:
                raise NotApplicable(f"forecasts by chunks have no {name}", "use engine='rows'")
        few = Forecasts([0.0, 1.0, 2.0], mean=[1.0, 0.0, 1.0], scale=[1.0, 1.0, 2.0])
        for _, measure in asked.measures:
            counts = PitCounts(few, measure.pit_groups)
            counts.add(few)
            measure.bind_pits(counts)

    @classmethod
    def of(cls, reader: Reader, columns: Any, asked: Asked) -> ForecastsByChunks:
        """Check that the rows can be read as often as they have to be."""
        if reader.source.is_stream and _groups(asked) > 1:
            reason = "the default test reads forecasts twice, and an iterator is read once"
            raise NotApplicable(reason, "pass files or a lazy frame, or name a test as 'pit-ks'")
        return cls(reader, columns, asked)

    def claim_of(self, plan: Plan) -> str:
        return Forecasts.claim

    def answers(self, plans: Sequence[Plan], asked: Asked) -> Iterator[Answer | NotApplicable]:
        """Yield the answer to each plan: all see the same redrawn numbers."""
        groups, parts = _groups(asked), self.reader.fitting()
        sample = None
        if groups > 1:
            parts = list(parts)  # type: ignore[assignment]
            sample = self._sample(parts)
        counts, sums = PitCounts(sample, groups), np.zeros(4)
        kind = name = ""
        for start, frame in self._batches(parts):
            rows = self._forecasts(start, frame)
            counts.add(rows)
            seen, kind, name = plans[0].lens.size_of(rows)
            p, happened = event_rows(seen)[:2]
            sums += p.sum(), happened.sum(), p @ (1.0 - p), np.square(happened - p).sum()
        n = counts.n
        self.reader.check_rows(n)
        mean, share, variance, squares = (sums / [n, n, 1.0, 1.0]).tolist()
        gap = gap_of_sums(kind, name, n, mean, share, variance, squares - n * (share - mean) ** 2)
        bound = [(plan.measure, plan.measure.bind_pits(counts)) for plan in plans]
        found = exact_tests(bound, Draws(**asked.draws(plans[0].seed)))
        yield from (Answer(plan, one, n, gap) for plan, one in zip(plans, found, strict=True))

    def _batches(self, parts: Iterable[SourcePart]) -> Iterator[tuple[int, Any]]:
        """Yield the rows, some at a time, with the number of the first."""
        import polars as pl

        start = 0
        for done, part in enumerate(parts, start=1):
            with part.readable(self.reader.fault):
                frame = part.open()
                for batch in batches_of(frame.select(*[column(frame, k) for k in self.names])):
                    rows = pl.DataFrame(batch)
                    yield start, rows
                    start += rows.height
            if self.progress is not None:
                source = self.reader.source
                self.progress(done, done if source.is_stream else len(source.parts))  # type: ignore[arg-type]

    def _sample(self, parts: Iterable[SourcePart]) -> Forecasts:
        """Return every so many of the rows."""
        import polars as pl

        frames = [frame[-start % SAMPLED :: SAMPLED] for start, frame in self._batches(parts)]
        self.reader.check_rows(sum(frame.height for frame in frames))
        return self._forecasts(0, pl.concat(frames))

    def _forecasts(self, start: int, frame: Any) -> Forecasts:
        with rows_named(lambda row: self.reader.source.place(start + row)):
            columns = self.given.forecasts
            rows = Forecasts.from_frame(frame, label=self.given.label, **columns)
        return rows.numbered_from(start)


def _groups(asked: Asked) -> int:
    """Return by how many groups forecasts are counted, for all that is asked."""
    return max(measure.pit_groups for _, measure in asked.measures)


def columns_of_forecasts(reader: Reader, asked: Asked) -> list[str]:
    """Return the columns that forecasts and outcomes are made of."""
    frame, found = reader.first(), dict[str, None]()

    def taken(name: str) -> Any:
        found[name] = None
        return np.ones(1)

    names = list(frame.collect_schema())
    label = checks.check_choice(asked.given.label, names, "label")
    tables.choose_forecasts(tables.ColumnTable(names, taken), label=label, **asked.given.forecasts)
    reader.needs(frame, list(found))
    return list(found)


# ---- which of them ------------------------------------------------------------------------------


Way = Prepared | RowsByChunks
WAYS: dict[str, type[Way]] = {"chunks": RowsByChunks, "cells": Prepared}
OF_FORECASTS: dict[str, type[Way]] = dict.fromkeys(WAYS, ForecastsByChunks)


def choose(engine: str, asked: Asked) -> tuple[Source | None, Way | None]:
    """Return where the rows lie, if they are in no array, and how they are tested there.

    Parameters
    ----------
    engine : {"auto", "rows", "cells", "chunks"}
        "auto" takes chunks or cells for more than 2 million rows, and where rows may be left out,
        if none of what is asked for needs the rows in memory.
    asked : Asked
        What is asked for, of a model or of data alone.

    Returns
    -------
    Source or None
        Where the rows lie.
    Way or None
        What tests them there; None where they are to be read into memory.

    Raises
    ------
    InvalidInput
        If an option is unknown.
    NotApplicable
        If cells or chunks are asked for what has no rows to count, or for what needs them.
    """
    checks.check_choice(asked.on_error, ON_ERROR, "on_error")
    checks.check_choice(engine, ENGINES, "engine")
    source, skips = lies(asked.given), asked.on_error == "skip"
    ways_of = OF_FORECASTS if asked.given.forecasts else WAYS
    if engine in WAYS:
        if source is None:
            reason = f"engine={engine!r} takes a data frame, a lazy one, paths or an iterator of "
            remedy = "use engine='rows' for arrays and models"
            raise NotApplicable(f"{reason}frames", remedy)
        asked.check_arguments()
        ways_of[engine].refuse(asked)
        return source, ways_of[engine].of(*_columns(source, asked), asked)  # type: ignore[arg-type]
    if (
        source is None
        or engine == "rows"
        or (source.is_eager and not skips and tables.as_frame(source.native).shape[0] <= ROWS)
    ):
        return source, None
    ways = []
    for way in ways_of.values():
        with suppress(NotApplicable):
            asked.check_arguments()
            way.refuse(asked)
            ways.append(way)
    many = bool(ways) and skips
    if ways and not skips:
        many, source = source.has_more_rows(ROWS)
    if not many:
        return source, None
    reader, columns = _columns(source, asked)
    for way in ways:
        try:
            return source, way.of(reader, columns, asked)  # type: ignore[arg-type]
        except NotApplicable:
            if way is ways[-1] and source.is_stream:  # it cannot be read again
                raise
    return source, None


def _columns(source: Source, asked: Asked) -> tuple[Reader, Columns | list[str]]:
    """Return how the rows are read, and which columns there are."""
    reader = Reader(source, asked.columns, on_error=asked.on_error, progress=asked.progress)
    if asked.given.forecasts:
        return reader, columns_of_forecasts(reader, asked)
    return reader, reader.columns()


# ---- segments that overlap: margins of one table of cells ---------------------------------------

TEST = "ks"
ROWS_ONLY = "on segments of rows that are counted in cells; use engine='rows'"


def run_segments(
    engine: str,
    given: ModelData,
    lens: Any,
    options: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> SegmentsTest | GroupsTest:
    """Test segments; where rows are counted in cells, as groups of margins of these.

    Parameters
    ----------
    engine : {"auto", "rows", "cells", "chunks"}
        As for `test_calibration`, as all that is not named here.
    given : ModelData
        Model and data, not read; its groups are the segments that were named.
    lens : str, Lens or None
        None for the usual one.
    options : Mapping
        Those of `test_segments`.
    settings : Mapping
        As for `test_calibration`: n_resamples, rng, n_jobs, level, on_error and progress.

    Raises
    ------
    NotApplicable
        If cells are asked for and segments are no columns of the data.
    """
    names, own = as_columns(given.by), dict(settings)
    n_resamples, seed = own.pop("n_resamples"), checks.check_seed(own.pop("rng"))
    asked = Asked(
        given=replace(given, features=None, by=list(names)),
        measures=[(TEST, REGISTRY[TEST]())],
        lenses=[] if lens is None else [resolve_lens(lens)],
        correction="holm",
        n_resamples=1,  # nothing is redrawn
        seed=seed,
        **own,
    )
    checks.check_choice(engine, ENGINES, "engine")
    if engine == "cells" and not names:
        reason = "engine='cells' takes segments that are columns of the data, by name"
        raise NotApplicable(reason, "use engine='rows'")
    source, prepared = lies(asked.given), None
    if engine != "cells" and (source is None or source.is_eager):
        source = None
    elif names:
        source, prepared = choose("auto" if engine == "chunks" else engine, asked)
    if isinstance(prepared, Prepared):
        may_need_rows = engine == "auto" and not prepared.reader.source.is_stream
        with suppress(*[NotApplicable] if may_need_rows else []):
            return of_margins(prepared, asked, **options)
    own.pop("on_error")
    every = SegmentSettings(seed=seed, lens=lens, n_resamples=n_resamples, **own, **options)
    rows = given if source is None else replace(given, model=None, data=source.table())
    with rows_named(None if source is None else source.place):
        return run_given(replace(rows, by=None), given.by, every)


def of_margins(
    prepared: Prepared,
    asked: Asked,
    *,
    depth: int | None = None,
    bins: int = 10,
    min_size: int = 20,
    **others: object,
) -> GroupsTest:
    """Count rows by all columns of segments in one query, and test the margins of the table.

    Parameters
    ----------
    prepared : Prepared
        How the rows are read, and what is counted: by the columns of the segments.
    asked : Asked
        What is asked for.
    depth, bins, min_size : int
        As for `test_segments`; numbers are not cut.
    **others : object
        Options that need the rows.

    Raises
    ------
    NotApplicable
        If a column has numbers that had to be cut, or no segment is left.
    """
    checks.check_unused(ROWS_ONLY, **others)
    checks.check_optional_integer(depth, "depth")
    for name, value in (("bins", bins), ("min_size", min_size)):
        checks.check_integer(value, name, minimum=2)
    counting = prepared.counting
    table = prepared.reader.count(counting)
    for k, name in enumerate(counting.columns.by):
        values = table[f"g{k}"]
        if values.dtype.is_numeric() and values.n_unique() > bins:
            raise NotApplicable(
                f"the column {name!r} has {values.n_unique()} numbers, more than {bins}, and cells "
                "are counted by values",
                "add a column of its parts to the data, pass bins=, or use engine='rows'",
            )
    deepest = min(2 if depth is None else depth, len(counting.columns.by))
    reader, m = prepared.reader, len(counting.columns.classes)
    call = GroupsCall(asked, counting.lenses[0], m, reader.source.name, reader.left_out.notes())
    result = call.overlapping(_margins(counting, table, deepest, min_size))
    if len(result) == 1:
        reason = f"no segment has at least {min_size} rows and leaves out some"
        raise NotApplicable(reason, "pass a smaller min_size, or columns with fewer values")
    return result


def _margins(
    counting: Counting, table: pl.DataFrame, depth: int, min_size: int
) -> Iterator[ManyCells]:
    """Yield all rows, then the segments of each combination of columns, each set of rows once."""
    columns = counting.columns.by
    sizes: dict[tuple[object, ...], int] = {}
    for d in range(depth + 1):
        for some in combinations(range(len(columns)), d):
            many = counting.margin(table, some).among(columns)
            sizes |= zip(many.values, many.n.tolist(), strict=True)
            kept = []
            for key in many.values:
                places = [k for k, value in enumerate(key) if value is not None]
                above = [sizes[(*key[:k], None, *key[k + 1 :])] for k in places]
                kept.append(not above or min_size <= sizes[key] < min(above))
            if any(kept):
                yield many.some(np.array(kept))
