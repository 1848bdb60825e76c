"""What is predicted less what is observed in some rows, with its interval and its direction."""

from __future__ import annotations

import math
from collections.abc import Iterable

from caltest.measures.gap import Gap as MeasuredGap
from caltest.measures.gap import event_rows, gap_of
from caltest.predictions import Predictions
from caltest.reporting.content import Gap
from caltest.results import HTestTable


def whole_gap(seen: Predictions, *, kind: str, name: str, pvalue: float | None = None) -> Gap:
    """Return the gap of the event of all rows, of more than two classes that of the confidence."""
    return as_place(gap_of(event_rows(seen), kind, name), kind, name, "", pvalue)


def as_place(found: MeasuredGap, kind: str, name: str, part: str, pvalue: float | None) -> Gap:
    """Return a gap under the name that it has on the page."""
    return Gap(
        kind=kind,
        name=name,
        part=part,
        n=found.n,
        predicted=found.predicted,
        observed=found.observed,
        gap=found.gap,
        low=found.low,
        high=found.high,
        pvalue=pvalue,
    )


def group_gaps(table: HTestTable) -> tuple[Gap, ...]:
    """Return the gap of each group of a table, in its order; of the confidence for many classes."""
    pairs = zip(table.rows, table.adjusted.tolist(), strict=True)
    return tuple(
        as_place(row.size, "group", str(row.group), "", adjusted)
        for row, adjusted in pairs
        if row.size is not None
    )


def ranked(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    """Sort gaps: the smallest adjusted p-value first, then those that are surely the largest."""

    def rank(gap: Gap) -> tuple[float, float, float]:
        pvalue = 1.0 if gap.pvalue is None else gap.pvalue
        surely = max(0.0, gap.low, -gap.high)
        return (pvalue, -surely, -abs(gap.gap))

    return tuple(sorted(gaps, key=rank))


FIRST_EVIDENCE = 0.1  # the largest p-value that speaks against calibration at all


def is_clear(gap: Gap, level: float | None) -> bool:
    """Tell whether a place is named as wrong: by p at the level, or else 0.1, and its interval."""
    bound = FIRST_EVIDENCE if level is None else level
    return gap.pvalue is not None and gap.pvalue <= bound and not covers_zero(gap)


def covers_zero(gap: Gap) -> bool:
    """Tell whether the interval holds 0."""
    return gap.low <= 0.0 <= gap.high or math.isclose(gap.gap, 0.0, abs_tol=1e-15)
