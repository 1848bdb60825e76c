"""Tests of very many rows of several classes: read by chunks where they lie, tested by sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from caltest.errors import NotApplicable
from caltest.htests.asked import Asked, Plan, as_columns
from caltest.htests.runner import Answer, Answering
from caltest.measures.gap import Gap, gap_of_sums
from caltest.nulls.chunks import KEY, chunks_tests
from caltest.scale.chunks import SHARE, Chunk, Survey
from caltest.scale.columns import Columns
from caltest.scale.query import Counting
from caltest.scale.readings import Readings
from caltest.scale.sources import Reader

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

    def __init__(self, reader: Reader, counting: Counting) -> None:
        self.reader, self.counting = reader, counting
        self.name, self.m = reader.source.name, len(counting.columns.classes)

    @staticmethod
    def refuse(asked: Asked) -> None:
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

    @classmethod
    def of(cls, reader: Reader, columns: Columns, asked: Asked) -> RowsByChunks:
        """Check that there are several classes."""
        if len(columns.classes) == 2:
            remedy = "use engine='cells' or 'rows' for two"
            raise NotApplicable("chunks are for more than two classes", remedy)
        return cls(reader, Counting(columns, tuple(asked.lenses)))

    @property
    def left_out(self) -> tuple[str, ...]:  # type: ignore[override]  # known once they are read
        """What is left out of the rows, in words."""
        return self.reader.left_out.notes()

    def plans(self, asked: Asked) -> list[Plan]:
        """Return the tests; the lens is the same for all."""
        tests = enumerate(asked.measures)
        return [
            Plan(key, measure, KEY, asked.lenses[0], None, asked.seed, number, note=asked.note)
            for number, (key, measure) in tests
        ]

    def answers(
        self, plans: Sequence[Plan], asked: Asked
    ) -> Iterator[tuple[Plan, Answer | NotApplicable]]:
        """Yield the answer to each plan: all see the same redrawn labels."""
        settings = {"n_resamples": asked.most_resamples, "seed": asked.seed, "n_jobs": asked.n_jobs}
        with Readings(self.reader, self.counting, asked.progress) as readings:
            survey = readings.survey()
            names = [str(name) for name in self.counting.columns.classes]
            bound = [(plan.measure, plan.measure.bind_chunks(survey, names)) for plan in plans]
            outcomes = chunks_tests(bound, readings, survey, **settings)
        for plan, outcome in zip(plans, outcomes, strict=True):
            yield plan, Answer(plan, outcome, survey.n, _gap(survey))


def _gap(survey: Survey) -> Gap:
    """Measure the gap of the confidence."""
    confidence, squares, right, both = (survey.confidence / SHARE).tolist()
    n = survey.n
    predicted, observed = confidence / n, right / n
    residuals = squares - 2.0 * both + right - n * (predicted - observed) ** 2
    return gap_of_sums(
        "confidence", "right", n, predicted, observed, confidence - squares, residuals
    )
