"""Segments that overlap, of rows that are counted in cells: margins of one table of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, rows_named
from caltest.htests.asked import Asked, as_columns
from caltest.htests.cells import Prepared, choose
from caltest.htests.groups import GroupsCall
from caltest.lenses import resolve_lens
from caltest.measures import REGISTRY
from caltest.predictions import ModelData
from caltest.segments import SegmentsTest
from caltest.segments.null import Settings
from caltest.segments.run import run_given
from caltest.sources import Counting, ManyCells
from caltest.sources.sources import ENGINES

if TYPE_CHECKING:
    import polars as pl

    from caltest.results import GroupsTest

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
    source, prepared = asked.source, None
    if engine != "cells" and (source is None or source.is_eager):
        source = None
    elif names:
        source, prepared = choose("auto" if engine == "chunks" else engine, asked)
    if isinstance(prepared, Prepared):
        may_need_rows = engine == "auto" and not prepared.reader.source.is_stream
        with suppress(*[NotApplicable] if may_need_rows else []):
            return test_margins(prepared, asked, **options)
    own.pop("on_error")
    every = Settings(seed=seed, lens=lens, n_resamples=n_resamples, **own, **options)
    rows = given if source is None else replace(given, model=None, data=source.table())
    with rows_named(None if source is None else source.place):
        return run_given(replace(rows, by=None), given.by, every)


def test_margins(
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
    notes = reader.left_out.notes()
    call = GroupsCall(asked, counting.lenses[0], m, reader.source.name, notes)
    result = call.overlapping(_margins(counting, table, deepest, min_size))
    if len(result) == 1:
        reason = f"no segment has at least {min_size} rows and leaves out some"
        raise NotApplicable(reason, "pass a smaller min_size, or columns with fewer values")
    return result


test_margins.__test__ = False  # type: ignore[attr-defined]  # no test of pytest


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
