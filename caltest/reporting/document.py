"""The content of a report in sections, ready for any format: paragraphs, tables, figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from caltest.render import Sheet
from caltest.reporting.about import ADEQUACY, LIMITATIONS, PERIOD, SIGNATURES, WORDS, signers
from caltest.reporting.answered import tolerance_in_words
from caltest.reporting.content import (
    Content,
    Data,
    Estimate,
    Gap,
    MethodText,
    RecalibrationContent,
    Scores,
    Within,
)
from caltest.reporting.figures import Figure
from caltest.reporting.gaps import FIRST_EVIDENCE, covers_zero, is_clear, ranked
from caltest.reporting.profiles import Profile
from caltest.reporting.reading import MEANING, segments_reading
from caltest.reporting.wording import (
    DASH,
    count,
    evenly,
    points,
    share,
    short_pvalue,
    span,
)
from caltest.results import HTestTable
from caltest.segments import SegmentsTest

SHOWN = 12  # rows of a table that are not folded
MOST_ROWS = 200  # of the tables of classes and ranges
MARKS = {"identity": "before"}
GAP = (
    "The gap is what is predicted less what is observed, in percentage points, with an interval of "
    "95 % that holds for any number of events."
)
LABELS = {
    "where": "Where: ",
    "helps": "What helps: ",
    "whole": "All rows: ",
    "groups": "Groups: ",
    "segments": "Segments: ",
}
APPENDIX = ("data", "diagrams", "scores", "comparison", "methods", "reproduction")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a section; `kind` says which of the others it has.

    Attributes
    ----------
    kind : {"headline", "text", "note", "heading", "sheet", "facts", "figure", "formula", "lines"}
    text : str
        Of a paragraph, a note, a heading or a formula.
    sheet : Sheet or None
        A table, or facts as pairs.
    figure : Figure or None
    shown : int
        How many rows of the table are not folded.
    bars : tuple of (low, gap, high)
        Of each row of the table, which a page draws beside it.
    lights : tuple of str
        The colour of each row of the table.
    """

    kind: str
    text: str = ""
    sheet: Sheet | None = None
    figure: Figure | None = None
    shown: int = SHOWN
    bars: tuple[tuple[float, float, float], ...] = ()
    lights: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A section with its key, heading and parts."""

    key: str
    title: str
    blocks: tuple[Block, ...]

    @property
    def is_appendix(self) -> bool:
        """Whether it is behind what a reader signs."""
        return self.key in APPENDIX


def sections(
    content: Content, figures: Sequence[Figure], left_out: Sequence[str], profile: Profile
) -> list[Section]:
    """Return the sections of a report in their order, the answer first."""
    where = "Where it is wrong"
    found = {
        "answer": ("The answer", [*_answer(content)]),
        "within": ("Within a tolerance", [*_within(content.within)]),
        "estimates": (profile.estimates, [*_estimates(content.estimates)]),
        "grades": ("Grades", [*_grades(content.grades)]),
        "decisions": ("Decisions", [*_decisions(figures)]),
        "groups": ("Groups", [*_groups(content, profile)]),
        "where": (where, [*_where(content, profile)]),
        "segments": ("Segments", [*_segments(content.segments)]),
        "about": ("About this validation", [*_about(content)]),
        "tests": ("All tests", [*_tests(content)]),
        "data": ("What was tested", [*_data(content.data)]),
        "diagrams": ("Further diagrams", [*_notes(left_out)]),
        "scores": ("Scores and what they consist of", [*_scores(content.scores)]),
        "comparison": ("After recalibration", [*_comparison(content.comparison)]),
        "methods": ("Methods", [*_methods(content.methods)]),
        "reproduction": ("How to repeat this", [*_reproduction(content)]),
        "signatures": ("Signatures", [*_signatures(content)]),
    }
    for figure in figures:
        found[figure.section][1].append(Block(kind="figure", figure=figure))
    keys = ["answer", *profile.first]
    keys += [key for key in found if key not in keys]
    return [Section(key, found[key][0], tuple(found[key][1])) for key in keys if found[key][1]]


def _notes(notes: Sequence[str]) -> Iterator[Block]:
    for note in notes:
        yield Block(kind="note", text=note)


def _answer(content: Content) -> Iterator[Block]:
    yield Block(kind="headline", text=content.answer.verdict.headline)
    for kind, text in content.answer.verdict.sentences:
        if kind != "answer":
            yield Block(kind="text", text=f"{LABELS.get(kind, '')}{text}")
    for text in tolerance_in_words(content.within):
        yield Block(kind="text", text=f"Tolerance: {text}")
    yield from _notes(content.data.warnings)


# ---- before the places --------------------------------------------------------------------------


def _within(within: Within | None) -> Iterator[Block]:
    if within is None:
        return
    if within.rows:
        size = f"{100 * within.tolerance:.3g} points"
        rows = tuple(
            (
                row.name,
                f"{100 * row.estimate:.1f}",
                short_pvalue(row.within),
                short_pvalue(row.exceeds),
            )
            for row in within.rows
        )
        header = ("error", "points", f"p, at least {size}", f"p, at most {size}")
        closing = (
            (
                "p-values",
                (
                    f"a small one under \u201cat least {size}\u201d shows that the error is "
                    f"smaller, under \u201cat most {size}\u201d that it is larger"
                ),
            ),
        )
        title = "Both hypotheses"
        sheet = Sheet(title=title, header=header, rows=rows, closing=closing)
        yield Block(kind="sheet", sheet=sheet)
    yield from _notes(within.left_out)


def _estimates(estimates: Sequence[Estimate]) -> Iterator[Block]:
    if not estimates:
        return
    rows = tuple(_estimate_row(one) for one in estimates)
    header = ("measure", "value", "95 % interval", "calibrated", "p-value", "")
    sheet = Sheet(title="Estimates", header=header, rows=rows)
    yield Block(kind="sheet", sheet=sheet)


def _estimate_row(one: Estimate) -> tuple[str, ...]:
    value, low, high, ideal = _in_unit(one)
    interval = f"{low} to {high}" if low and high else ""
    pvalue = "" if one.pvalue is None else short_pvalue(one.pvalue)
    return (one.name, value, interval, ideal, pvalue, one.note)


def _in_unit(one: Estimate) -> tuple[str, ...]:
    values = (one.value, one.low, one.high)
    if one.unit == "points":
        value, low, high = (None if v is None else f"{100 * v:.1f}" for v in values)
        ideal = "" if one.ideal is None else f"{100 * one.ideal:g}"
        return (
            f"{value} points".replace("-", "\u2212"),
            *((v or "").replace("-", "\u2212") for v in (low, high)),
            ideal,
        )
    if one.unit == "share":
        texts = ["" if v is None else f"{100 * v:.1f}" for v in values]
        return (f"{texts[0]} %", *texts[1:], "")
    texts = evenly(values, 3)
    return (*texts, "" if one.ideal is None else f"{one.ideal:g}")


def _grades(table: HTestTable | None) -> Iterator[Block]:
    if table is None:
        return
    rows, bars = [], []
    for row, adjusted in zip(table, table.adjusted.tolist(), strict=True):
        if row.counts is None:
            continue
        defaults, n = row.counts.defaults, row.counts.n
        pd = float(str(row.parameters["PD"]))
        found = row.confidence_interval()
        rows.append(
            (
                str(row.group),
                count(n),
                f"{100 * pd:.2f}",
                f"{n * pd:,.1f}",
                count(defaults),
                f"{100 * defaults / n:.2f}",
                f"{100 * found.low:.2f} to {100 * found.high:.2f}",
                short_pvalue(row.pvalue),
                short_pvalue(adjusted),
            )
        )
        bars.append((pd - found.high, pd - defaults / n, pd - found.low))
    header = (
        "grade",
        "obligors",
        "PD, %",
        "expected",
        "defaults",
        "rate, %",
        "95 % of the rate",
        "p-value",
        "adjusted",
    )
    sheet = Sheet(title="Grades of the master scale", header=header, rows=tuple(rows))
    yield Block(kind="sheet", sheet=sheet, shown=25, bars=tuple(bars), lights=table.traffic_lights)
    bounds = table.light_bounds or ()
    if bounds:
        told = ", ".join(
            f"{colour} at {bound:g} or below"
            for colour, bound in zip(("yellow", "orange", "red"), bounds, strict=True)
        )
        yield Block(
            kind="text",
            text="The tests are one-sided: a small p-value, before adjustment, and its light "
            f"({told}, green above) speak of more defaults than the PD says. A green light does "
            "not say that the PD is not too high.",
        )
    for test in table.omnibus:
        yield Block(
            kind="text",
            text=f"All grades together, {test.test}: p = {short_pvalue(test.pvalue)}.".replace(
                "= <", "<"
            ),
        )


def _decisions(figures: Sequence[Figure]) -> Iterator[Block]:
    if any(figure.section == "decisions" for figure in figures):
        yield Block(
            kind="text",
            text="The net benefit of treating where the risk is at least a threshold, in true "
            "positives of each case, beside treating all and none. Where the curve is below "
            "either of these, deciding by the model does harm at that threshold.",
        )


# ---- places -------------------------------------------------------------------------------------


def _groups(content: Content, profile: Profile) -> Iterator[Block]:
    table = content.where.groups
    if table is not None:
        gaps = ranked(content.where.group_gaps)
        ratio = content.data.m == 2
        yield _gap_block("Groups", "group", gaps, content, profile, ratio=ratio)
        for test in table.omnibus:
            yield Block(
                kind="text",
                text=f"All groups together: p = {short_pvalue(test.pvalue)} ({test.test}).".replace(
                    "= <", "<"
                ),
            )
        what = "the event" if content.data.m == 2 else "the confidence"
        yield Block(
            kind="text",
            text=f"{GAP} It is that of {what} in the group as a whole; the p-value is that of "
            f"the test \u201c{table[0].test}\u201d of all errors, adjusted for the groups. Mixed: "
            "the mean is right, and parts of the group are not.",
        )
    yield from _notes(content.where.notes)


def names_places(content: Content) -> bool:
    """Tell whether something is rejected, or speaks against calibration without a level."""
    least = float(content.answer.tests.adjusted.min())
    bound = FIRST_EVIDENCE if content.level is None else content.level
    return least <= bound or any(is_clear(gap, content.level) for gap in content.where.places)


def _where(content: Content, profile: Profile) -> Iterator[Block]:
    if not names_places(content):
        return
    clear = [gap for gap in content.where.places if is_clear(gap, content.level)]
    if not clear:
        yield Block(
            kind="text",
            text="No class and no range of probability stands out by itself from what chance "
            "gives: what the tests see is spread over many of them.",
        )
        return
    m = content.data.m
    kinds = {
        "class": "Classes",
        "range": "Ranges of the predicted probability" if m == 2 else "Ranges of the confidence",
        "class range": "Ranges of the probability of a class",
    }
    for kind, title in kinds.items():
        of_kind = [gap for gap in content.where.places if gap.kind == kind]
        some = (
            [gap for gap in of_kind if is_clear(gap, content.level)]
            if kind == "class range"
            else of_kind
        )
        if some:
            first = "class" if kind != "range" else "range"
            yield _gap_block(title, first, some[:MOST_ROWS], content, profile)
        if kind == "class range" and len(of_kind) > len(some[:MOST_ROWS]):
            yield Block(
                kind="note",
                text=f"{len(of_kind) - len(some[:MOST_ROWS]):,} ranges that do not stand out are "
                "not listed.",
            )
    yield Block(
        kind="text",
        text=f"{GAP} The p-values are adjusted for all {len(content.where.places):,} classes and "
        "ranges together, which the predictions alone define; a direction is named where the "
        f"p-value is {FIRST_EVIDENCE if content.level is None else content.level:g} or less.",
    )


def _gap_block(
    title: str,
    first: str,
    gaps: Sequence[Gap],
    content: Content,
    profile: Profile,
    *,
    ratio: bool = False,
) -> Block:
    """The table of some gaps, the worst first, with a bar for each."""
    parts = any(gap.part for gap in gaps)
    event = gaps[0].kind in {"group", "range"}
    two = content.data.m == 2
    predicted = profile.predicted if event and two else "confidence" if event else "predicted"
    observed = profile.observed if event and two else "accuracy" if event else "observed"
    header = (
        first,
        *(("range",) if parts else ()),
        "direction",
        "gap",
        "95 %",
        "adjusted p",
        "n",
        predicted,
        observed,
        *(("E/O",) if ratio else ()),
    )
    rows = tuple(
        (
            gap.name,
            *((gap.part,) if parts else ()),
            direction(gap, content, profile),
            points(gap.gap),
            span(gap.low, gap.high),
            "" if gap.pvalue is None else short_pvalue(gap.pvalue),
            count(gap.n),
            share(gap.predicted),
            share(gap.observed),
            *((f"{gap.predicted / gap.observed:.2f}" if gap.observed else DASH,) if ratio else ()),
        )
        for gap in gaps
    )
    sheet = Sheet(title=title, header=header, rows=rows, n_text=2 + parts)
    bars = tuple((gap.low, gap.gap, gap.high) for gap in gaps)
    return Block(kind="sheet", sheet=sheet, bars=bars)


def direction(gap: Gap, content: Content, profile: Profile) -> str:
    """Return in a word or two on which side the predictions of a place are off."""
    if not is_clear(gap, content.level):
        return DASH
    if gap.kind == "group" and covers_zero(gap):
        return "mixed"
    if gap.kind in {"class", "class range"}:
        return "too high" if gap.gap > 0 else "too low"
    if content.data.m > 2:
        return "overconfident" if gap.gap > 0 else "underconfident"
    return profile.too_high if gap.gap > 0 else profile.too_low


def _segments(test: SegmentsTest | None) -> Iterator[Block]:
    if test is None:
        return
    yield Block(kind="text", text=segments_reading(test))
    header = (
        "segment",
        "gap",
        f"{100 * test.confidence:g} %",
        "adjusted p",
        "n",
        "predicted",
        "observed",
    )
    rows = tuple(
        (
            row.definition,
            points(-row.gap),
            span(-row.high, -row.low),
            short_pvalue(row.adjusted),
            count(row.n),
            share(row.predicted),
            share(row.observed),
        )
        for row in test
    )
    bars = tuple((-row.high, -row.gap, -row.low) for row in test)
    sheet = Sheet(title="The worst segments", header=header, rows=rows)
    yield Block(kind="sheet", sheet=sheet, bars=bars)
    yield Block(
        kind="text",
        text="The gap is what is predicted less what is observed, in percentage points, with "
        f"Wilson's interval for the segment by itself. Segments have at least {test.min_size} "
        "rows and overlap: a rejected one may be wrong because a part of it is, and the worst of "
        "many has a gap that is too large.",
    )
    yield from _notes(test.notes)


# ---- what is signed -----------------------------------------------------------------------------


def _about(content: Content) -> Iterator[Block]:
    meta = dict(content.meta)
    names = [name for name in meta if name not in (SIGNATURES, *WORDS)]
    if not names:
        return
    facts = [(name.capitalize(), meta[name]) for name in names if name == PERIOD]
    facts += [
        ("Sample adequacy", " ".join(filter(None, (content.adequacy, meta.get(ADEQUACY, "")))))
    ]
    facts += [(name, meta[name]) for name in names if name not in (PERIOD, ADEQUACY, LIMITATIONS)]
    facts += [(name.capitalize(), meta[name]) for name in names if name == LIMITATIONS]
    yield Block(kind="facts", sheet=Sheet(title="Stated by the author", facts=tuple(facts)))


def _signatures(content: Content) -> Iterator[Block]:
    names = signers(dict(content.meta).get(SIGNATURES, ""))
    if names:
        sheet = Sheet(title="Signatures", facts=tuple((name, "") for name in names))
        yield Block(kind="lines", sheet=sheet)


def _tests(content: Content) -> Iterator[Block]:
    table = content.answer.tests
    adjusted = ("adjusted",) if table.correction is not None else ()
    rows = tuple(
        (
            row.test,
            row.lens,
            short_pvalue(row.pvalue),
            *((short_pvalue(value),) if adjusted else ()),
            row.estimate_name,
            f"{row.estimate:.3g}".replace("-", "\u2212"),
        )
        for row, value in zip(table, table.adjusted.tolist(), strict=True)
    )
    header = ("test", "lens", "p-value", *adjusted, "estimate", "value")
    sheet = Sheet(
        title="Tests of calibration",
        header=header,
        rows=rows,
        n_text=2,
        closing=_table_notes(table),
    )
    yield Block(kind="text", text=MEANING)
    yield Block(kind="sheet", sheet=sheet)
    findings = tuple(_findings(table))
    if findings:
        yield Block(kind="heading", text="What the combined tests saw first")
        yield Block(kind="facts", sheet=Sheet(title="Findings", facts=findings))
    if table.level is not None:
        yield Block(
            kind="text",
            text=f"At level {table.level:g}, with adjusted p-values, calibration is rejected by "
            f"{int(table.rejected.sum())} of {len(table)} tests.",
        )
    yield from _notes(content.answer.left_out)


def _findings(table: HTestTable) -> Iterator[tuple[str, str]]:
    """What the component says that is farthest out, where the whole is small."""
    bound = 0.1 if table.level is None else table.level
    for row, value in zip(table, table.adjusted.tolist(), strict=True):
        if row.components is not None and value <= bound:
            first = row.components.rows[0]
            yield row.lens, f"{first.parameters['finding']} ({first.test})"


def _table_notes(table: HTestTable) -> tuple[tuple[str, str], ...]:
    """Each remark on a test once, with the rows that it belongs to."""
    owners: dict[str, list[str]] = {}
    for row in table:
        for note in row.notes:
            owners.setdefault(note, []).append(f"{row.test}, {row.lens}")
    return tuple(
        ("note", f"{_some(rows)}: {note}" if len(rows) < len(table) else note)
        for note, rows in owners.items()
    )


def _some(names: list[str], most: int = 3) -> str:
    shown = "; ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


# ---- appendix -----------------------------------------------------------------------------------


def _data(data: Data) -> Iterator[Block]:
    facts = [
        ("source", data.source),
        ("rows (n)", f"{data.n:,}"),
        ("classes (m)", f"{data.m:,}"),
    ]
    if data.groups:
        facts.append(("groups", f"{len(data.groups):,}"))
    yield Block(kind="facts", sheet=Sheet(title="The data", facts=tuple(facts)))
    total = sum(row.observed for row in data.classes)
    ordered = sorted(data.classes, key=lambda row: -abs(row.observed - row.expected))
    kept = data.classes if data.m <= MOST_ROWS else ordered[:MOST_ROWS]
    rows = tuple(
        (
            str(row.name),
            count(row.observed),
            share(row.observed / total),
            f"{row.expected:,.1f}",
            f"{row.expected - row.observed:+,.1f}".replace("-", "\u2212"),
            count(row.predicted),
        )
        for row in kept
    )
    header = ("class", "observed", "share", "expected", "difference", "predicted")
    closing = (
        (
            "columns",
            (
                "expected is the sum of the probabilities of the class, difference that less "
                "observed; predicted counts the rows where the class has the largest probability"
            ),
        ),
    )
    sheet = Sheet(title="Balance of the classes", header=header, rows=rows, closing=closing)
    yield Block(kind="sheet", sheet=sheet)
    if len(kept) < data.m:
        text = f"{data.m - len(kept):,} classes whose difference is smaller are not listed."
        yield Block(kind="note", text=text)


def _scores(scores: Scores) -> Iterator[Block]:
    rows = tuple(
        (score.name, value, expected, f"{low} to {high}" if low and high else "")
        for score in scores.scores
        for value, expected, low, high in [
            evenly((score.value, score.expected, score.low, score.high), 4)
        ]
    )
    header = ("score", "value", "if calibrated", "95 % of values")
    closing = (
        (
            "if calibrated",
            (
                "the mean, and the range by the central limit theorem, over labels redrawn from "
                "the probabilities; a calibration error is not 0 for a calibrated model either"
            ),
        ),
    )
    sheet = Sheet(title="Scores", header=header, rows=rows, closing=closing)
    yield Block(kind="sheet", sheet=sheet)
    columns = [
        evenly([getattr(part.parts, name) for part in scores.parts], 4)
        for name in ("score", "miscalibration", "discrimination", "uncertainty")
    ]
    names = [part.lens for part in scores.parts]
    title = "Brier = miscalibration \u2212 discrimination + uncertainty"
    yield Block(
        kind="sheet",
        sheet=Sheet(
            title=title,
            header=("lens", "Brier", "MCB", "DSC", "UNC"),
            rows=tuple(zip(names, *columns, strict=True)),
            closing=(
                (
                    "parts",
                    (
                        "by the isotonic fit of the labels (CORP; Dimitriadis, Gneiting, Jordan "
                        "2021): MCB is what recalibration could gain on these data, DSC what the "
                        "predictions gain on the class frequencies, UNC the score of these"
                    ),
                ),
            ),
        ),
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
    fields = ("log_loss", "brier", "ece", "difference", "stderr")
    columns = [evenly([getattr(row, name) for row in comparison.rows], 4) for name in fields]
    tested = [[_pvalue(row.pvalue) for row in comparison.rows]]
    adjusted = ("adjusted",) if comparison.correction else ()
    if adjusted:
        tested.append([_pvalue(row.adjusted) for row in comparison.rows])
    header = ("calibrator", "p-value", *adjusted, "log loss", "Brier", "ECE", "difference", "s.e.")
    rows = tuple(zip(names, *tested, *columns, strict=True))
    closing = (("difference", "of the log loss, from that before, with its standard error"),)
    yield Block(
        kind="sheet",
        sheet=Sheet(title="Rows that were held out", header=header, rows=rows, closing=closing),
    )
    yield from _notes(comparison.left_out)


def _pvalue(value: float | None) -> str:
    return "" if value is None else short_pvalue(value)


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
