"""The figures of a report, each with words for readers who do not see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from caltest import plots, render
from caltest.errors import NotApplicable
from caltest.predictions import Predictions
from caltest.reporting.about import Profile
from caltest.reporting.content import Content, Differences, Figure, Sketch
from caltest.reporting.reading import equals, sentence, short_pvalue
from caltest.reporting.recalibrated import HeldOut
from caltest.reporting.source import Source
from caltest.reporting.where import ranked
from caltest.results import HTest, HTestTable
from caltest.segments import SegmentsTest
from caltest.types import Axes

KEY = "Colours and marks are those of the first diagram."
MOST_SEGMENTS = 12  # in the figure
MOST_GROUPS = 6  # with a diagram
MOST_GRADES = 60  # in the figure
LEAST_DRAWN = 10  # rows of a group with a diagram
TALL = (4.4, 6.4)  # inches of a diagram with its key below
SMALL = (2.75, 3.3)  # inches of one of several
MOST_CLASSES_DRAWN = 6
MOST_AFTER = 6  # calibrators with a diagram
GRID_WORK = 1e8  # n m beyond which classes have no diagrams of their own


def draw_figures(
    source: Source, content: Content, profile: Profile, outcomes: Sequence[HeldOut]
) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Draw what can be drawn; note what cannot."""
    rows, asked = source.predictions, cast("Any", source)  # forecasts have pictures of their own
    of_classes = _sketches(content, source, profile, outcomes) if source.m else []
    sketches = of_classes or asked.sketches(content)
    figures: list[Figure] = []
    left_out: list[str] = []
    for section, title, description, draw in sketches:
        try:
            drawn = draw()
        except NotApplicable as error:
            left_out.append(f"No figure \u201c{title}\u201d: {sentence(error)}")
            continue
        canvas = (drawn.flat[0] if hasattr(drawn, "flat") else drawn).figure
        figures.append(Figure(section, title, description, f"figure-{len(figures) + 1}", canvas))
    if rows is not None and _is_too_large(rows):
        left_out.append("No figure for each class: there are too many predictions to draw them.")
    return tuple(figures), tuple(left_out)


def _sketches(
    content: Content, source: Source, profile: Profile, outcomes: Sequence[HeldOut]
) -> list[Sketch]:
    """Return the figures of classes."""
    tests, rows = content.answer.tests, source.predictions
    of = "the predicted class" if source.m > 2 else f"class {source.event.names[1]}"
    seen = tests[0] if rows is None else rows
    text = "Smooth curve of the observed frequency against the predicted probability, with a band"
    text += " that holds all of it with 95 %"
    if np.ptp(source.event.values) == 0:
        text = "Observed frequency against the predicted probability, which is the same in all rows"
    answer = f"{text}; on top the predictions of both outcomes."
    return [
        ("answer", f"Reliability diagram of {of}", answer, partial(_tall, seen)),
        *([] if rows is None else _of_rows(rows, content, profile)),
        *_of_places(content.where, content.segments),
        *_of_tests(tests, seen, of, source.m, profile),
        *_of_outcomes(outcomes),
    ]


def _is_too_large(rows: Predictions) -> bool:
    """Tell whether classes have no diagrams of their own."""
    return rows.m > 2 and rows.probs.size > GRID_WORK


def _tall(source: object, size: tuple[float, float] = TALL, **options: Any) -> Axes:
    """Draw a reliability diagram without numbers on a figure of so many inches."""
    from matplotlib.figure import Figure as Empty

    ax = Empty(figsize=size, layout="constrained").add_subplot()
    return plots.reliability_diagram(source, numbers=False, ax=ax, **options)


def _small(source: object, **options: Any) -> Axes:
    """Draw one of several reliability diagrams, whose key is that of the first of the page."""
    ax = _tall(source, SMALL, **options)
    if (key := ax.get_legend()) is not None:
        key.remove()
    return ax


def _key(row: HTest) -> str:
    """Say what colours and marks mean in the small diagram of a result."""
    ranges = [one for one in row.places if one.where and one.where.is_range]
    return f"{KEY} What is shaded differs beyond chance." if ranges and row.m == 2 else KEY


def _of_rows(rows: Predictions, content: Content, profile: Profile) -> Iterator[Sketch]:
    """Yield the figures that need the rows: belt, grades and decisions."""
    for row in content.answer.tests.rows:
        if row.test == "calibration-belt" and row.m == 2:
            text = "Confidence belts of 80 and 95 % of a polynomial logistic recalibration; where"
            text += f" they leave the diagonal the risks are off (p {equals(row.pvalue)})."
            yield "tests", "GiViTI calibration belt", text, partial(plots.calibration_belt, row)
    if content.grades is not None and len(content.grades) <= MOST_GRADES:
        text = "The default rate of each grade with its interval, that of the table, and the PD."
        draw = partial(plots.master_scale, content.grades, confidence=0.95)
        yield "grades", "Default rates of the grades", text, draw
    if profile.decisions and rows.m == 2:
        text = "Net benefit of the model at each threshold probability, with its interval, beside"
        text += " that of treating all and none."
        yield "decisions", "Decision curve", text, partial(plots.decision_curve, rows)


def _of_places(where: Differences, segments: SegmentsTest | None) -> Iterator[Sketch]:
    """Yield the diagrams of the worst groups, and the gaps of the worst segments."""
    worst = {gap.name: rank for rank, gap in enumerate(ranked(where.group_places))}
    tested = where.groups
    rows = () if tested is None else zip(tested.rows, tested.adjusted.tolist(), strict=True)
    shown = ((row, value) for row, value in rows if row.evidence or row.counted)
    kept = [(row, value) for row, value in shown if row.n >= LEAST_DRAWN]
    kept.sort(key=lambda pair: worst.get(render.named(pair[0].group), len(worst)))
    for row, value in kept[:MOST_GROUPS]:
        draw = partial(_small, row, pvalue=value)
        if row.evidence is not None and row.m > 2:
            draw = partial(_small, row.evidence.predictions)
        text = f"Reliability diagram of {row.n:,} rows; adjusted p {equals(value)}. {_key(row)}"
        yield "groups", f"Group {render.named(row.group)}", text, draw
    if segments is not None:
        count = min(len(segments), MOST_SEGMENTS)
        filled = "" if segments.level is None else "; filled points are rejected"
        text = (
            f"Observed less predicted in percentage points, with intervals, in {count} segments, "
            f"the worst first, with the number of rows and the adjusted p-value of each{filled}."
        )
        draw = partial(plots.segments, segments, rows=MOST_SEGMENTS)
        yield "segments", "Gaps of the worst segments", text, draw


def _of_tests(tests: HTestTable, seen: Any, of: str, m: int, profile: Profile) -> Iterator[Sketch]:
    """Yield the p-values, and the diagrams of the appendix, of rows or of counted ones.

    Yields
    ------
    Sketch
        The first with a section of its own.
    """
    if len(tests) > 1:
        least = short_pvalue(float(tests.adjusted.min()))
        text = f"One row for each of {len(tests)} tests, with its p-value before and after "
        text += f"adjustment on a logarithmic axis. The smallest adjusted one is {least}."
        yield "tests", "The p-values of all tests", text, partial(plots.pvalues, tests)
    text = "Isotonic fit of the observed frequency to the predicted probability, without bins, with"
    text += " the miscalibration, discrimination and uncertainty of the Brier score."
    draw: Callable[[], Any] = partial(_tall, seen, corp=True)
    yield "diagrams", f"CORP diagram of {of}", text, draw
    if profile.key == "forecast" and m == 2:
        text = "Observed frequencies of bins, the climatology, and the region in which forecasts"
        draw = partial(plots.attributes_diagram, seen)
        yield "diagrams", f"Attributes diagram of {of}", f"{text} have skill.", draw
    if isinstance(seen, Predictions) and m > 2 and not _is_too_large(seen):
        text = "Each class against the rest, those with the largest error first."
        draw = partial(plots.reliability_grid, seen)
        yield "diagrams", "Reliability diagrams of classes", text, draw
    counted = [row for row in tests.rows if row.counted and row.lens.startswith("classwise")]
    for row in sorted(counted, key=lambda row: row.pvalue)[:MOST_CLASSES_DRAWN]:
        text = f"Reliability diagram against the rest; p {equals(row.pvalue)}. {_key(row)}"
        name = f"Class {row.lens.removeprefix('classwise[')[:-1]}"
        yield "diagrams", name, text, partial(_small, row)


def _of_outcomes(outcomes: Sequence[HeldOut]) -> Iterator[Sketch]:
    for row, rows in outcomes[:MOST_AFTER]:
        when = "before" if row.key == "identity" else f"after {row.key}"
        tested = "" if row.pvalue is None else f"p {equals(row.pvalue)}, "
        text = f"Reliability diagram of {rows.n:,} rows; {tested}ECE {row.scores['ECE']:.4f}. {KEY}"
        yield "comparison", f"Rows that were held out, {when}", text, partial(_small, rows)
