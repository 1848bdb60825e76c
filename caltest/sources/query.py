"""The one query that counts the rows of cells, where the data lie; what is wrong is counted too."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice, repeat
from operator import add, or_
from queue import Queue
from threading import Event, Thread
from typing import Any

import narwhals as nw
import numpy as np

from caltest.errors import InvalidInput, invalid
from caltest.lazy import pl
from caltest.lenses import Lens, resolve_lens
from caltest.lenses.base import ClassColumns, ColumnEvent
from caltest.numerics.loops import frozen, njit
from caltest.predictions.parts import stacked
from caltest.sources import weights
from caltest.sources.cells import GRID, NEVER, UNIT, Cells, ManyCells, own_numbers
from caltest.sources.columns import Columns, column
from caltest.sources.tally import LEFT_OUT, GroupTally, SortedTally, Tally, WeightTally
from caltest.types import Floats, Ints

WRONG_LABEL = "a label that is none of the classes"
WRONG = (
    "a probability that is missing",
    "a label that is missing",
    "a probability outside [0, 1]",
    "probabilities whose sum is not 1",
    WRONG_LABEL,
    "a group that is missing",
    "a weight that is missing, negative or above 1e38",
)
NO_PART = NEVER - len(WRONG) - 1  # the place of rows that an event does not ask for
SLACK = 1e-6  # per class, of single precision: as where rows are read
SUMS = ("n", "y", "r1", "r2")
PART = 1 << 19  # cells of very many groups that are in memory at a time
ADDING = {"sum": np.add, "min": np.minimum, "max": np.maximum}
TALLIED = 100  # events of which this process holds all cells: 4 MiB each
HELD = 1 << 23  # values that are held to count one event after the other: its cells stay near
BATCH = 1 << 17  # rows that are read at a time
AHEAD = 2  # batches that wait


@dataclass(frozen=True, eq=False)
class Counting:
    """What is counted: events of columns, in cells that do not cross the edges of some bins.

    Attributes
    ----------
    columns : Columns
        What the columns hold.
    lenses : tuple of Lens
        Each leaves one event.
    bins : tuple of int
        Numbers of bins of equal width.
    """

    columns: Columns
    lenses: tuple[Lens, ...]
    bins: tuple[int, ...] = ()

    def check(self) -> None:
        """Raise NotApplicable where a lens needs the rows."""
        columns = self._class_columns()
        for lens in self.lenses:
            lens.of_columns(columns)

    @property
    def keys(self) -> list[str]:
        """The columns of the table of cells that tell one cell from another."""
        groups = [f"g{i}" for i in range(len(self.columns.by))]
        own = ["place", *(f"b{count}" for count in self.bins)]
        return ["event", *groups, *own, *(["u"] if self.is_weighted else [])]

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights, so that those of a class of weights are a cell."""
        return self.columns.weight is not None

    @property
    def numbers(self) -> dict[str, str]:
        """The other columns: sums over rows, and the least and the most of what rows have."""
        numbers = {**dict.fromkeys(SUMS, "sum"), "least": "min", "most": "max"}
        if self.is_weighted:
            numbers |= {**dict.fromkeys(weights.SUMS, "sum"), "light": "min", "heavy": "max"}
        return numbers

    def table(self, frame: Any) -> pl.DataFrame:
        """Return the table of cells of a lazy frame of narwhals.

        The engine groups the rows by cell. Those that Polars reads come into this process, where
        the cell of a row is found without a search: they are counted as they come.
        """
        is_polars = frame.implementation is nw.Implementation.POLARS
        by = [f"g{i}" for i in range(len(self.columns.by))]
        if (by and self.is_weighted) or not is_polars or not has_batches(frame.to_native()):
            return self.query(frame)
        groups = pl.DataFrame()
        if by:
            groups = collected(self._rows(frame).select(by).unique().sort(by))
            groups = groups.with_columns(pl.selectors.float().replace(0.0, 0.0))  # -0.0 as 0.0
        tallies = [] if by and groups.is_empty() else self._tallies(groups.height)
        if not tallies:
            return self.query(frame)
        wrong = np.zeros(len(WRONG) + 1)
        with ThreadPoolExecutor(min(len(tallies), pl.thread_pool_size())) as threads:
            rows = batches(self._events(frame, groups))
            count = 1 if len(tallies) == 1 else max(1, HELD // (BATCH * len(tallies)))
            while held := list(islice(rows, count)):
                for batch in held:
                    if by and batch["group"].has_nulls():
                        raise unsteady()
                    wrong += np.bincount(batch["status"].to_numpy(), minlength=wrong.size)
                list(threads.map(_add, tallies, range(len(tallies)), repeat(held)))
        faults = pl.DataFrame({"place": NEVER - np.arange(1, wrong.size), "n": wrong[1:]})
        faults = faults.with_columns(pl.lit(0, pl.UInt32).alias("group"))
        tables = [(0, faults.filter(pl.col("n") > 0))][: int(wrong[1:].any())]
        tables += enumerate(one.table() for one in tallies)
        numbered = [one.with_columns(pl.lit(k, pl.UInt8).alias("event")) for k, one in tables]
        table = pl.concat(numbered, how="diagonal_relaxed")
        return table.hstack(groups[table["group"]]) if by else table

    def _tallies(self, groups: int) -> Sequence[Tally | GroupTally]:
        """Return what counts each event, with as many groups or none; nothing if it cannot be."""
        events = range(len(self.lenses))
        if len(events) * max(groups, 1) > TALLIED:
            return [SortedTally(self.bins)][: len(events) == 1]
        if groups:
            return [GroupTally(self.bins, groups) for _ in events]
        return [(WeightTally if self.is_weighted else Tally)(self.bins) for _ in events]

    def query(self, frame: Any) -> pl.DataFrame:
        """Return the table of cells of a lazy frame of narwhals, as its engine groups the rows."""
        rows = self._rows(frame)
        parts = [self._of_event(rows, k, lens) for k, lens in enumerate(self.lenses)]
        table = collected(parts[0] if len(parts) == 1 else nw.concat(parts, how="vertical"))
        return table.filter(pl.col("place") > NO_PART)

    def rows(self, frame: Any) -> Any:
        """Return the probabilities p0, p1, ..., the code of the label and what is wrong, or 0."""
        rows = self._rows(frame)
        is_label = self._class_columns().is_label
        code = [nw.when(one).then(float(k)).otherwise(0.0) for k, one in enumerate(is_label)]
        names = [f"p{k}" for k in range(len(self.columns.probs))]
        return rows.select(*names, reduce(add, code).alias("code"), nw.col("status"))

    def _rows(self, frame: Any) -> Any:
        """Take what is needed under names of its own: those of the user cannot clash with them."""
        given = self.columns
        numbers = {f"p{k}": name for k, name in enumerate(given.probs)}
        p, m = list(map(nw.col, numbers)), len(given.classes)
        numbers |= {} if given.weight is None else {"w": given.weight}
        named = {own: column(frame, name).cast(nw.Float64()) for own, name in numbers.items()}
        named |= {f"g{i}": column(frame, name) for i, name in enumerate(given.by)}
        rows = frame.select(label=given.label_values(column(frame, given.label)), **named)
        status = nw.lit(0)
        groups = []
        for name, dtype in rows.collect_schema().items():
            if name.startswith("g"):
                absent = nw.col(name).is_null()
                groups.append(absent | nw.col(name).is_nan() if dtype.is_float() else absent)
        for number, is_wrong in reversed(list(enumerate(self._wrong(p, m, groups), start=1))):
            if is_wrong is not None:
                status = nw.when(is_wrong).then(nw.lit(number)).otherwise(status)
        rows = rows.with_columns(status.alias("status"))
        if self.is_weighted:
            w = nw.when(nw.col("status") == 0).then(nw.col("w")).otherwise(nw.lit(1.0))
            # Without weight a row takes no part.
            rows = rows.with_columns(w.alias("w")).filter(nw.col("w") >= 1.0 / weights.LARGEST)
        # What is wrong must not reach the arithmetic: engines differ in what they make of it.
        fine = nw.col("status") == 0
        safe = [nw.when(fine).then(one).otherwise(nw.lit(0.0)).clip(0.0, 1.0) for one in p]
        return rows.with_columns(*(one.alias(f"p{k}") for k, one in enumerate(safe)))

    def _wrong(self, p: list[Any], m: int, groups: list[Any]) -> list[Any]:
        """Return for each kind of fault whether a row has it; None where none can."""
        label, slack = nw.col("label"), SLACK * m
        unsaid = label.is_null()
        unsaid = unsaid if self.columns.kind == "text" else unsaid | label.is_nan()
        missing = reduce(or_, [one.is_null() | one.is_nan() for one in p])
        outside = reduce(or_, [(one < -slack) | (one > 1.0 + slack) for one in p])
        total = reduce(add, p)
        unlike = (total < 1.0 - slack) | (total > 1.0 + slack) if len(p) > 1 else None
        known = reduce(or_, [label == nw.lit(value) for value in self.columns.values])
        w, no_group = nw.col("w"), reduce(or_, groups) if groups else None
        no_weight = w.is_null() | w.is_nan() | (w < 0.0) | (w > weights.LARGEST)
        own = no_weight if self.is_weighted else None
        return [missing, unsaid, outside, unlike, ~known, no_group, own]

    def _class_columns(self, *, one_by_one: bool = False) -> ClassColumns:
        given = self.columns
        p = [nw.col(f"p{k}") for k in range(len(given.probs))]
        probs = [nw.lit(1.0) - p[0], p[0]] if len(p) == 1 else p
        is_label = [nw.col("label") == nw.lit(value) for value in given.values]
        return ClassColumns(given.classes, probs, is_label, one_by_one)

    def _of_event(self, rows: Any, number: int, lens: Lens) -> Any:
        """Group the rows of one event by cell; those that are wrong by what is."""
        is_dask = rows.implementation is nw.Implementation.DASK
        event: ColumnEvent = lens.of_columns(self._class_columns(one_by_one=is_dask))
        fine = nw.col("status") == 0
        status = nw.col("status")
        if event.where is not None:
            # Left out by the caller: engines work out again, for a filter, what is in it.
            status = nw.when(event.where | ~fine).then(status).otherwise(nw.lit(NEVER - NO_PART))
        groups = [nw.col(f"g{i}") for i in range(len(self.columns.by))]
        own = ["w"] if self.is_weighted else []
        rows = rows.select(
            *groups, status.alias("status"), event.prob.alias("p"), _one(event.happens), *own
        )
        p = nw.col("p")
        place = nw.when(p > 0.0).then((p * float(GRID)).floor()).otherwise(nw.lit(float(NEVER)))
        place = nw.when(fine).then(place).otherwise(nw.lit(float(NEVER)) - nw.col("status"))
        rest = p * float(GRID) - (p * float(GRID)).floor()
        bins = {f"b{count}": _bin(p, count).cast(nw.Int64()) for count in self.bins}
        rests = {"least": rest, "most": rest, "r1": _whole(rest), "r2": _whole(rest * rest)}
        rows = rows.with_columns(place=place.cast(nw.Int64()), **bins, **rests)
        if self.is_weighted:
            rows = _in_classes(rows)
        sums = [getattr(nw.col(name), how)() for name, how in self.numbers.items() if name != "n"]
        counted = rows.group_by(*self.keys[1:]).agg(nw.len().alias("n"), *sums)
        return counted.with_columns(
            nw.col("n").cast(nw.Float64()), nw.lit(number).cast(nw.Int64()).alias("event")
        )

    def _events(self, frame: Any, groups: pl.DataFrame) -> pl.LazyFrame:
        """Return what is wrong with rows, or 0; of each event probability and whether it is.

        The number of the group is that of a row of `groups`.
        """
        names = [f"g{i}" for i in range(len(self.columns.by))] + ["w"] * self.is_weighted
        wanted, columns = [nw.col("status"), *map(nw.col, names)], self._class_columns()
        for k, lens in enumerate(self.lenses):
            event, counts = lens.of_columns(columns), nw.col("status") == 0
            if event.where is not None:
                counts &= event.where
            code = nw.when(counts).then(_one(event.happens)).otherwise(nw.lit(float(LEFT_OUT)))
            wanted += [event.prob.alias(f"e{k}"), code.cast(nw.Int8()).alias(f"y{k}")]
        rows: pl.LazyFrame = self._rows(frame).select(*wanted).to_native()
        if not (by := groups.columns):
            return rows
        numbered = groups.with_row_index("group").lazy()
        return rows.join(numbered, on=by, how="left", nulls_equal=True).drop(by)

    # ---- from tables to cells -------------------------------------------------------------------

    def merged(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Add up tables of cells; the sums are whole numbers, so that their order is no matter.

        Groups are numbered in ascending order, in the column "group".

        Parameters
        ----------
        tables : sequence of pl.DataFrame
            What `table` gives.
        """
        by, columns = [f"g{i}" for i in range(len(self.columns.by))], [*self.keys, *self.numbers]
        if by and len(tables) == 1 and "group" in tables[0].columns:  # by a tally, in order
            return tables[0].select(*columns, "group")
        table: pl.DataFrame = stacked(tables, columns)
        if by:
            groups = table.select(by).unique().sort(by).with_row_index("group")
            table = table.join(groups, on=by, how="left", nulls_equal=True)
        else:
            table = table.with_columns(pl.lit(0, pl.UInt32).alias("group"))
        return self.in_order(table, repeats=len(tables) > 1)

    def in_order(self, table: pl.DataFrame, *, repeats: bool) -> pl.DataFrame:
        """Sort a table by its keys; add up what has the same ones, if there may be such.

        One whole number says as much as all keys, and takes a quarter of the time. Bins grow with
        p, so that their sum tells apart those of a place.
        """
        bins = sum(self.bins) + 1
        count = 1 + int(table["group"].max() or 0) if table.height else 1  # type: ignore[arg-type]
        first = pl.col("event").cast(pl.Int64) * count + pl.col("group").cast(pl.Int64)
        place = pl.col("place") + (len(WRONG) - NEVER)
        own = pl.sum_horizontal(f"b{one}" for one in self.bins) if self.bins else pl.lit(0)
        key = (first * (GRID + len(WRONG) - NEVER + 1) + place) * bins + own
        if self.is_weighted:
            key = key * (2 * weights.FIRST) + (pl.col("u").fill_null(0) + weights.FIRST)
        whole = table.select(key.alias("key"))["key"]
        if not repeats:
            return table if whole.is_sorted() else table.sort(key)  # large ones are
        order = np.argsort(whole.to_numpy())
        start = np.flatnonzero(np.diff(whole.to_numpy()[order], prepend=-1))
        numbers = {}
        for name, how in self.numbers.items():
            values = table[name].cast(pl.Float64).fill_null(0.0).to_numpy()[order]
            numbers[name] = ADDING[how].reduceat(values, start)
        return table[order[start]].with_columns(**numbers)

    def total(self, table: pl.DataFrame) -> tuple[Counting, pl.DataFrame]:
        """Add up cells over all groups; return what is counted then, and its table."""
        own = replace(self, columns=replace(self.columns, by=()))
        some = table.select(*own.keys, *self.numbers)
        some = some.with_columns(group=np.zeros(some.height, np.uint32))
        added_up = [own.in_order(one, repeats=True) for one in some.iter_slices(PART)]
        return own, own.in_order(pl.concat(added_up), repeats=True)

    def wrong(self, table: pl.DataFrame) -> dict[str, int]:
        """Return how many rows have each kind of fault."""
        some = table.filter((pl.col("place") < NEVER) & (pl.col("event") == 0))
        found = some.group_by("place").agg(pl.col("n").sum()).sort("place", descending=True)
        return {WRONG[NEVER - 1 - place]: int(n) for place, n in found.iter_rows()}

    def split(self, table: pl.DataFrame) -> list[dict[Any, Cells]]:
        """Return the cells of each event by group, sorted; without groups, by None."""
        return [dict(self.many(table, k).each()) for k in range(len(self.lenses))]

    def many(self, table: pl.DataFrame, number: int) -> ManyCells:
        """Return the cells of all groups of an event."""
        kept = (pl.col("event") == number) & (pl.col("place") >= NEVER)
        is_all = table.select(kept.all()).item()
        own = table if is_all else table.filter(kept)
        group = own["group"].to_numpy()
        first = np.flatnonzero(np.append(True, np.diff(group) != 0)) if group.size else group[:0]
        by = [f"g{i}" for i in range(len(self.columns.by))]
        keys = own[first.astype(np.int64)].select(by)
        times = keys.select(pl.selectors.datetime())
        days = [one.name for one in times if (one == one.dt.truncate("1d")).all()]
        values = keys.with_columns(pl.col(days).cast(pl.Date)).rows() if by else [()] * first.size
        names = self.lenses[number].of_columns(self._class_columns()).names
        start = np.append(first, group.size).astype(np.int64)
        if self.is_weighted:
            cells, start = self._weighted(own, names, start)
        else:
            cells = self._cells(own, names)
        return ManyCells(cells, start, self.columns.by, tuple(values))

    def parts(self, table: pl.DataFrame) -> Iterator[ManyCells]:
        """Yield the cells of the first event, of as many groups at a time as have some rows."""
        return self.cut(table["group"].to_numpy(), lambda first, stop: table[first:stop])

    def margins(self, table: pl.DataFrame, columns: Sequence[int]) -> Iterator[ManyCells]:
        """Yield parts of the cells of the groups of some columns, which are given by number."""
        by = tuple(self.columns.by[k] for k in columns)
        if not by or by == self.columns.by:
            own, added_up = (self, table) if by else self.total(table)
            return own.parts(added_up)
        own = replace(self, columns=replace(self.columns, by=by))
        names = {f"g{old}": f"g{new}" for new, old in enumerate(columns)}
        each = table.select("group", *names).unique("group").rename(names)
        groups = each.drop("group").unique().sort(names.values())
        found = each.join(groups.with_row_index("own"), on=groups.columns, nulls_equal=True)
        codes = found["group"].to_numpy()
        number = np.empty(1 + codes.max(initial=0), np.uint32)
        number[codes] = found["own"].to_numpy()
        group = number[table["group"].to_numpy()]
        order = np.argsort(group, kind="stable")
        keys = [name for name in own.keys if name[0] != "g"]
        group, some = group[order], table.select(*keys, *self.numbers)

        def added(first: int, stop: int) -> pl.DataFrame:
            rows = some[order[first:stop]].with_columns(group=group[first:stop])
            one = own.in_order(rows, repeats=True)
            return one.hstack(groups[one["group"]])

        return own.cut(group, added)

    def cut(self, group: Ints, table: Callable[[int, int], pl.DataFrame]) -> Iterator[ManyCells]:
        """Cut ascending numbers of groups where so many cells are full."""
        changes = 1 + np.flatnonzero(np.diff(group))
        cuts = np.searchsorted(changes, np.arange(PART, group.size, PART))
        cuts = np.unique([0, *changes[cuts[cuts < changes.size]], group.size])
        before = 0
        for first, stop in itertools.pairwise(cuts.tolist()):
            many = replace(self.many(table(first, stop), 0), before=before)
            before += len(many.cells)
            if len(many):
                yield many

    def _cells(self, table: pl.DataFrame, names: tuple[str, str]) -> Cells:
        """Turn sums of remainders into those of probabilities."""
        columns = ["place", *SUMS, "least", "most", *(f"b{count}" for count in self.bins)]
        sums = {name: table[name].to_numpy() for name in columns}
        place = sums["place"].astype(np.int64)
        numbers = (sums[name] for name in ("n", "r1", "r2", "least", "most"))
        given = (frozen(one.astype(np.float64, copy=False)) for one in numbers)
        expected, variance, least, most = _moments(place, *given)
        bins = {count: sums[f"b{count}"].astype(np.int64) for count in self.bins}
        rows, events = sums["n"].astype(np.int64), sums["y"].astype(np.int64)
        no_event, event = names
        return Cells(place, bins, rows, events, expected, variance, least, most, event, no_event)

    def _weighted(
        self, table: pl.DataFrame, names: tuple[str, str], start: Ints
    ) -> tuple[Cells, Ints]:
        """Add up the classes of weights of each cell; return where each group begins, too."""
        keys = ["place", *(f"b{count}" for count in self.bins)]
        some = table.select("u", *keys, *self.numbers)
        sums = {name: some[name].to_numpy() for name in some.columns}
        group = np.repeat(np.arange(start.size - 1), np.diff(start))
        new = reduce(or_, (np.diff(sums[name]) != 0 for name in keys), np.diff(group) != 0)
        first = np.flatnonzero(np.append(True, new)) if group.size else group
        place = sums["place"][first].astype(np.int64)
        numbers = own_numbers(place, group[first])
        arrays, own = weights.weighted_cells(sums, first, numbers, GRID, UNIT)
        bins = {count: sums[f"b{count}"][first].astype(np.int64) for count in self.bins}
        cells = Cells(place, bins, **arrays, event=names[1], no_event=names[0], weights=own)
        return cells, np.searchsorted(first, start).astype(np.int64)


@njit()
def _moments(place: Ints, *sums: Floats) -> Floats:
    """Return sums of p and of p (1 - p), least and most p of cells, from n, r1, r2 and the ends."""
    n, first, second, least, most = sums
    out = np.empty((4, place.size))
    for c in range(place.size):
        floor, r = float(max(place[c], 0)), first[c] / UNIT
        squares = (n[c] * floor * floor + 2.0 * floor * r + second[c] / UNIT) / GRID**2
        out[0, c] = (n[c] * floor + r) / GRID
        out[1, c] = max(out[0, c] - squares, 0.0)
        out[2, c], out[3, c] = (floor + least[c]) / GRID, (floor + most[c]) / GRID
    return out


def counted(frames: Iterable[Any], counting: Counting) -> pl.DataFrame:
    """Count the rows of several frames of any library; nothing is checked."""
    return counting.merged([counting.table(nw.from_native(f).lazy()) for f in frames])


def count_rows(
    probs: object, happened: object, bins: tuple[int, ...] = (), weight: object = None
) -> Cells:
    """Count the rows of arrays (n,): probabilities of an event, whether it happened, weights."""
    p, y = np.asarray(probs, dtype=np.float64), np.asarray(happened, dtype=np.int64)
    named = None if weight is None else "w"
    columns = Columns("y", ("p",), (0, 1), (0.0, 1.0), "number", weight=named)
    given = {"p": p, "y": y} | ({} if weight is None else {"w": weight})
    counting = Counting(columns, (resolve_lens("strong"),), bins)
    return counting.split(counted([pl.DataFrame(given)], counting))[0][None]


def unsteady() -> InvalidInput:
    """Return the error of rows that are others when they are read again."""
    rule = "rows must be the same each time they are read"
    remedy = "write them to files, or fix the seed or the order that they depend on"
    return invalid(rule, "others", remedy)


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
    try:
        yield
    except pl.exceptions.PanicException as error:
        raise pl.exceptions.ComputeError(f"panic: {error}") from error


def collected(query: Any) -> pl.DataFrame:
    """Run a query where the data lie, and return its small answer."""
    streaming = {"engine": "streaming"} if query.implementation is nw.Implementation.POLARS else {}
    with panics_as_errors():
        return query.collect(backend="polars", **streaming).to_native()  # type: ignore[no-any-return]


def _add(tally: Tally | GroupTally, number: int, held: Sequence[pl.DataFrame]) -> None:
    names = f"e{number}", f"y{number}", "w", "group"
    for batch in held:
        own = [name for name in names if name in batch.columns]
        tally.add(*(batch[name].to_numpy() for name in own))


def _in_classes(rows: Any) -> Any:
    """Add the class u of the weight of each row, and what the sums of weights are made of.

    A weight is 2^e x with 1 <= x < 2, where x is rounded to 2^-20; the number of its class is that
    of eighths in 8 e + 8 (x - 1). What the engine takes for the logarithm is corrected, so that the
    class does not depend on it, and sums are whole numbers.
    """
    w, x, y, rest, e = (nw.col(name) for name in ("w", "x", "y", "least", "e"))
    rows = rows.with_columns(w.log(2.0).floor().alias("e"))
    first = w / nw.lit(2.0) ** e
    rows = rows.with_columns((e + _one(first >= 2.0) - _one(first < 1.0)).alias("e"))
    rows = rows.with_columns((w / nw.lit(2.0) ** e).alias("x"))
    count = float(weights.CLASSES)
    rows = rows.with_columns(
        (e * count + ((x - 1.0) * count).floor()).cast(nw.Int64()).alias("u"),
        (_whole(x) / float(UNIT)).alias("x"),
    )
    sums = {"w0": x, "w1": x * rest, "w2": x * rest * rest, "wy": x * y}
    sums |= {"v0": x * x, "v1": x * x * rest, "v2": x * x * rest * rest, "t0": x * x * x}
    whole = {name: _whole(value) for name, value in sums.items()}
    return rows.with_columns(light=x, heavy=x, **whole)


def _whole(value: Any) -> Any:
    return (value * float(UNIT) + 0.5).floor()


def _one(happens: Any) -> Any:
    return nw.when(happens).then(nw.lit(1.0)).otherwise(nw.lit(0.0)).alias("y")


def _bin(p: Any, count: int) -> Any:
    """Return the bin of p among `count` of equal width, right-closed, 0 in the first.

    The edges are the doubles k / count, as in `numerics.bins`.
    """
    size = float(count)
    k = (p * size).floor()
    above = nw.when(p > (k + 1.0) / size).then(k + 1.0).otherwise(k)
    k = nw.when(p <= k / size).then(k - 1.0).otherwise(above)
    return nw.when(k < 0.0).then(nw.lit(0.0)).otherwise(k)
