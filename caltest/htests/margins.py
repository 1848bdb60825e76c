"""Segments that overlap, of rows that are counted in cells: margins of one table of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from caltest import validation
from caltest.errors import NotApplicable
from caltest.htests.cells import Asked, Prepared, Progress, as_columns, source_for
from caltest.htests.groups import INSTEAD, GroupsCall
from caltest.lenses import Lens, resolve_lens
from caltest.measures import REGISTRY
from caltest.predictions import ModelData
from caltest.scale import Counting, ManyCells
from caltest.scale.sources import ENGINES, Source, source_of

if TYPE_CHECKING:
    import polars as pl

    from caltest.results import GroupsTest

ROWS_ONLY = "on segments of rows that are counted in cells; use engine='rows'"


@dataclass(frozen=True, kw_only=True)
class SegmentsAsked:
    """What `test_calibration` was asked of segments, where rows may be counted in cells.

    Attributes
    ----------
    given : ModelData
        Model and data, not read; its groups are the segments that were named.
    lens : str, Lens or None
        None for the usual one.
    """

    given: ModelData
    lens: str | Lens | None
    seed: int
    n_jobs: int | None
    level: float | None
    on_error: str
    progress: Progress | None

    @property
    def asked(self) -> Asked:
        """The same as of groups: one test, each p-value adjusted by Holm's method."""
        return Asked(
            given=replace(self.given, by=list(as_columns(self.given.by))),
            measures=[(INSTEAD, REGISTRY[INSTEAD]())],
            lenses=[] if self.lens is None else [resolve_lens(self.lens)],
            null=None,
            tolerance=None,
            correction="holm",
            n_resamples=1,  # nothing is redrawn
            seed=self.seed,
            n_jobs=self.n_jobs,
            level=self.level,
            on_error=self.on_error,
            progress=self.progress,
        )


def segments_source(engine: str, segments: SegmentsAsked) -> tuple[Source | None, Prepared | None]:
    """Return where the rows lie, if they do, and how they become cells, if they are to.

    Raises
    ------
    NotApplicable
        If cells are asked for and segments are no columns of the data.
    """
    validation.check_choice(engine, ENGINES, "engine")
    given, names = segments.given, as_columns(segments.given.by)
    if engine == "cells":
        if not names:
            reason = "engine='cells' takes segments that are columns of the data, by name"
            raise NotApplicable(reason, "use engine='rows'")
        return source_for(engine, segments.asked)
    alone = given.data if given.model is None else given.model if given.data is None else None
    source = None if alone is None else source_of(alone)
    if source is None or source.is_eager:
        return None, None
    return source_for(engine, segments.asked) if names else (source, None)


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
    validation.check_unused(ROWS_ONLY, **others)
    validation.check_optional_integer(depth, "depth")
    for name, value in (("bins", bins), ("min_size", min_size)):
        validation.check_integer(value, name, minimum=2)
    counting = prepared.counting
    counted = prepared.reader.count(counting)
    _check_categories(counted.table, counting.columns.by, bins)
    deepest = min(2 if depth is None else depth, len(counting.columns.by))
    call = GroupsCall(
        asked=asked,
        key=INSTEAD,
        measure=REGISTRY[INSTEAD](),
        lens=counting.lenses[0],
        m=len(counting.columns.classes),
        data_name=prepared.reader.source.name,
        notes=counted.left_out.notes(),
    )
    result = call.overlapping(_margins(counting, counted.table, deepest, min_size))
    if len(result) == 1:
        reason = f"no segment has at least {min_size} rows and leaves out some"
        raise NotApplicable(reason, "pass a smaller min_size, or columns with fewer values")
    return result


test_margins.__test__ = False  # type: ignore[attr-defined]  # no test of pytest


def _check_categories(table: pl.DataFrame, columns: tuple[str, ...], bins: int) -> None:
    """Raise NotApplicable where a number had to be cut at quantiles."""
    for k, name in enumerate(columns):
        values = table[f"g{k}"]
        if values.dtype.is_numeric() and values.n_unique() > bins:
            raise NotApplicable(
                f"the column {name!r} has {values.n_unique()} numbers, more than {bins}, and cells "
                "are counted by values",
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
            many = counting.margin(table, some).among(columns)
            sizes |= zip(many.values, many.n.tolist(), strict=True)
            kept = np.array([_is_own(key, sizes, min_size) for key in many.values])
            if kept.any():
                yield many.some(kept)


def _is_own(key: tuple[object, ...], sizes: Mapping[tuple[object, ...], int], least: int) -> bool:
    """Tell whether a segment has enough rows, and fewer than any with a condition less."""
    n, parents = sizes[key], list(_parents(key))
    return not parents or (n >= least and all(n < sizes[parent] for parent in parents))


def _parents(key: tuple[object, ...]) -> Iterator[tuple[object, ...]]:
    """Yield what has a condition less."""
    for k, value in enumerate(key):
        if value is not None:
            yield (*key[:k], None, *key[k + 1 :])
