"""Which form very many rows are tested in: counted in cells, by chunks as here, or in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, rows_named
from caltest.forecasts.container import SAMPLED, Forecasts, PitCounts
from caltest.htests import cells
from caltest.htests.asked import Asked, Plan, as_columns, lies
from caltest.htests.combine import GroupsCall
from caltest.htests.runner import Answer, Answering
from caltest.lazy import pl
from caltest.lenses import Lens, resolve_lens
from caltest.measures import REGISTRY
from caltest.measures.gap import event_rows, gap_of_sums
from caltest.nulls.base import Draws
from caltest.nulls.exact import chunk_tests, exact_tests
from caltest.predictions import ModelData, tables
from caltest.results import GroupsTest
from caltest.segments import SegmentsTest
from caltest.segments.null import SegmentSettings
from caltest.segments.run import run_given
from caltest.sources import Counting, ManyCells, chunks, query, sources
from caltest.sources.columns import Columns, column
from caltest.sources.readings import Readings, batches_of
from caltest.sources.sources import ENGINES, ON_ERROR, ROWS, Reader, Source

STRONG = "strong"


class RowsByChunks(Answering):
    """Rows of several classes that are read twice, chunk by chunk.

    Parameters
    ----------
    reader : Reader
        How they are read.
    counting : Counting
        What their columns hold.
    """

    def __init__(self, reader: sources.Reader, counting: Counting) -> None:
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
        few = chunks.Survey.of(3, (0, 0), [chunks.Chunk(probs, np.array([0, 1]), {})])
        for _, measure in asked.measures:
            measure.bind_chunks(few, "abc")

    @classmethod
    def of(cls, reader: sources.Reader, columns: Columns, asked: Asked) -> RowsByChunks:
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
        confidence, squares, right, both = (survey.confidence / chunks.SHARE).tolist()
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

    def __init__(self, reader: sources.Reader, names: Sequence[str], asked: Asked) -> None:
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
    def of(cls, reader: sources.Reader, columns: Any, asked: Asked) -> ForecastsByChunks:
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

    def _batches(self, parts: Iterable[sources.SourcePart]) -> Iterator[tuple[int, Any]]:
        """Yield the rows, some at a time, with the number of the first."""
        start = 0
        for done, part in enumerate(parts, start=1):
            with part.readable(self.reader.fault):
                frame = part.open()
                for batch in batches_of(frame.select(*[column(frame, k) for k in self.names])):
                    rows = pl.DataFrame(batch)
                    yield start, rows
                    start += rows.height
            if self.progress is not None:
                self.progress(done, self.reader.source.known or done)

    def _sample(self, parts: Iterable[sources.SourcePart]) -> Forecasts:
        """Return every so many of the rows."""
        frames = [frame[-start % SAMPLED :: SAMPLED] for start, frame in self._batches(parts)]
        self.reader.check_rows(sum(frame.height for frame in frames))
        return self._forecasts(0, pl.concat(frames))

    def _forecasts(self, start: int, frame: Any) -> Forecasts:
        with rows_named(lambda row: self.reader.source.place(start + row)):
            rows = Forecasts.from_frame(frame, label=self.given.label, **self.given.forecasts)
        return rows.numbered_from(start)


def _groups(asked: Asked) -> int:
    """Return by how many groups forecasts are counted, for all that is asked."""
    return max(measure.pit_groups for _, measure in asked.measures)


def columns_of_forecasts(reader: sources.Reader, asked: Asked) -> list[str]:
    """Return the columns that forecasts and outcomes are made of."""
    frame, found = reader.first().open(), dict[str, None]()

    def taken(name: str) -> Any:
        found[name] = None
        return np.ones(1)

    names = list(frame.collect_schema())
    label = checks.check_choice(asked.given.label, names, "label")
    tables.choose_forecasts(tables.ColumnTable(names, taken), label=label, **asked.given.forecasts)
    reader.needs(frame, list(found))
    return list(found)


# ---- which of these, or cells, the rows are tested by --------------------------------------------

Way = cells.Prepared | RowsByChunks
WAYS: dict[str, type[Way]] = {"chunks": RowsByChunks, "cells": cells.Prepared}
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
    if source is None and engine in WAYS:
        reason = f"engine={engine!r} takes a data frame, a lazy one, paths or an iterator of frames"
        raise NotApplicable(reason, "use engine='rows' for arrays and models")
    takes_few = engine == "auto" and not skips
    if (
        source is None
        or engine == "rows"
        or (takes_few and source.is_eager and tables.as_frame(source.native).shape[0] <= ROWS)
    ):
        return source, None
    ways_of = OF_FORECASTS if asked.given.forecasts else WAYS
    if engine in WAYS:
        asked.check_arguments()
        ways_of[engine].refuse(asked)
        return source, ways_of[engine].of(*_columns(source, asked), asked)  # type: ignore[arg-type]
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
    engine: str, given: ModelData, lens: Any, options: Mapping[str, Any], shared: Mapping[str, Any]
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
    shared : Mapping
        As for `test_calibration`: n_resamples, rng, n_jobs, level, on_error and progress.

    Raises
    ------
    NotApplicable
        If cells are asked for and segments are no columns of the data.
    """
    names, own = as_columns(given.by), dict(shared)
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
    if isinstance(prepared, cells.Prepared):
        may_need_rows = engine == "auto" and not prepared.reader.source.is_stream
        with suppress(*[NotApplicable] if may_need_rows else []):
            return of_margins(prepared, asked, **options)
    own.pop("on_error")
    every = SegmentSettings(seed=seed, lens=lens, n_resamples=n_resamples, **own, **options)
    if source is None:
        return run_given(replace(given, by=None), given.by, every)
    table = source.table(asked.given.needs if names else bool)
    with rows_named(source.place):
        found = run_given(replace(given, model=None, data=table, by=None), given.by, every)
    return replace(found, data_name=source.name)


def of_margins(
    prepared: cells.Prepared,
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
    checks.check_unused(ROWS_ONLY, sample_weight=asked.given.sample_weight, **others)
    checks.check_optional_integer(depth, "depth")
    for name, value in (("bins", bins), ("min_size", min_size)):
        checks.check_integer(value, name, minimum=2)
    counting = prepared.counting
    first = prepared.reader.first()
    with first.readable(lambda *_: None):  # where rows are counted it is left out, or refused
        frame = first.open()
        for name in counting.columns.by:
            _check_few(query.collected(frame.select(column(frame, name)).unique())[name], bins)
    table = prepared.reader.count(counting)
    for k, name in enumerate(counting.columns.by):
        _check_few(table[f"g{k}"].alias(name), bins)
    deepest = min(2 if depth is None else depth, len(counting.columns.by))
    reader, m = prepared.reader, len(counting.columns.classes)
    call = GroupsCall(asked, counting.lenses[0], m, reader.source.name, reader.left_out.notes())
    result = call.overlapping(_margins(counting, table, deepest, min_size))
    if len(result) == 1:
        reason = f"no segment has at least {min_size} rows and leaves out some"
        raise NotApplicable(
            reason, "pass columns of a few values, two or more, or a smaller min_size"
        )
    return result


def _check_few(values: pl.Series, bins: int) -> None:
    """Raise NotApplicable where a column has more numbers than bins."""
    count = values.drop_nulls().n_unique() if values.dtype.is_numeric() else 0
    if count > bins:
        raise NotApplicable(
            f"the column {values.name!r} has {count:,} numbers, more than {bins}, and cells are "
            "counted by values",
            "add a column of its parts to the data, pass bins=, or use engine='rows'",
        )


def _margins(
    counting: Counting, table: pl.DataFrame, depth: int, min_size: int
) -> Iterator[ManyCells]:
    """Yield all rows, then the segments of each combination of columns, each set of rows once."""
    columns = counting.columns.by
    sizes: dict[tuple[object, ...], int] = {}
    for d in range(depth + 1):
        for some in combinations(range(len(columns)), d):
            for groups in counting.margins(table, some):
                many = groups.among(columns)
                sizes |= zip(many.values, many.n.tolist(), strict=True)
                kept = []
                for key in many.values:
                    places = [k for k, value in enumerate(key) if value is not None]
                    above = [sizes[(*key[:k], None, *key[k + 1 :])] for k in places]
                    kept.append(not above or min_size <= sizes[key] < min(above))
                if any(kept):
                    yield many.some(np.array(kept))
