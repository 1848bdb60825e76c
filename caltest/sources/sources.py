"""Where very many rows lie: frames of any engine, files, chunks; which part is wrong."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn, Unpack

import narwhals as nw

from caltest.checks.options import check_choice
from caltest.errors import InvalidInput, NotApplicable, first_line, invalid, shown
from caltest.lazy import pl
from caltest.predictions import files, options
from caltest.predictions.parts import ALIKE, place_among, stacked, stacked_parts, unlike
from caltest.predictions.tables import wrapped
from caltest.sources.cells import NEVER
from caltest.sources.columns import Columns, column, read_columns
from caltest.sources.query import WRONG_LABEL, Counting, collected

ENGINES, ON_ERROR = options.ENGINES, options.ON_ERROR
ROWS = 2_000_000  # above which "auto" takes cells or chunks
AT_A_TIME = 64  # files in one query
MERGED = 1 << 21  # rows of tables of cells that are held before they are added up
NAMED = 3  # parts that a note names
EXTRAS = {"distributed": "dask", "pyspark": "spark", "pyarrow": "duckdb"}  # if not of the same name
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class SourcePart:
    """A frame, file or chunk.

    Attributes
    ----------
    name : str
        As messages name it.
    open : callable
        Returns its lazy frame of narwhals.
    place : callable, optional
        Names a row of a file as a person counts it there.
    """

    name: str
    open: Callable[[], Any]
    place: Callable[[int], str] | None = None

    def rows(self) -> int:
        """Count the rows."""
        with self.readable():
            return int(collected(self.open().select(nw.len())).item())

    @contextmanager
    def readable(
        self, fault: Callable[[SourcePart, Exception], None] | None = None
    ) -> Iterator[None]:
        """Hand errors to a function; without one, raise those of an engine with the part's name."""
        try:
            yield
        except NotApplicable:
            raise
        except Exception as error:  # noqa: BLE001 - each engine has errors of its own
            (_refuse if fault is None else fault)(self, error)


@dataclass(frozen=True, eq=False)
class Source:
    """Rows in parts.

    Attributes
    ----------
    name : str
        What was tested, for print.
    parts : sequence of Part, or iterator
        An iterator gives each part once.
    is_eager : bool
        Whether the rows are in memory, as a data frame that reads as one.
    native : object
        That data frame, a lazy one, or None.
    """

    name: str
    parts: Sequence[SourcePart] | Iterator[SourcePart]
    is_eager: bool = False
    native: object = None

    @property
    def is_stream(self) -> bool:
        """Whether the parts can be read only once."""
        return not isinstance(self.parts, Sequence)

    @property
    def known(self) -> int:
        """The number of parts; 0 where they come one by one."""
        return len(self.parts) if isinstance(self.parts, Sequence) else 0

    def has_more_rows(self, limit: int) -> tuple[bool, Source]:
        """Tell whether there are more rows than a limit; return a source that has all of them.

        Parts that can be read only once are held until they are more.
        """
        total, parts, seen = 0, iter(self.parts), []
        for part in parts:
            seen.append(part)
            total += part.rows()
            if total > limit:
                break
        if not self.is_stream:
            return total > limit, self
        return total > limit, replace(self, parts=chain(seen, parts) if total > limit else seen)

    def table(self, needs: Callable[[str], bool] = bool) -> Any:
        """Return all the rows in memory, as a data frame.

        Parameters
        ----------
        needs : callable
            Tells of the name of a column whether it must be alike in all parts, by default of each;
            others are left out where they are not.
        """
        return self.native if self.native is not None else stacked_parts(self._tables(), needs)

    def _tables(self) -> Iterator[tuple[str, pl.DataFrame]]:
        for part in self.parts:
            with part.readable():
                table = collected(part.open())
            yield part.name, table

    def place(self, row: int) -> str:
        """Name a row of `table` as a person counts it in its file."""
        parts = () if self.is_stream or self.native is not None else self.parts
        return place_among([(one.name, one.rows, one.place) for one in parts], row)


@dataclass(eq=False)
class LeftOut:
    """What is left out of the rows, where the caller said so.

    Attributes
    ----------
    parts : list of str
        Name and reason of each part.
    rows : dict
        Numbers of rows by what is wrong.
    """

    parts: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)

    def notes(self) -> tuple[str, ...]:
        """Say it in words."""
        out = [f"left out: {n} row{'s' * (n > 1)} with {what}" for what, n in self.rows.items()]
        if count := len(self.parts):
            some = "; ".join([*self.parts[:NAMED], *["..."] * (count > NAMED)])
            out.insert(0, f"left out: {count} part{'s' * (count > 1)}: {some}")
        return tuple(out)


# ---- what the caller gave -----------------------------------------------------------------------


def source_of(data: object, **how: Unpack[options.FileOptions]) -> Source | None:
    """Return the parts of a frame, a path, a glob, a list of paths or an iterator of frames.

    None for everything else, such as arrays. How files are read may be forced.
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, str | Path):
        return _of_files(_matching(data), str(Path(data).name), data, how)
    if isinstance(data, list | tuple) and data and all(isinstance(p, str | Path) for p in data):
        paths = [found for one in data for found in _matching(one)]
        counts = Counter(paths)
        if len(counts) < len(paths):
            rule = "paths must name each file once, or its rows count twice"
            raise invalid(rule, repr(str(counts.most_common(1)[0][0])), "leave it out once")
        name = f"{len(paths)} files" if len(paths) > 1 else paths[0].name
        return _of_files(paths, name, None, how)
    if hasattr(data, "__next__"):
        return Source("chunks", _chunks(data))  # type: ignore[arg-type]
    frame = _frame(data)
    if frame is None:
        return None
    eager = isinstance(frame, nw.DataFrame)
    return Source("data frame", [SourcePart("data frame", frame.lazy)], eager, data)


def _frame(data: object) -> Any:
    try:
        frame = wrapped(data)
    except nw.exceptions.DuplicateError:
        return None  # the reader of rows has the words for it
    if isinstance(frame, nw.DataFrame):
        for name, dtype in frame.schema.items():
            if dtype == nw.Object:  # decimals of a database, in pandas
                with suppress(ValueError, TypeError, OverflowError):
                    frame = frame.with_columns(nw.col(name).cast(nw.Float64()))
    return frame if isinstance(frame, nw.DataFrame | nw.LazyFrame) else None


def _matching(path: str | Path) -> list[Path]:
    """Return the files that a path names, several where it is a pattern."""
    found = files.files_of(path)
    if found == []:
        rule = "a pattern of paths must match a file"
        raise invalid(rule, repr(str(path)), "check the spelling and the working directory")
    return found or [Path(path)]


def _of_files(
    paths: Sequence[Path], name: str, given: str | Path | None, how: options.FileOptions
) -> Source:
    # day=1/part-0.parquet, day=2/part-0.parquet
    shared = len({path.name for path in paths}) < len(paths)
    above = Path(os.path.commonpath([path.parent for path in paths]))
    held: Any = cache if len(paths) == 1 else partial  # a text is read once, and several in turn
    parts = [
        SourcePart(
            str(path.relative_to(above)) if shared else path.name,
            held(partial(_scan, path, columns, how)),
            partial(files.place, path, how),
        )
        for path, columns in files.parts_of(above if given is None else given, paths)
    ]
    return Source(name, parts)


def _scan(path: Path, columns: Mapping[str, object], how: options.FileOptions) -> Any:
    return nw.from_native(files.scan(path, columns, **how))


def _chunks(chunks: Iterator[Any]) -> Iterator[SourcePart]:
    for number, chunk in enumerate(chunks, start=1):
        frame = _frame(pl.DataFrame(chunk) if hasattr(chunk, "__arrow_c_array__") else chunk)
        if frame is None:
            rule = "an iterator must give data frames or lazy frames"
            raise invalid(rule, f"{shown(chunk)} as number {number}", "wrap each chunk in one")
        yield SourcePart(f"chunk {number}", frame.lazy)


# ---- counting -----------------------------------------------------------------------------------


class Reader:
    """Reads the parts of a source once, and adds up their cells.

    Parameters
    ----------
    source : Source
        Where the rows lie.
    asked : Mapping
        `label`, `probs`, `classes` and `by`, as for `read_columns`.
    on_error : {"raise", "skip"}
        Whether parts and rows that are wrong are left out.
    progress : callable, optional
        Called with (parts done, parts in all), where their number is known.
    """

    def __init__(
        self,
        source: Source,
        asked: Mapping[str, Any],
        *,
        on_error: str = "raise",
        progress: Progress | None = None,
    ) -> None:
        self.source, self.asked, self.progress = source, asked, progress
        self.skips = check_choice(on_error, ON_ERROR, "on_error") == "skip"
        self.left_out = LeftOut()
        self._schema: dict[str, Any] = {}
        self._waiting: Iterator[SourcePart] = self._parts()

    def first(self) -> SourcePart:
        """Return the first part that can be read, and has types; all wait to be counted."""
        seen: list[SourcePart] = []
        for part in self._waiting:
            seen.append(part)
            if {*part.open().collect_schema().dtypes()} != {nw.Unknown}:
                break
        else:
            raise self.nothing()
        self._waiting = chain(seen, self._waiting)
        return seen[-1]

    def needs(self, frame: Any, names: Sequence[str]) -> None:
        """Take some columns of the first part, which others must have too."""
        schema = frame.collect_schema()
        self._schema = {name: schema[name] for name in names}

    def columns(self) -> Columns:
        """Return what the columns of the first part that can be read hold."""
        frame = self.first().open()
        schema = dict(frame.collect_schema())

        def distinct(label: str) -> list[str]:
            values = frame.select(column(frame, label).cast(nw.String()).alias("label")).unique()
            return [v for v in collected(values).to_series().to_list() if v is not None]

        columns = read_columns(schema, distinct, **self.asked)
        self.needs(frame, columns.names)
        return columns

    def _parts(self) -> Iterator[SourcePart]:
        """Yield the parts whose schema can be read."""
        for part in self.source.parts:
            with part.readable(self.fault):
                part.open().collect_schema()
                yield part

    def nothing(self) -> InvalidInput:
        """Return the error of data of which no part can be read."""
        remedy = "; ".join(self.left_out.parts[:NAMED]) or "pass files or chunks with rows"
        return invalid("data must have a part that can be read", "none", remedy)

    def count(self, counting: Counting) -> pl.DataFrame:
        """Count all rows, and return the table of cells; call `columns` first.

        Raises
        ------
        InvalidInput
            If a part cannot be read, has other columns, or rows that break a rule.
        """
        tables: list[pl.DataFrame] = []
        held = done = 0
        size, parts = 1 if self.source.is_stream else AT_A_TIME, self.fitting()
        while batch := list(islice(parts, size)):
            found = self._counted(batch, counting)
            tables += found
            held += sum(table.height for table in found)
            done += len(batch)
            if held > MERGED and len(tables) > 1:
                tables = [counting.merged(tables)]
                held = 0
            if self.progress is not None:
                self.progress(done, max(self.source.known, done))
        if not tables:
            raise self.nothing()
        table = counting.merged(tables)
        self.left_out.rows = counting.wrong(table)
        self.check_rows(int(table["place"].ge(NEVER).sum()))
        return table

    def _counted(self, batch: list[SourcePart], counting: Counting) -> list[pl.DataFrame]:
        """Count some parts in one query; one by one where that fails, to tell which is to blame."""
        try:
            frames = [part.open() for part in batch]
            if len(frames) > 1:
                natives = [one.to_native() for one in frames]
                frames = [nw.from_native(stacked(natives, list(self._schema)))]
            table = counting.table(frames[0])
        except Exception as error:  # noqa: BLE001 - each engine has errors of its own
            if len(batch) == 1:
                self.fault(batch[0], error)
                return []
            return [table for part in batch for table in self._counted([part], counting)]
        wrong = counting.wrong(table)
        if wrong and not self.skips and len(batch) > 1:
            for part in batch:
                self._counted([part], counting)
        self.refuse(wrong, batch[0].name)
        return [table]

    def refuse(self, wrong: Mapping[str, int], place: str) -> None:
        """Raise an error that names the first kind of fault, and the part, if rows are wrong."""
        if not wrong or self.skips:
            return
        what, n = next(iter(wrong.items()))
        rule = f"rows must have no {what.removeprefix('a ')}"
        names = "name them by classes=, " if what == WRONG_LABEL else ""
        raise invalid(rule, f"{n} in {place}", f"{names}correct them, or pass on_error='skip'")

    def check_rows(self, kept: int) -> None:
        """Raise an error where no row is kept of the parts that were read."""
        if kept == 0:
            got = "; ".join(("none", *self.left_out.notes()))
            raise invalid("data must have at least one row", got, "pass data")

    def fitting(self) -> Iterator[SourcePart]:
        """Yield the parts that have the columns of the first, read alike; call `columns` first."""
        for part in self._waiting:
            if not (reason := unlike(self._schema, dict(part.open().collect_schema()))):
                yield part
            elif self.skips:
                self.left_out.parts.append(f"{part.name}: {reason}")
            else:
                remedy = "correct it, or pass on_error='skip'"
                raise invalid(ALIKE, f"{part.name}: {reason}", remedy)

    def fault(self, part: SourcePart, error: Exception) -> None:
        """Leave out a part that cannot be read, or raise."""
        if isinstance(error, ModuleNotFoundError) or not self.skips:
            _refuse(part, error)
        self.left_out.parts.append(f"{part.name}: {first_line(error)}")


def _refuse(part: SourcePart, error: Exception) -> NoReturn:
    """Name the part that the engine could not read, or the extra that it lacks."""
    if isinstance(error, InvalidInput):
        raise error
    if isinstance(error, ModuleNotFoundError):
        root = (error.name or "").partition(".")[0]
        extra = EXTRAS.get(root, root)
        raise NotApplicable(f"{part.name} needs {root}", f"pip install caltest[{extra}]") from error
    remedy = "correct it, or pass on_error='skip'"
    got = f"{part.name}; the engine reports: {first_line(error)}"
    raise invalid("all parts must be readable", got, remedy) from error
