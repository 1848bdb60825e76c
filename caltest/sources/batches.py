"""Rows of Polars batch by batch, and its panics as errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

BATCH = 1 << 17  # rows that are read at a time
AHEAD = 2  # batches that wait


def has_batches(frame: pl.LazyFrame) -> bool:
    """Tell whether this version of Polars (from 1.34 on) hands out batches."""
    return hasattr(frame, "sink_batches")


def batches(frame: pl.LazyFrame, *, ordered: bool = False) -> Iterator[pl.DataFrame]:
    """Yield the rows of a lazy frame of Polars, and raise what its engine raises.

    ``LazyFrame.collect_batches`` ends without a word where a thread of the engine panics, as it
    does on some damaged files; the rows that were not read yet would be lost.

    Parameters
    ----------
    frame : pl.LazyFrame
        From a version that has batches.
    ordered : bool, default False
        Whether the rows come in their order.
    """
    ready: Queue[pl.DataFrame | Exception | None] = Queue(AHEAD)
    stopped = Event()

    def put(batch: pl.DataFrame) -> bool:
        ready.put(batch)
        return stopped.is_set()

    def read() -> None:
        error = None
        try:
            with panics_as_errors():
                options: dict[str, Any] = {"chunk_size": BATCH, "engine": "streaming"}
                frame.sink_batches(put, maintain_order=ordered, **options)
        except Exception as raised:  # noqa: BLE001 - raised again where the rows are taken
            error = raised
        ready.put(error)

    reader = Thread(target=read, daemon=True)
    reader.start()
    is_over = False
    try:
        while not is_over:
            batch = ready.get()
            is_over = batch is None or isinstance(batch, Exception)
            if isinstance(batch, Exception):
                raise batch
            if batch is not None:
                yield batch
    finally:
        stopped.set()
        while not is_over:
            is_over = isinstance(ready.get(), Exception | None)
        reader.join()


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic of Polars, which is no Exception, as an error of its computing."""
    import polars as pl

    try:
        yield
    except pl.exceptions.PanicException as error:
        raise pl.exceptions.ComputeError(f"panic: {error}") from error
