"""The figures of a report, each with words for readers who do not see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from caltest import plots, render
from caltest.errors import NotApplicable
from caltest.predictions import Predictions
from caltest.reporting.content import Answer, Where
from caltest.reporting.reading import sentence
from caltest.reporting.svg import inline_svg
from caltest.results import HTest, HTestTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from caltest.reporting.recalibrated import HeldOut
    from caltest.segments import SegmentsTest


MOST_SEGMENTS = 12  # in the figure
MOST_AFTER = 6  # calibrators with a diagram
GRID_WORK = 1e8  # n m beyond which classes have no diagrams of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A drawn figure.

    Attributes
    ----------
    section : str
        Key of the section that it stands in.
    title, description : str
        What it shows, and what is seen in it.
    svg : str
        One `<svg>` element.
    width : float
        In points.
    """

    section: str
    title: str
    description: str
    svg: str
    width: float


@dataclass(frozen=True, slots=True)
class Sketch:
    """A figure to be drawn."""

    section: str
    title: str
    description: str
    draw: Callable[[], Any]


def draw_figures(
    predictions: Predictions,
    answer: Answer,
    where: Where,
    segments: SegmentsTest | None,
    outcomes: Sequence[HeldOut],
) -> tuple[tuple[Figure, ...], tuple[str, ...]]:
    """Draw what can be drawn; note what cannot."""
    sketches = [
        *_of_answer(answer.tests),
        *_of_predictions(predictions, answer.tests),
        *_of_where(where),
        *_of_segments(segments),
        *_of_outcomes(outcomes),
    ]
    figures: list[Figure] = []
    left_out: list[str] = []
    for sketch in sketches:
        try:
            canvas = _canvas(sketch.draw())
        except NotApplicable as error:
            left_out.append(f"No figure \u201c{sketch.title}\u201d: {sentence(error)}")
            continue
        key = f"figure-{len(figures) + 1}"
        svg = inline_svg(canvas, key=key, title=sketch.title, description=sketch.description)
        figures.append(
            Figure(
                section=sketch.section,
                title=sketch.title,
                description=sketch.description,
                svg=svg,
                width=72 * float(canvas.get_figwidth()),
            )
        )
    if predictions.m > 2 and predictions.n * predictions.m > GRID_WORK:
        left_out.append("No figure for each class: there are too many predictions to draw them.")
    return tuple(figures), tuple(left_out)


def _canvas(drawn: Any) -> Canvas:
    """Return the figure of axes, or of an array of axes."""
    first = drawn.flat[0] if hasattr(drawn, "flat") else drawn
    canvas: Canvas = first.figure
    return canvas


def _of_answer(table: HTestTable) -> Iterator[Sketch]:
    if len(table) > 1:
        yield Sketch(
            "answer",
            "The p-values of all tests",
            f"One row for each of {len(table)} tests, with its p-value before and after "
            f"adjustment on a logarithmic axis. The smallest adjusted one is "
            f"{render.pvalue(float(table.adjusted.min()))}.",
            lambda: plots.pvalues(table),
        )
    for row in table.rows:
        if row.null_distribution is not None:
            yield Sketch(
                "answer",
                f"The first test: {row.statistic_name} under calibration",
                f"Histogram of {row.n_resamples:,} values of {row.statistic_name} for labels "
                f"redrawn from the probabilities, and the observed value "
                f"{render.number(row.statistic)}; p-value {render.pvalue_of(row)}.",
                partial(plots.null_distribution, row),
            )
            return


def _of_predictions(predictions: Predictions, table: HTestTable) -> Iterator[Sketch]:
    lens = "strong" if predictions.m == 2 else "confidence"
    of = f"class {predictions.classes[1]}" if predictions.m == 2 else "the predicted class"
    source = _row(table, lens) or predictions
    yield Sketch(
        "diagrams",
        f"Reliability diagram of {of}",
        "Observed frequency against predicted probability in bins; the bars hold 95 % of what "
        "calibrated probabilities would show, and the strip shows how the predictions are spread.",
        lambda: plots.reliability_diagram(source),
    )
    yield Sketch(
        "diagrams",
        f"CORP diagram of {of}",
        "Isotonic fit of the observed frequency to the predicted probability, without bins, with "
        "the miscalibration, discrimination and uncertainty of the Brier score.",
        lambda: plots.reliability_diagram(source, corp=True),
    )
    if predictions.m > 2 and predictions.n * predictions.m <= GRID_WORK:
        yield Sketch(
            "diagrams",
            "Reliability diagrams of classes",
            "Each class against the rest, those with the largest error first.",
            lambda: plots.reliability_grid(predictions),
        )


def _row(table: HTestTable, lens: str) -> HTest | None:
    rows = (row for row in table.rows if row.lens == lens and row.evidence is not None)
    return next(rows, None)


def _of_where(where: Where) -> Iterator[Sketch]:
    if where.test is not None and where.regions:
        worst = where.regions[0]
        yield Sketch(
            "where",
            f"Where the predictions are off (lens {where.test.lens})",
            f"The region that adds most to the SKCE: {worst.name}, predicted between "
            f"{render.number(worst.low)} and {render.number(worst.high)}, observed less predicted "
            f"{render.number(worst.gap)} ({worst.direction}).",
            lambda: plots.witness(where.test),  # type: ignore[arg-type]
        )
    groups = where.groups
    if groups is not None and len(groups) > 1:
        yield Sketch(
            "where",
            "The p-values of groups",
            f"One row for each of {len(groups)} groups, before and after adjustment.",
            lambda: plots.pvalues(groups),
        )


def _of_segments(segments: SegmentsTest | None) -> Iterator[Sketch]:
    if segments is None:
        return
    count = min(len(segments), MOST_SEGMENTS)
    filled = "" if segments.level is None else "; filled points are rejected"
    yield Sketch(
        "segments",
        "Gaps of the worst segments",
        f"Observed less predicted in percentage points, with intervals, in {count} segments, the "
        f"worst first, with the number of rows and the adjusted p-value of each{filled}.",
        lambda: plots.segments(segments, rows=MOST_SEGMENTS),
    )


def _of_outcomes(outcomes: Sequence[HeldOut]) -> Iterator[Sketch]:
    for outcome in outcomes[:MOST_AFTER]:
        row = outcome.row
        when = "before" if row.key == "identity" else f"after {row.key}"
        tested = "" if row.pvalue is None else f"p-value {render.pvalue(row.pvalue)}, "
        yield Sketch(
            "comparison",
            f"Rows that were held out, {when}",
            f"Reliability diagram of {outcome.predictions.n:,} rows; {tested}ECE "
            f"{render.number(row.ece)}.",
            partial(plots.reliability_diagram, outcome.predictions),
        )
