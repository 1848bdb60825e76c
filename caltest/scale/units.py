"""How each engine hands out its rows: batch by batch here, or partition by partition on workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import partial, reduce
from operator import add
from typing import Any

from caltest.scale.batches import BATCH, batches, has_batches
from caltest.scale.chunks import Chunk, Unit
from caltest.scale.query import collected

FAN = 8  # partitions whose sums are added on a worker
Work = Callable[[Unit, Iterator[Chunk]], Any]
Done = Callable[[int], None]


def total_over(frame: Any, part: int, m: int, work: Work, done: Done) -> Any:
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
        Told how many rows more are done, where they are read here.
    """
    import narwhals as nw

    kinds = nw.Implementation
    native = frame.to_native()
    if frame.implementation is kinds.DASK:
        return _over_dask(native, part, m, work)
    if frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect():
        return _over_spark(native, part, m, work)
    batches = {kinds.POLARS: _of_polars, kinds.DUCKDB: _of_duckdb, kinds.IBIS: _of_ibis}
    read = batches.get(frame.implementation)
    some = [collected(frame)] if read is None else read(native)
    return work((part, 0), _told(some, m, done))


def _told(batches: Any, m: int, done: Done) -> Iterator[Chunk]:
    for batch in batches:
        for chunk in Chunk.split(batch, m):
            yield chunk
            done(len(chunk.labels))


def _of_polars(frame: Any) -> Any:
    if has_batches(frame):
        return batches(frame)
    return frame.collect(engine="streaming").iter_slices(BATCH)


def _of_duckdb(relation: Any) -> Any:
    new = hasattr(relation, "to_arrow_reader")  # DuckDB from 1.5
    return map(_columns, (relation.to_arrow_reader if new else relation.fetch_record_batch)(BATCH))


def _of_ibis(table: Any) -> Any:
    backend = table.get_backend()
    if backend.name == "duckdb" and not hasattr(backend.con, "fetch_record_batch"):
        # Ibis 12 asks for what DuckDB has no longer from 2.0 on.
        return _of_duckdb(backend.con.sql(backend.compile(table)))
    return map(_columns, table.to_pyarrow_batches(chunk_size=BATCH))


def _columns(batch: Any) -> Mapping[str, Any]:
    """Return the columns of an Arrow batch as arrays."""
    return {
        name: column.to_numpy(zero_copy_only=False)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }


# ---- workers ------------------------------------------------------------------------------------


def _over_dask(frame: Any, part: int, m: int, work: Work) -> Any:
    """Have the workers of Dask do the work, and add up its results."""
    from dask.delayed import delayed

    of_partition = delayed(partial(_of_pandas, m, work), pure=False)
    waiting = [of_partition((part, i), one) for i, one in enumerate(frame.to_delayed())]
    plus = delayed(_sum, pure=False)
    while len(waiting) > 1:
        waiting = [plus(waiting[i : i + FAN]) for i in range(0, len(waiting), FAN)]
    return waiting[0].compute()


def _of_pandas(m: int, work: Work, unit: Unit, frame: Any) -> Any:
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    return work(unit, Chunk.split(columns, m))


def _sum(results: list[Any]) -> Any:
    return reduce(add, results)


def _over_spark(frame: Any, part: int, m: int, work: Work) -> Any:
    """Have the workers of Spark do the work, and add up its results one by one."""
    results = frame.mapInArrow(partial(_of_arrow, part, m, work), "result binary")
    return reduce(add, (pickle.loads(row[0]) for row in results.toLocalIterator()))  # noqa: S301 - its own


def _of_arrow(part: int, m: int, work: Work, batches: Iterator[Any]) -> Iterator[Any]:
    """Do the work for a partition of Spark, whose number its context knows.

    Yields
    ------
    pyarrow.RecordBatch
        The result, pickled.
    """
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    unit = part, 0 if context is None else context.partitionId()
    chunks = (chunk for batch in batches for chunk in Chunk.split(_columns(batch), m))
    result = pickle.dumps(work(unit, chunks))
    yield pa.record_batch({"result": pa.array([result], pa.binary())})
