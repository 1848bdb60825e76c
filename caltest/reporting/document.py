"""The content of a report in sections, ready for any format: paragraphs, tables, figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from caltest import render
from caltest.render import Sheet
from caltest.reporting.content import Content, Data, MethodText, RecalibrationContent, Scores, Where
from caltest.reporting.figures import Figure
from caltest.reporting.reading import segments_reading
from caltest.results import HTestTable, Region
from caltest.segments import SegmentsTest

SHOWN = 12  # rows of a table that are not folded
SHOWN_REGIONS = 10
SHOWN_WORDS = 5
MOST_ROWS = 200  # of the table of classes
MARKS = {"identity": "before"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a section; `kind` says which of the others it has.

    Attributes
    ----------
    kind : {"text", "note", "heading", "sheet", "facts", "words", "figure", "formula"}
    text : str
        Of a paragraph, a note, a heading or a formula.
    sheet : Sheet or None
        A table, or facts as pairs.
    figure : Figure or None
    shown : int
        How many rows of the table are not folded.
    """

    kind: str
    text: str = ""
    sheet: Sheet | None = None
    figure: Figure | None = None
    shown: int = SHOWN


@dataclass(frozen=True, slots=True)
class Section:
    """A section with its key, heading and parts."""

    key: str
    title: str
    blocks: tuple[Block, ...]


def sections(content: Content, figures: Sequence[Figure], left_out: Sequence[str]) -> list[Section]:
    """Return the sections of a report in their order, the answer first."""
    found = {
        "answer": ("The answer", [*_answer(content)]),
        "data": ("What was tested", [*_data(content.data)]),
        "diagrams": ("Diagrams", [*_notes(left_out)]),
        "where": ("Where it is wrong", [*_where(content.where)]),
        "segments": ("Segments", [*_segments(content.segments)]),
        "scores": ("Scores and what they consist of", [*_scores(content.scores)]),
        "comparison": ("After recalibration", [*_comparison(content.comparison)]),
        "methods": ("Methods", [*_methods(content.methods)]),
        "reproduction": ("How to repeat this", [*_reproduction(content)]),
    }
    for figure in figures:
        found[figure.section][1].append(Block(kind="figure", figure=figure))
    return [Section(key, title, tuple(blocks)) for key, (title, blocks) in found.items() if blocks]


def _notes(notes: Sequence[str]) -> Iterator[Block]:
    for note in notes:
        yield Block(kind="note", text=note)


def _answer(content: Content) -> Iterator[Block]:
    for sentence in content.answer.headline:
        yield Block(kind="text", text=sentence)
    yield from _tests(content.answer.tests, content.answer.readings, "tests of calibration")
    yield from _notes(content.answer.left_out)


def _tests(
    table: HTestTable, readings: Sequence[str], title: str, names: Sequence[str] = ()
) -> Iterator[Block]:
    # The tests with a sentence on each; `names` stand in place of lenses.
    yield Block(kind="sheet", sheet=_tests_sheet(table, title, names))
    if len(table) > 1 or names:
        named = names or [f"{row.test}, {row.lens}" for row in table]
        sheet = Sheet(title="In words", facts=tuple(zip(named, readings, strict=True)))
        yield Block(kind="words", sheet=sheet, shown=SHOWN_WORDS)


def _tests_sheet(table: HTestTable, title: str, names: Sequence[str]) -> Sheet:
    adjusted = [] if table.correction is None else ["adjusted"]
    rows = []
    for i, (row, value) in enumerate(zip(table, table.adjusted, strict=True)):
        first = [names[i]] if names else [row.lens, row.test]
        numbers = [f"{row.estimate_name} = {render.number(row.estimate)}"]
        numbers += [render.pvalue_of(row)]
        numbers += [render.pvalue(float(value))] if adjusted else []
        rows.append((*first, *numbers, render.stars(float(value))))
    head = ["name"] if names else ["lens", "test"]
    return Sheet(
        title=title.capitalize(),
        header=(*head, "estimate", "p-value", *adjusted, "code"),
        rows=tuple(rows),
        n_text=len(head),
        legend=render.LEGEND,
        closing=_table_notes(table, names),
    )


def _table_notes(table: HTestTable, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Each remark on a test once, with the rows that it belongs to."""
    owners: dict[str, list[str]] = {}
    for i, row in enumerate(table):
        name = names[i] if names else f"{row.test}, {row.lens}"
        for note in row.notes:
            owners.setdefault(note, []).append(name)
    together = tuple(
        ("all groups together", f"{test.test}, p-value {render.pvalue_of(test)}")
        for test in table.omnibus
    )
    return together + tuple(
        ("note", f"{_some(rows)}: {note}" if len(rows) < len(table) else note)
        for note, rows in owners.items()
    )


def _some(names: list[str], most: int = 3) -> str:
    shown = "; ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _data(data: Data) -> Iterator[Block]:
    facts = [
        ("source", data.source),
        ("rows (n)", f"{data.n:,}"),
        ("classes (m)", f"{data.m:,}"),
    ]
    if data.groups:
        facts.append(("groups", f"{len(data.groups):,}"))
    yield Block(kind="facts", sheet=Sheet(title="The data", facts=tuple(facts)))
    yield from _notes(data.warnings)
    total = sum(row.observed for row in data.classes)
    ordered = sorted(data.classes, key=lambda row: -abs(row.observed - row.expected))
    kept = data.classes if data.m <= MOST_ROWS else ordered[:MOST_ROWS]
    rows = tuple(
        (
            str(row.name),
            _count(row.observed),
            f"{100 * row.observed / total:.1f} %",
            f"{row.expected:,.1f}",
            f"{row.observed - row.expected:+,.1f}",
            _count(row.predicted),
        )
        for row in kept
    )
    header = ("class", "observed", "share", "expected", "difference", "predicted")
    yield Block(kind="sheet", sheet=Sheet(title="Balance of the classes", header=header, rows=rows))
    yield Block(
        kind="text",
        text="Expected is the sum of the probabilities of the class; predicted counts the rows "
        "where it has the largest one.",
    )
    if len(kept) < data.m:
        text = f"{data.m - len(kept):,} classes whose difference is smaller are not listed."
        yield Block(kind="note", text=text)


def _count(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _where(where: Where) -> Iterator[Block]:
    if where.regions:
        text = (
            f"The SKCE under the lens {where.lens} is divided by class and by predicted "
            "probability. Parts near 0, of either sign, are what chance gives; a large part says "
            "where labels and predictions differ, and the gap in which direction. The whole was "
            "tested, the parts are not."
        )
        yield Block(kind="text", text=text)
    if len(where.classes) > 1:
        yield Block(kind="sheet", sheet=_classes_sheet(where.classes))
    if where.regions:
        yield Block(
            kind="sheet",
            sheet=_regions_sheet("Regions of predicted probability", where.regions),
            shown=SHOWN_REGIONS,
        )
        if len(where.regions) > MOST_ROWS:
            text = f"{len(where.regions) - MOST_ROWS:,} regions with smaller parts are not listed."
            yield Block(kind="note", text=text)
    if where.groups is not None:
        yield Block(kind="heading", text="Groups")
        names = [str(row.group) for row in where.groups]
        yield from _tests(where.groups, where.group_readings, "tests of groups", names)
    yield from _notes(where.notes)


def _segments(test: SegmentsTest | None) -> Iterator[Block]:
    if test is None:
        return
    yield Block(kind="text", text=segments_reading(test))
    interval = f"{100 * test.confidence:g} %"
    sheet = Sheet(
        title="The worst segments",
        header=("segment", *render.SEGMENT_NUMBERS, interval, "adjusted", "code"),
        rows=tuple(render.segment_cells(row, row.definition) for row in test),
        legend=render.LEGEND,
    )
    yield Block(kind="sheet", sheet=sheet)
    yield Block(
        kind="text",
        text="Predicted, observed and their gap are in per cent and percentage points; the "
        f"interval of the gap is Wilson's, for the segment by itself. Segments have at least "
        f"{test.min_size} rows and overlap: a rejected one may be wrong because a part of it is, "
        "and the worst of many has a gap that is too large.",
    )
    yield from _notes(test.notes)


def _classes_sheet(classes: Sequence[Region]) -> Sheet:
    """The regions of whole classes: neither range nor rows tell them apart."""
    sheet = _regions_sheet("Classes", classes)
    keep = [i for i, name in enumerate(sheet.header) if name not in {"range", "rows"}]
    return replace(
        sheet,
        header=tuple(sheet.header[i] for i in keep),
        rows=tuple(tuple(row[i] for i in keep) for row in sheet.rows),
        n_text=2,
    )


def _range(region: Region) -> str:
    first = "[" if region.low == 0 else "("
    return f"{first}{render.number(region.low)}, {render.number(region.high)}]"


def _regions_sheet(title: str, regions: Sequence[Region]) -> Sheet:
    rows = tuple(
        (
            str(region.name),
            region.direction,
            _range(region),
            f"{region.n:,}",
            f"{region.mean:.4f}",
            f"{region.observed:.4f}",
            f"{region.gap:+.2g}",
            f"{region.contribution:+.2e}",
        )
        for region in regions[:MOST_ROWS]
    )
    header = ("class", "direction", "range", "rows", "predicted", "observed", "gap", "part of SKCE")
    return Sheet(title=title, header=header, rows=rows, n_text=3)


def _scores(scores: Scores) -> Iterator[Block]:
    rows = tuple(
        (
            score.name,
            render.number(score.value),
            "" if score.expected is None else render.number(score.expected),
            ""
            if score.low is None or score.high is None
            else f"{render.number(score.low)} to {render.number(score.high)}",
        )
        for score in scores.scores
    )
    header = ("score", "value", "if calibrated", "95 % of values")
    yield Block(kind="sheet", sheet=Sheet(title="Scores", header=header, rows=rows))
    yield Block(
        kind="text",
        text="If calibrated: the mean, and the range by the central limit theorem, over labels "
        "redrawn from the probabilities. A calibration error is not 0 for a calibrated model "
        "either; the tests above say how large it would be by chance.",
    )
    parts = tuple(
        (
            part.lens,
            *(
                render.number(value)
                for value in (
                    part.parts.score,
                    part.parts.miscalibration,
                    part.parts.discrimination,
                    part.parts.uncertainty,
                )
            ),
        )
        for part in scores.parts
    )
    title = "Brier = miscalibration - discrimination + uncertainty"
    names = ("lens", "Brier", "MCB", "DSC", "UNC")
    yield Block(kind="sheet", sheet=Sheet(title=title, header=names, rows=parts))
    yield Block(
        kind="text",
        text="By the isotonic fit of the labels (CORP; Dimitriadis, Gneiting, Jordan 2021): MCB is "
        "what recalibration could gain on these data, DSC what the predictions gain on the class "
        "frequencies, UNC the score of the class frequencies.",
    )
    yield from _notes(scores.notes)


def _comparison(comparison: RecalibrationContent | None) -> Iterator[Block]:
    if comparison is None:
        return
    yield Block(
        kind="text",
        text=f"Each calibrator was fitted {comparison.n_folds} times, to {comparison.n_fit:,} rows "
        f"or one more, and tested on the rows that the fit had not seen, {comparison.n_held_out:,} "
        f"rows in all (folds at random, seed {comparison.seed}). {comparison.method}, lens: "
        f"{comparison.lens}. The commands \u201ccaltest compare\u201d and \u201ccaltest calibrate "
        "fit\u201d have the same p-values for this seed.",
    )
    names = [MARKS.get(row.key, row.key) for row in comparison.rows]
    adjusted = ("adjusted",) if comparison.correction else ()
    rows = tuple(
        (
            name,
            *(_number(value) for value in (row.log_loss, row.brier, row.ece)),
            *(_number(value) for value in (row.difference, row.stderr)),
            *(_pvalue(value) for value in (row.pvalue, row.adjusted)[: 1 + len(adjusted)]),
        )
        for name, row in zip(names, comparison.rows, strict=True)
    )
    header = ("calibrator", "log loss", "Brier", "ECE", "difference", "s.e.", "p-value", *adjusted)
    closing = (("difference", "of the log loss, from that before, with its standard error"),)
    yield Block(
        kind="sheet",
        sheet=Sheet(title="Rows that were held out", header=header, rows=rows, closing=closing),
    )
    sheet = Sheet(title="In words", facts=tuple(zip(names, comparison.readings, strict=True)))
    yield Block(kind="words", sheet=sheet, shown=SHOWN_WORDS)
    yield from _notes(comparison.left_out)


def _number(value: float | None) -> str:
    return "" if value is None else render.number(value)


def _pvalue(value: float | None) -> str:
    return "" if value is None else render.pvalue(value)


def _methods(methods: Sequence[MethodText]) -> Iterator[Block]:
    for method in methods:
        yield Block(kind="heading", text=f"{method.kind.capitalize()} {method.key}: {method.title}")
        for kind, text in method.text:
            yield Block(kind=kind, text=text)
        if method.references:
            yield Block(kind="text", text=f"Source: {method.references}")


def _reproduction(content: Content) -> Iterator[Block]:
    told = content.reproduction
    facts = [
        ("versions", ", ".join(f"{name} {value}" for name, value in told.versions.items())),
        ("seed", str(told.seed)),
        ("resamples (B)", f"{told.n_resamples:,}"),
        ("data, SHA-256", told.data_hash),
        ("time", told.time),
    ]
    if told.command is not None:
        facts.insert(0, ("command", told.command))
    if content.author is not None:
        facts.insert(0, ("author", content.author))
    yield Block(kind="facts", sheet=Sheet(title="This run", facts=tuple(facts)))
