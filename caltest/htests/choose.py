"""How rows that lie somewhere are tested: in memory, counted in cells, or read by chunks."""

from __future__ import annotations

from caltest.errors import NotApplicable
from caltest.htests.asked import Asked
from caltest.htests.cells import Prepared
from caltest.htests.chunks import RowsByChunks
from caltest.predictions import sources
from caltest.scale.columns import Columns
from caltest.scale.sources import ENGINES, ON_ERROR, ROWS, Reader, Source
from caltest.validation import check_choice

Way = Prepared | RowsByChunks
WAYS: dict[str, type[Way]] = {"chunks": RowsByChunks, "cells": Prepared}


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
    Prepared, RowsByChunks or None
        What tests them there; None where they are to be read into memory.

    Raises
    ------
    InvalidInput
        If an option is unknown.
    NotApplicable
        If cells or chunks are asked for what has no rows to count, or for what needs them.
    """
    check_choice(asked.on_error, ON_ERROR, "on_error")
    check_choice(engine, ENGINES, "engine")
    source = asked.source
    if engine in WAYS:
        if source is None:
            reason = f"engine={engine!r} takes a data frame, a lazy one, paths or an iterator of "
            remedy = "use engine='rows' for arrays and models"
            raise NotApplicable(f"{reason}frames", remedy)
        WAYS[engine].refuse(asked)
        return source, WAYS[engine].of(*_columns(source, asked), asked)
    if source is None or engine == "rows" or _stays(source, asked):
        return source, None
    ways = [way for way in WAYS.values() if _can(way, asked)]
    if not ways:
        return source, None
    many, source = (True, source) if asked.skips else source.has_more_rows(ROWS)
    if not many:
        return source, None
    reader, columns = _columns(source, asked)
    for way in ways:
        try:
            return source, way.of(reader, columns, asked)
        except NotApplicable:
            if way is ways[-1] and source.is_stream:  # it cannot be read again
                raise
    return source, None


def _stays(source: Source, asked: Asked) -> bool:
    """Tell whether the rows are in memory and few, and none may be left out."""
    if asked.skips or not source.is_eager:
        return False
    return bool(sources.as_frame(source.native).shape[0] <= ROWS)


def _columns(source: Source, asked: Asked) -> tuple[Reader, Columns]:
    """Return how the rows are read, and which columns there are."""
    reader = Reader(source, asked.columns, on_error=asked.on_error, progress=asked.progress)
    return reader, reader.columns()


def _can(way: type[Way], asked: Asked) -> bool:
    """Tell whether none of what is asked for is refused there."""
    try:
        way.refuse(asked)
    except NotApplicable:
        return False
    return True
