"""The two readings of the rows of a source by chunks: a survey, and sums of redrawn labels."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, BinaryIO, Self

import narwhals as nw

from caltest.errors import NotApplicable, invalid
from caltest.sources.chunks import MOST, Redraw, Redrawn, Survey, Totals
from caltest.sources.query import WRONG, Counting, collected
from caltest.sources.sources import Part, Progress, Reader
from caltest.sources.units import Work, total_over
from caltest.types import Hashes

Rows = Callable[[], Any]  # returns a lazy frame of narwhals: p0, p1, ..., code and status


class Readings:
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
        self.reader, self.counting, self.progress = reader, counting, progress
        self.m = len(counting.columns.classes)
        self._readable: list[tuple[int, Part, Rows]] = []
        self._files = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

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
            rule = "data must have a part that can be read"
            raise invalid(rule, "none", "pass files or chunks with rows")
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

        def told(more: int) -> None:
            nonlocal done
            done += more
            if self.progress is not None:
                self.progress(done, survey.n)

        work = Redraw(make, keys, survey.numbering())
        sizes = {unit: n for unit, (n, _) in survey.units.items()}
        total: Redrawn | None = None
        for number, part, rows in self._readable:
            with part.readable(_gone):
                found = total_over(rows(), number, self.m, work, done=told, sizes=sizes)
            total = found if total is None else total + found
        if total is None or total.units != survey.units:
            rule = "rows must be the same each time they are read"
            remedy = "write them to files, or fix the seed or the order that they depend on"
            raise invalid(rule, "others", remedy)
        return total.totals

    def _parts(self) -> Iterator[tuple[Part, Rows]]:
        """Yield the parts with what opens their rows, any number of times."""
        # Rows of chunks one after the other, in a file without a name: it goes with the process.
        file = None
        if self.reader.source.is_stream:
            file = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - it does
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

    def _rows(self, part: Part) -> Any:
        return self.counting.rows(part.open())


def _read(file: BinaryIO, start: int, size: int) -> Any:
    import polars as pl

    file.seek(start)
    return nw.from_native(pl.read_ipc(file.read(size)).lazy())


def _gone(part: Part, error: Exception) -> None:
    """Say that a part cannot be read again."""
    got = f"{part.name}; the engine reports: {error}"
    remedy = "check that it stays as it is"
    raise invalid("all parts must be readable twice", got, remedy) from error


def _named(survey: Survey) -> dict[str, int]:
    """Name what is wrong with rows, with their numbers."""
    return {WRONG[kind - 1]: n for kind, n in sorted(survey.wrong.items())}
