"""The answer of a report: one verdict on all rows, the groups and the segments."""

from __future__ import annotations

from typing import Any

from caltest.reporting.content import RecalibrationContent, Within
from caltest.reporting.wording import short_pvalue
from caltest.results import HTest, HTestTable
from caltest.results.verdict import Verdict, together
from caltest.segments import SegmentsTest
from caltest.verdicts import adjusted_verdicts

REFERENCE = "identity"


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
    told = None if comparison is None else best_in_words(comparison)
    return together(adjusted_verdicts(results, n_jobs), told)


def best_in_words(comparison: RecalibrationContent) -> str | None:
    """Say which calibrator has the least log loss on held-out rows, and what is left after it."""
    rows = [row for row in comparison.rows if row.key != REFERENCE]
    if not rows:
        return None
    best = min(rows, key=lambda row: row.log_loss)
    if best.difference is None or best.difference >= 0:
        return "None of the calibrators lowers the log loss of held-out rows."
    left = ""
    if best.adjusted is not None:
        left = f"; what is left of the error after it has p = {short_pvalue(best.adjusted)}"
    return (
        f"Of the calibrators, {best.key} lowers the log loss of {comparison.n_held_out:,} held-out "
        f"rows most, by {-best.difference:.3g}{left}."
    ).replace("= <", "<")


def tolerance_in_words(within: Within | None) -> tuple[str, ...]:
    """Return what the certificate adds to the answer."""
    return () if within is None else within.sentences
