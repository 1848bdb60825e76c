"""The two readings of rows by chunks, here or on workers: a survey, and sums of redrawn labels."""

from __future__ import annotations

import io
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, reduce
from operator import add
from threading import Event, Thread
from typing import Any, BinaryIO
from uuid import uuid4

import narwhals as nw

from caltest.errors import NotApplicable, invalid
from caltest.sources.chunks import MOST, Chunk, Redraw, Redrawn, Survey, Totals, Unit
from caltest.sources.query import BATCH, WRONG, Counting, batches, collected, has_batches, unsteady
from caltest.sources.sources import Progress, Reader, SourcePart
from caltest.types import Hashes

FAN = 8  # partitions whose sums are added on a worker
EVERY = 0.5  # seconds between looks at what the workers of Spark have done
Work = Callable[[Unit, Iterator[Chunk]], Any]
Done = Callable[[int], None]
SUM = partial(reduce, add)  # of what workers give
Rows = Callable[[], Any]  # returns a lazy frame of narwhals: p0, p1, ..., code and status


class Readings(ExitStack):
    """Reads the rows of a source twice; those of an iterator are kept in a file in between.

    Parameters
    ----------
    reader : Reader
        Its columns have been read.
    counting : Counting
        What the columns hold.
    progress : callable, optional
        Called with (rows done, rows in all) in the second reading.
    """

    def __init__(
        self, reader: Reader, counting: Counting, progress: Progress | None = None
    ) -> None:
        super().__init__()
        self.reader, self.counting, self.progress = reader, counting, progress
        self.m = len(counting.columns.classes)
        self._readable: list[tuple[int, SourcePart, Rows]] = []

    def survey(self) -> Survey:
        """Read all rows for the first time.

        Raises
        ------
        InvalidInput
            If a part cannot be read, has other columns, or rows that break a rule.
        NotApplicable
            If there are too few or too many rows.
        """
        surveys: list[Survey] = []
        work: Work = partial(Survey.of, self.m)
        for number, (part, rows) in enumerate(self._parts()):
            with part.readable(self.reader.fault):
                found = total_over(rows(), number, self.m, work, done=lambda _: None, sizes={})
                self.reader.refuse(_named(found), part.name)
                self._readable.append((number, part, rows))
                surveys.append(found)
        if not surveys:
            raise self.reader.nothing()
        survey = surveys[0].plus(surveys[1:])
        self.reader.left_out.rows = _named(survey)
        self.reader.check_rows(survey.n)
        if survey.n > MOST:
            raise NotApplicable(f"sums of chunks hold {MOST} rows", "test a sample of the rows")
        return survey

    def redraw(self, survey: Survey, make: Callable[[], list[Totals]], keys: Hashes) -> list[Any]:
        """Read all rows for the second time, and return sums over them.

        Parameters
        ----------
        survey : Survey
            What the first reading found.
        make : callable
            Returns sums over no rows; it can be pickled.
        keys : (B,) array
            Of the resamples.
        """
        done = 0

        def add(more: int) -> None:
            nonlocal done
            done += more
            if self.progress is not None:
                self.progress(done, survey.n)

        work = Redraw(make, keys, survey.numbering())
        sizes = {unit: n for unit, (n, _) in survey.units.items()}
        total: Redrawn | None = None
        for number, part, rows in self._readable:
            with part.readable(_gone):
                found = total_over(rows(), number, self.m, work, done=add, sizes=sizes)
            total = found if total is None else total + found
        if total is None or total.units != survey.units:
            raise unsteady()
        return total.totals

    def _parts(self) -> Iterator[tuple[SourcePart, Rows]]:
        """Yield the parts with what opens their rows, any number of times."""
        # Rows of chunks one after the other, in a file without a name: it goes with the process.
        file = None
        if self.reader.source.is_stream:
            file = self.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - it does
        for part in self.reader.fitting():
            if file is None:
                yield part, partial(self._rows, part)
                continue
            try:
                rows = collected(self._rows(part))
            except Exception as error:  # noqa: BLE001 - each engine has errors of its own
                self.reader.fault(part, error)
            else:
                content = io.BytesIO()
                rows.write_ipc(content)
                start = file.seek(0, io.SEEK_END)
                file.write(content.getbuffer())
                yield part, partial(_read, file, start, content.tell())

    def _rows(self, part: SourcePart) -> Any:
        return self.counting.rows(part.open())


def _read(file: BinaryIO, start: int, size: int) -> Any:
    import polars as pl

    file.seek(start)
    return nw.from_native(pl.read_ipc(file.read(size)).lazy())


def _gone(part: SourcePart, error: Exception) -> None:
    """Say that a part cannot be read again."""
    got = f"{part.name}; the engine reports: {error}"
    remedy = "check that it stays as it is"
    raise invalid("all parts must be readable twice", got, remedy) from error


def _named(survey: Survey) -> dict[str, int]:
    """Name what is wrong with rows, with their numbers."""
    return {WRONG[kind - 1]: n for kind, n in sorted(survey.wrong.items())}


# ---- how each engine hands out its rows: batch by batch here, or by partitions on workers --------


def total_over(
    frame: Any, part: int, m: int, work: Work, *, done: Done, sizes: Mapping[Unit, int]
) -> Any:
    """Return the sum of what `work` gives for each unit of a lazy frame of narwhals.

    Parameters
    ----------
    frame : narwhals.LazyFrame
        Columns p0, p1, ..., code and status.
    part : int
        The number of the part.
    m : int
        The number of classes.
    work : callable
        ``work(unit, chunks)``; what it gives can be added and, as itself, pickled.
    done : callable
        Called with the number of rows that are done since the last call.
    sizes : Mapping
        The number of rows of each unit, where it is known; else workers do not tell.
    """
    native = frame.to_native()
    own = {unit: n for unit, n in sizes.items() if unit[0] == part}
    if frame.implementation is nw.Implementation.DASK:
        return _over_dask(native, part, m, work, RowsDone(own, done))
    if frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect():
        return _over_spark(native, part, m, work, RowsDone(own, done))
    return work((part, 0), _counted(batches_of(frame), m, done))


def batches_of(frame: Any) -> Any:
    """Return the rows of a lazy frame of narwhals in their order, some at a time.

    Those of Dask, partition by partition, are read into this process, and those of Spark at once.
    """
    native, kinds = frame.to_native(), nw.Implementation
    if frame.implementation is kinds.DASK:
        return (one.compute() for one in native.to_delayed())
    if frame.implementation is not kinds.POLARS:
        read = {kinds.DUCKDB: _of_duckdb, kinds.IBIS: _of_ibis}.get(frame.implementation)
        return [collected(frame)] if read is None else read(native)
    if has_batches(native):
        return batches(native, ordered=True)  # where rows are told apart by their chunk
    return collected(frame).iter_slices(BATCH)


class RowsDone:
    """Reports how many rows more are done, as workers finish their units.

    Parameters
    ----------
    sizes : dict
        The number of rows of each unit; empty where it is not known, and nothing is reported.
    done : callable
        Called with the number of rows that are done since the last call.
    """

    def __init__(self, sizes: dict[Unit, int], done: Done) -> None:
        self.sizes, self.done, self.seen = sizes, done, 0
        self.total = sum(sizes.values())

    def unit(self, unit: Unit) -> None:
        """Tell that a unit is done; one that is done twice counts once."""
        self.upto(self.seen + self.sizes.pop(unit, 0))

    def upto(self, rows: int) -> None:
        """Tell that so many rows are done."""
        more = min(rows, self.total) - self.seen
        if more > 0:
            self.seen += more
            self.done(more)


def _counted(batches: Any, m: int, done: Done) -> Iterator[Chunk]:
    for batch in batches:
        for chunk in Chunk.split(batch, m):
            yield chunk
            done(len(chunk.labels))


def _of_duckdb(relation: Any) -> Any:
    new = hasattr(relation, "to_arrow_reader")  # DuckDB from 1.5
    return map(_columns, (relation.to_arrow_reader if new else relation.fetch_record_batch)(BATCH))


def _of_ibis(table: Any) -> Any:
    backend = table.get_backend()
    if backend.name == "duckdb" and not hasattr(backend.con, "fetch_record_batch"):
        # Ibis 12 asks for what DuckDB has no longer from 2.0 on.
        table.limit(0).to_pyarrow()  # which makes tables in memory known to DuckDB
        return _of_duckdb(backend.con.sql(backend.compile(table)))
    return map(_columns, table.to_pyarrow_batches(chunk_size=BATCH))


def _columns(batch: Any) -> Mapping[str, Any]:
    """Return the columns of an Arrow batch as arrays."""
    arrays = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
    return dict(zip(batch.schema.names, arrays, strict=True))


# ---- workers ------------------------------------------------------------------------------------


def _over_dask(frame: Any, part: int, m: int, work: Work, seen: RowsDone) -> Any:
    """Have the workers of Dask do the work, and add up its results."""
    from dask.delayed import delayed

    topic = f"caltest-{uuid4().hex}"
    of_partition = delayed(partial(_of_pandas, m, work, topic if seen.total else None), pure=False)
    waiting = [
        of_partition((part, i), one, dask_key_name=f"{topic}-{i}")
        for i, one in enumerate(frame.to_delayed())
    ]
    plus = delayed(SUM, pure=False)
    while len(waiting) > 1:
        waiting = [plus(waiting[i : i + FAN]) for i in range(0, len(waiting), FAN)]
    with _watching_dask(topic, seen):
        result = waiting[0].compute()
    seen.upto(seen.total)
    return result


@contextmanager
def _watching_dask(topic: str, seen: RowsDone) -> Iterator[None]:
    """Tell which partitions are done: workers of a cluster say so, a local scheduler calls back."""
    from dask import base, callbacks

    calls: Any = (base.get_scheduler, callbacks.Callback)  # dask has no types for them
    scheduler, callback = calls
    client: Any = getattr(scheduler(), "__self__", None)
    if not hasattr(client, "subscribe_topic"):
        keys = {f"{topic}-{unit[1]}": unit for unit in seen.sizes}

        def posttask(key: Any, *_: object) -> None:
            if key in keys:
                seen.unit(keys[key])

        with callback(posttask=posttask):
            yield
        return
    client.subscribe_topic(topic, lambda event: seen.unit(tuple(event[1])))
    try:
        yield
    finally:
        client.unsubscribe_topic(topic)


def _of_pandas(m: int, work: Work, topic: str | None, unit: Unit, frame: Any) -> Any:
    result = work(unit, Chunk.split({name: frame[name].to_numpy() for name in frame.columns}, m))
    if topic is not None:
        with suppress(ImportError, ValueError):  # no worker of a cluster
            from distributed import get_worker

            get_worker().log_event(topic, unit)
    return result


def _over_spark(frame: Any, part: int, m: int, work: Work, seen: RowsDone) -> Any:
    """Have the workers of Spark do the work, and add up its results.

    Those of several partitions are added on a worker where the number of these is known, so that
    one job does all the work and what comes here is small.
    """
    done = None  # a number that the workers add to, unless they are behind a server
    if seen.total:
        with suppress(Exception):  # Spark Connect has errors of its own
            done = frame.sparkSession.sparkContext.accumulator(0)
    results = frame.mapInArrow(partial(_of_arrow, part, m, work, done), "result binary")
    if not seen.sizes:
        return SUM([pickle.loads(row[0]) for row in results.collect()])  # noqa: S301 - its own
    some = results.repartition(-(-len(seen.sizes) // FAN)).mapInArrow(_sum_arrow, "result binary")
    with _watching_spark(done, seen):
        result = SUM(pickle.loads(row[0]) for row in some.toLocalIterator())  # noqa: S301 - its own
    seen.upto(seen.total)
    return result


@contextmanager
def _watching_spark(done: Any, seen: RowsDone) -> Iterator[None]:
    """Tell now and then how many rows the workers have counted."""
    if done is None:
        yield
        return
    stopped = Event()

    def watch() -> None:
        while not stopped.wait(EVERY):
            seen.upto(done.value)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stopped.set()
        watcher.join()


def _of_arrow(part: int, m: int, work: Work, done: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """Do the work for a partition of Spark, whose number its context knows.

    Yields
    ------
    pyarrow.RecordBatch
        The result, pickled.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    unit = part, 0 if context is None else context.partitionId()
    rows: list[int] = []
    yield _pickled(work(unit, _counted(map(_columns, batches), m, rows.append)))
    if done is not None:
        done.add(sum(rows))


def _sum_arrow(batches: Iterator[Any]) -> Iterator[Any]:
    """Add up the results of several partitions of Spark.

    Yields
    ------
    pyarrow.RecordBatch
        Their sum, pickled, where there is one.
    """
    pickled = (value.as_py() for batch in batches for value in batch.column(0))
    results = [pickle.loads(one) for one in pickled]  # noqa: S301 - its own
    if results:
        yield _pickled(SUM(results))


def _pickled(result: Any) -> Any:
    import pyarrow as pa

    return pa.record_batch({"result": pa.array([pickle.dumps(result)], pa.binary())})
