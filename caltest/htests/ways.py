"""Which form very many rows are tested in: counted in cells, by chunks, or in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, rows_named
from caltest.htests import cells, chunks
from caltest.htests.asked import Asked, as_columns, lies
from caltest.htests.combine import GroupsCall
from caltest.lazy import pl
from caltest.lenses import resolve_lens
from caltest.measures import REGISTRY
from caltest.predictions import ModelData, tables
from caltest.results import GroupsTest
from caltest.segments import SegmentsTest
from caltest.segments.null import SegmentSettings
from caltest.segments.run import run_given
from caltest.sources import Counting, ManyCells, query
from caltest.sources.columns import Columns, column
from caltest.sources.sources import ENGINES, ON_ERROR, ROWS, Reader, Source

Way = cells.Prepared | chunks.RowsByChunks
WAYS: dict[str, type[Way]] = {"chunks": chunks.RowsByChunks, "cells": cells.Prepared}
OF_FORECASTS: dict[str, type[Way]] = dict.fromkeys(WAYS, chunks.ForecastsByChunks)


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
        return reader, chunks.columns_of_forecasts(reader, asked)
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
