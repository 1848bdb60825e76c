"""Tests of very many rows of several classes: read by chunks where they lie, tested by sums."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.htests import cells
from caltest.htests.cells import (
    OF_THE_USER,
    Asked,
    are_many,
    as_columns,
    source_asked,
    stays,
)
from caltest.htests.combine import adjusted_rows
from caltest.htests.outcome import with_parts
from caltest.measures import Measure
from caltest.measures.gap import Gap, gap_of_sums
from caltest.measures.outcome import Outcome
from caltest.nulls.chunks import KEY, chunks_tests
from caltest.results import HTest, HTestTable
from caltest.scale.chunks import SHARE, Chunk, Survey
from caltest.scale.query import Counting
from caltest.scale.readings import Readings
from caltest.scale.sources import ON_ERROR, Reader, Source
from caltest.validation import check_choice

STRONG = "strong"


def source_for(
    engine: str, asked: Asked
) -> tuple[Source | None, cells.Prepared | PreparedChunks | None]:
    """Return where the rows lie, if they are in no array, and how they are tested there.

    Parameters
    ----------
    engine : {"auto", "rows", "cells", "chunks"}
        "auto" takes cells for more than 2 million rows, and where rows may be left out, if all that
        is asked for has a version for cells, and else chunks, if it has one for these.
    asked : Asked
        What is asked for, of a model or of data alone.

    Raises
    ------
    InvalidInput
        If cells or chunks are asked for what is no frame, path or iterator.
    NotApplicable
        If they are asked for what needs the rows in memory.
    """
    check_choice(asked.on_error, ON_ERROR, "on_error")
    if engine not in ("auto", "chunks"):
        return cells.source_for(engine, asked)
    source = source_asked(asked)
    if engine == "chunks":
        check_chunks(asked)
        if source is None:
            reason = "engine='chunks' takes a data frame, a lazy one, paths or an iterator of them"
            raise NotApplicable(reason, "use engine='rows' for arrays and models")
        prepared = _prepared(source, asked)
        if isinstance(prepared, PreparedChunks):
            return source, prepared
        raise NotApplicable(
            "chunks are for more than two classes", "use engine='cells' or 'rows' for two"
        )
    if source is None or stays(source, asked) or not has_chunks(asked):
        return cells.source_for(engine, asked)
    many, source = are_many(source, asked)
    return source, _prepared(source, asked) if many else None


def check_chunks(asked: Asked) -> None:
    """Raise NotApplicable where something asked for is not to be had by chunks."""
    asked.check_arguments()
    if as_columns(asked.given.by):
        raise NotApplicable("chunks have no groups", "use engine='rows', or test without by=")
    if asked.given.sample_weight is not None:
        raise NotApplicable("chunks have no sample weights", "use engine='rows'")
    for lens in asked.lenses:
        if str(lens) != STRONG:
            reason = f"chunks are for the lens {STRONG!r}, not for {str(lens)!r}"
            raise NotApplicable(reason, "use engine='cells' or 'rows'")
    probs = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    few = Survey.of(3, (0, 0), [Chunk(probs, np.array([0, 1]), {})])
    for _, measure in asked.measures:
        measure.bind_chunks(few, "abc")


def has_chunks(asked: Asked) -> bool:
    """Tell whether all that is asked for has a version for chunks."""
    try:
        check_chunks(asked)
    except NotApplicable:
        return False
    return True


def _prepared(source: Source, asked: Asked) -> cells.Prepared | PreparedChunks:
    """Read which columns there are: chunks are for several classes, cells for two."""
    reader = Reader(source, asked.columns, on_error=asked.on_error, progress=asked.progress)
    columns = reader.columns()
    if len(columns.classes) == 2:
        return cells.prepared_of(reader, columns, asked)
    return PreparedChunks(reader, Counting(columns, tuple(asked.lenses)))


@dataclass(frozen=True)
class PreparedChunks:
    """Rows that will be read by chunks: how they are read, and what their columns hold."""

    reader: Reader
    counting: Counting

    def run(self, asked: Asked) -> HTest | HTestTable:
        """Read the rows twice, and test the sums."""
        with Readings(self.reader, self.counting, asked.progress) as readings:
            survey = readings.survey()
            names = [str(name) for name in self.counting.columns.classes]
            bound = [(measure, measure.bind_chunks(survey, names)) for _, measure in asked.measures]
            outcomes = chunks_tests(
                bound,
                readings,
                survey,
                n_resamples=asked.n_resamples or 0,
                seed=asked.seed,
                n_jobs=asked.n_jobs,
            )
        for message in dict.fromkeys(text for one in outcomes for text in one.degenerate):
            warnings.warn(message, DegenerateDataWarning, stacklevel=OF_THE_USER)
        rows = tuple(
            self._result(key, measure, outcome, survey, asked)
            for (key, measure), outcome in zip(asked.measures, outcomes, strict=True)
        )
        if len(rows) == len(asked.lenses) == 1:
            return rows[0]
        adjusted, name = adjusted_rows(rows, asked.correction)
        notes = self.reader.left_out.notes()
        return HTestTable(rows, name, adjusted, level=asked.level, notes=notes)

    def _result(
        self, key: str, measure: Measure, outcome: Outcome, survey: Survey, asked: Asked
    ) -> HTest:
        (lens,) = {str(one): one for one in asked.lenses}.values()
        result = HTest.from_outcome(
            outcome,
            test=key,
            method=f"Exact test of calibration: {measure.title}",
            estimate_name=measure.estimate_symbol,
            null=KEY,
            n=survey.n,
            m=len(self.counting.columns.classes),
            lens=str(lens),
            claim=lens.claim,
            data_name=self.reader.source.name,
            n_resamples=asked.n_resamples,
            seed=asked.seed,
            note=asked.note,
            level=asked.level,
            size=_gap(survey),
        )
        result = replace(result, notes=(*result.notes, *self.reader.left_out.notes()))
        return with_parts(result, outcome.parts)


def _gap(survey: Survey) -> Gap:
    """Measure the gap of the confidence."""
    confidence, squares, right, both = (survey.confidence / SHARE).tolist()
    n = survey.n
    predicted, observed = confidence / n, right / n
    residuals = squares - 2.0 * both + right - n * (predicted - observed) ** 2
    return gap_of_sums(
        "confidence", "right", n, predicted, observed, confidence - squares, residuals
    )
