"""What is printed of the test of segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from caltest.render.cells import LEGEND, Pairs, Sheet, number, pvalue, stars
from caltest.render.verdicts import headline_of_segments

if TYPE_CHECKING:
    from caltest.segments import Segment, SegmentsTest

SEGMENT_NUMBERS = ("n", "predicted", "observed", "gap")
SHOWN = 10
LONGEST = 18  # definitions that the grid has room for


def sheet_of_segments(test: SegmentsTest, *, long: bool = False) -> Sheet:
    """The print of the worst segments; the long one has all that are held, and both statistics."""
    rows = test.rows if long else test.rows[:SHOWN]
    interval = f"{100 * test.confidence:g} %"
    more = ("z", "ECCE/sigma") if long else ()
    header = ("", *SEGMENT_NUMBERS, interval, *more, "adjusted", "")
    longest = max(len(row.definition) for row in rows)
    numbered = longest > (LONGEST - 16 if long else LONGEST)
    names = [f"[{k}]" if numbered else row.definition for k, row in enumerate(rows, start=1)]
    return Sheet(
        title="Exact test of calibration in segments",
        headline=headline_of_segments(test),
        facts=_facts(test),
        numbers=(("T", number(test.statistic)), ("p-value", pvalue(test.pvalue))),
        header=header,
        rows=tuple(
            segment_cells(row, name, long=long) for row, name in zip(rows, names, strict=True)
        ),
        legend=LEGEND,
        closing=(*(_defined(rows, names) if numbered else ()), *_closing(test)),
    )


def _facts(test: SegmentsTest) -> Pairs:
    sampling = f"B = {test.n_resamples}, seed = {test.seed}"
    return (
        ("data", f"{test.data_name} (n = {test.n}, m = {test.m}), lens: {test.lens}"),
        ("segments", f"{sum(test.n_segments)} of {test.source}: {_sizes(test)}"),
        ("statistic", f"the largest over segments: {test.statistics}"),
        (
            "null",
            f"exact, labels redrawn from the predictions, {sampling}",
        ),
        ("adjusted", "step-down maximum over all segments, observed and redrawn alike"),
    )


def _sizes(test: SegmentsTest) -> str:
    parts = [
        f"{count} of {'all rows' if depth == 0 else f'depth {depth}'}"
        for depth, count in enumerate(test.n_segments)
        if depth and count
    ]
    return f"all rows, {', '.join(parts)}, each of at least {test.min_size} rows"


def _defined(rows: Sequence[Segment], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The definitions that are too long for the grid, under it."""
    return zip(names, (row.definition for row in rows), strict=True)


def segment_cells(row: Segment, name: str, *, long: bool = False) -> tuple[str, ...]:
    """Return a row of the table: the name, `SEGMENT_NUMBERS`, interval, p-value and its code."""
    percent = (f"{100 * value:.1f}" for value in (row.predicted, row.observed))
    ends = f"[{100 * row.low:z.1f}, {100 * row.high:z.1f}]"
    cumulative = "" if row.cumulative is None else f"{row.cumulative:.2f}"
    statistics = (f"{row.z:.2f}", cumulative) if long else ()
    return (
        name,
        str(row.n),
        *percent,
        f"{100 * row.gap:+z.1f}",
        ends,
        *statistics,
        pvalue(row.adjusted),
        stars(row.adjusted),
    )


def _closing(test: SegmentsTest) -> Iterator[tuple[str, str]]:
    if test.level is not None:
        some = f"{test.n_rejected} of {sum(test.n_segments)} segments"
        yield f"rejected at level {number(test.level)}", some
    yield (
        "predicted, observed, gap",
        "in per cent and percentage points; gap = observed - predicted, each interval by itself",
    )
    for note in test.notes:
        yield "note", note
