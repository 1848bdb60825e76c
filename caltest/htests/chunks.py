"""Tests of very many rows that are read by chunks where they lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, rows_named
from caltest.forecasts.container import SAMPLED, Forecasts, PitCounts
from caltest.htests.asked import Asked, Plan, as_columns
from caltest.htests.runner import Answer, Answering
from caltest.lazy import pl
from caltest.lenses import Lens
from caltest.measures.gap import event_rows, gap_of_sums
from caltest.nulls.base import Draws
from caltest.nulls.exact import chunk_tests, exact_tests
from caltest.predictions import tables
from caltest.sources import Counting, chunks, sources
from caltest.sources.columns import Columns, column
from caltest.sources.readings import Readings, batches_of

STRONG = "strong"


class RowsByChunks(Answering):
    """Rows of several classes that are read twice, chunk by chunk.

    Parameters
    ----------
    reader : Reader
        How they are read.
    counting : Counting
        What their columns hold.
    """

    def __init__(self, reader: sources.Reader, counting: Counting) -> None:
        self.reader, self.counting = reader, counting
        self.name, self.m = reader.source.name, len(counting.columns.classes)

    @staticmethod
    def refuse(asked: Asked) -> None:
        """Raise NotApplicable where something asked for is not to be had by chunks."""
        if as_columns(asked.given.by):
            raise NotApplicable("chunks have no groups", "use engine='rows', or test without by=")
        if asked.given.sample_weight is not None:
            raise NotApplicable("chunks have no sample weights", "use engine='rows'")
        for lens in asked.lenses:
            if str(lens) != STRONG:
                reason = f"chunks are for the lens {STRONG!r}, not for {str(lens)!r}"
                raise NotApplicable(reason, "use engine='cells' or 'rows'")
        probs = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
        few = chunks.Survey.of(3, (0, 0), [chunks.Chunk(probs, np.array([0, 1]), {})])
        for _, measure in asked.measures:
            measure.bind_chunks(few, "abc")

    @classmethod
    def of(cls, reader: sources.Reader, columns: Columns, asked: Asked) -> RowsByChunks:
        """Check that there are several classes."""
        if len(columns.classes) == 2:
            remedy = "use engine='cells' or 'rows' for two"
            raise NotApplicable("chunks are for more than two classes", remedy)
        return cls(reader, Counting(columns, tuple(asked.lenses)))

    @property
    def left_out(self) -> tuple[str, ...]:  # type: ignore[override]  # known once they are read
        """What is left out of the rows, in words."""
        return self.reader.left_out.notes()

    def parts(self, asked: Asked) -> dict[Any, list[tuple[Lens, Any]]]:
        """Return the lens, which is the same for all tests; rows are not held."""
        return {None: [(asked.lenses[0], None)]}

    def answers(self, plans: Sequence[Plan], asked: Asked) -> Iterator[Answer | NotApplicable]:
        """Yield the answer to each plan: all see the same redrawn labels."""
        with Readings(self.reader, self.counting, asked.progress) as readings:
            survey = readings.survey()
            names = [str(name) for name in self.counting.columns.classes]
            bound = [(plan.measure, plan.measure.bind_chunks(survey, names)) for plan in plans]
            draws = Draws(asked.most_resamples, asked.seed)
            found = chunk_tests(bound, draws, partial(readings.redraw, survey))
        confidence, squares, right, both = (survey.confidence / chunks.SHARE).tolist()
        n, variance = survey.n, confidence - squares
        shares = confidence / n, right / n
        residuals = squares - 2.0 * both + right - n * (shares[0] - shares[1]) ** 2
        gap = gap_of_sums("confidence", "right", n, *shares, variance, residuals)
        yield from (Answer(plan, one, n, gap) for plan, one in zip(plans, found, strict=True))


# ---- forecasts ----------------------------------------------------------------------------------


class ForecastsByChunks(RowsByChunks):
    """Forecasts that are read batch by batch; twice, where they are counted by groups of like ones.

    Parameters
    ----------
    reader : Reader
        How they are read.
    names : sequence of str
        The columns that are read.
    asked : Asked
        What is asked for.
    """

    m = 0

    def __init__(self, reader: sources.Reader, names: Sequence[str], asked: Asked) -> None:
        self.reader, self.names, self.given = reader, names, asked.given
        self.name, self.progress = reader.source.name, asked.progress

    @staticmethod
    def refuse(asked: Asked) -> None:
        """Raise NotApplicable where something asked for needs the rows."""
        given = asked.given
        lacking = {
            "groups": as_columns(given.by),
            "sample weights": given.sample_weight is not None,
            "rows that are left out": asked.on_error == "skip",
            "lenses": any(str(lens) != "strong" for lens in asked.lenses),
        }
        for name, is_asked in lacking.items():
            if is_asked:
                raise NotApplicable(f"forecasts by chunks have no {name}", "use engine='rows'")
        few = Forecasts([0.0, 1.0, 2.0], mean=[1.0, 0.0, 1.0], scale=[1.0, 1.0, 2.0])
        for _, measure in asked.measures:
            counts = PitCounts(few, measure.pit_groups)
            counts.add(few)
            measure.bind_pits(counts)

    @classmethod
    def of(cls, reader: sources.Reader, columns: Any, asked: Asked) -> ForecastsByChunks:
        """Check that the rows can be read as often as they have to be."""
        if reader.source.is_stream and _groups(asked) > 1:
            reason = "the default test reads forecasts twice, and an iterator is read once"
            raise NotApplicable(reason, "pass files or a lazy frame, or name a test as 'pit-ks'")
        return cls(reader, columns, asked)

    def claim_of(self, plan: Plan) -> str:
        return Forecasts.claim

    def answers(self, plans: Sequence[Plan], asked: Asked) -> Iterator[Answer | NotApplicable]:
        """Yield the answer to each plan: all see the same redrawn numbers."""
        groups, parts = _groups(asked), self.reader.fitting()
        sample = None
        if groups > 1:
            parts = list(parts)  # type: ignore[assignment]
            sample = self._sample(parts)
        counts, sums = PitCounts(sample, groups), np.zeros(4)
        kind = name = ""
        for start, frame in self._batches(parts):
            rows = self._forecasts(start, frame)
            counts.add(rows)
            seen, kind, name = plans[0].lens.size_of(rows)
            p, happened = event_rows(seen)[:2]
            sums += p.sum(), happened.sum(), p @ (1.0 - p), np.square(happened - p).sum()
        n = counts.n
        self.reader.check_rows(n)
        mean, share, variance, squares = (sums / [n, n, 1.0, 1.0]).tolist()
        gap = gap_of_sums(kind, name, n, mean, share, variance, squares - n * (share - mean) ** 2)
        bound = [(plan.measure, plan.measure.bind_pits(counts)) for plan in plans]
        found = exact_tests(bound, Draws(**asked.draws(plans[0].seed)))
        yield from (Answer(plan, one, n, gap) for plan, one in zip(plans, found, strict=True))

    def _batches(self, parts: Iterable[sources.SourcePart]) -> Iterator[tuple[int, Any]]:
        """Yield the rows, some at a time, with the number of the first."""
        start = 0
        for done, part in enumerate(parts, start=1):
            with part.readable(self.reader.fault):
                frame = part.open()
                for batch in batches_of(frame.select(*[column(frame, k) for k in self.names])):
                    rows = pl.DataFrame(batch)
                    yield start, rows
                    start += rows.height
            if self.progress is not None:
                self.progress(done, self.reader.source.known or done)

    def _sample(self, parts: Iterable[sources.SourcePart]) -> Forecasts:
        """Return every so many of the rows."""
        frames = [frame[-start % SAMPLED :: SAMPLED] for start, frame in self._batches(parts)]
        self.reader.check_rows(sum(frame.height for frame in frames))
        return self._forecasts(0, pl.concat(frames))

    def _forecasts(self, start: int, frame: Any) -> Forecasts:
        with rows_named(lambda row: self.reader.source.place(start + row)):
            rows = Forecasts.from_frame(frame, label=self.given.label, **self.given.forecasts)
        return rows.numbered_from(start)


def _groups(asked: Asked) -> int:
    """Return by how many groups forecasts are counted, for all that is asked."""
    return max(measure.pit_groups for _, measure in asked.measures)


def columns_of_forecasts(reader: sources.Reader, asked: Asked) -> list[str]:
    """Return the columns that forecasts and outcomes are made of."""
    frame, found = reader.first().open(), dict[str, None]()

    def taken(name: str) -> Any:
        found[name] = None
        return np.ones(1)

    names = list(frame.collect_schema())
    label = checks.check_choice(asked.given.label, names, "label")
    tables.choose_forecasts(tables.ColumnTable(names, taken), label=label, **asked.given.forecasts)
    reader.needs(frame, list(found))
    return list(found)
