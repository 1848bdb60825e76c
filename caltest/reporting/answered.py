"""The answer of a report: one verdict on all rows, the groups and the segments."""

from __future__ import annotations

from typing import Any

from caltest.reporting.content import RecalibrationContent, Within
from caltest.results import HTest, HTestTable
from caltest.results.verdict import Verdict, together
from caltest.segments import SegmentsTest
from caltest.verdicts import adjusted_verdicts, what_helps


def answer_of(
    first: HTest,
    groups: HTestTable | None,
    segments: SegmentsTest | None,
    comparison: RecalibrationContent | None,
    n_jobs: int | None,
) -> Verdict:
    """Return the verdict that `caltest.verdict` gives for the same questions."""
    results: list[tuple[str, Any]] = [("whole", first)]
    results += [("groups", groups)] if groups is not None else []
    results += [("segments", segments)] if segments is not None else []
    parts = adjusted_verdicts(results, n_jobs)
    told = what_helps(results, parts, n_jobs) if comparison is None else comparison.helps
    return together(parts, told)


def tolerance_in_words(within: Within | None) -> tuple[str, ...]:
    """Return what the certificate adds to the answer."""
    return () if within is None else within.sentences
