"""The sections of a report in their order, the answer first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from caltest.reporting.about import Profile, about_blocks, sign_off_blocks
from caltest.reporting.content import Block, Content, Figure, Section, notes, paragraph
from caltest.reporting.estimates import estimate_blocks, score_blocks
from caltest.reporting.limits import grade_blocks, within_blocks
from caltest.reporting.methods import method_blocks
from caltest.reporting.reading import LEAST, MINUS, equals
from caltest.reporting.recalibrated import comparison_blocks
from caltest.reporting.tested import data_blocks, test_blocks
from caltest.reporting.where import group_blocks, place_blocks, segment_blocks
from caltest.results.verdict import SPEAKS
from caltest.results.wording import FIRST_EVIDENCE, capital

LABELS = {
    "where": "Worst place: ",
    "helps": "What helps: ",
    "detectable": "Power: ",
    "whole": "All rows: ",
    "groups": "Groups: ",
    "segments": "Segments: ",
    "also": "Also: ",
}
NET_BENEFIT = (
    "The net benefit of treating where the risk is at least a threshold, in true positives of each "
    "case, beside treating all and none. Where the curve is below either of these, deciding by the "
    "model does harm at that threshold."
)


def sections(
    content: Content, figures: Sequence[Figure], left_out: Sequence[str], profile: Profile
) -> list[Section]:
    """Return the sections of a report in their order, the answer first."""
    decides = any(figure.section == "decisions" for figure in figures)
    found = {
        "answer": ("The answer", [*_card(content)]),
        "details": ("More on the answer", [*_details(content)]),
        "within": ("Within a tolerance", [*within_blocks(content.within)]),
        "estimates": (profile.estimates, [*estimate_blocks(content.estimates)]),
        "scores": ("Discrimination and scores", [*score_blocks(content.scores)]),
        "grades": ("Grades", [*grade_blocks(content.grades)]),
        "decisions": ("Decisions", [paragraph(NET_BENEFIT)] if decides else []),
        "groups": ("Groups", [*group_blocks(content, profile)]),
        "where": ("Where it is wrong", [*place_blocks(content, profile)]),
        "segments": ("Segments", [*segment_blocks(content.segments)]),
        "about": ("About this validation", [*about_blocks(content)]),
        "tests": ("All tests", [*test_blocks(content)]),
        "data": ("What was tested", [*data_blocks(content.data)]),
        "diagrams": ("Further diagrams", [*notes(left_out)]),
        "comparison": ("After recalibration", [*comparison_blocks(content.comparison)]),
        "methods": ("Methods", [*method_blocks(content.methods)]),
        "signatures": ("Sign-off", [*sign_off_blocks(content)]),
    }
    for figure in figures:
        found[figure.section][1].append(Block(kind="figure", figure=figure))
    keys = ["answer", "details", *profile.first]
    keys += [key for key in found if key not in keys]
    return [Section(key, found[key][0], tuple(found[key][1])) for key in keys if found[key][1]]


def _card(content: Content) -> Iterator[Block]:
    """Yield at most five lines; a tolerance that was tested takes the place of the power.

    Yields
    ------
    Block
        A line.
    """
    (_, first), *others = content.answer.verdict.card
    yield Block(kind="headline", text=_typeset(first))
    tested = [] if content.within is None else content.within.sentences
    for kind, text in others:
        if not (tested and kind == "detectable"):
            yield _line(kind, text)
    for text in tested:
        yield paragraph(f"Tolerance: {text}")


def _details(content: Content) -> Iterator[Block]:
    verdict, tested = content.answer.verdict, content.within is not None
    for kind, text in verdict.sentences:
        is_told = kind == "note" or (kind, text) in verdict.card
        if not is_told or (tested and kind == "detectable"):
            yield _line(kind, text)
    table, pvalue = content.answer.tests, verdict.pvalue
    least = float(table.adjusted.min())
    bound, speaks = (FIRST_EVIDENCE, SPEAKS) if table.level is None else (table.level, table.level)
    if pvalue > bound and least <= speaks:  # another test rejects where the answer does not
        row = table[int(table.adjusted.argmin())]
        text = (
            f"By itself {row.test} (lens {row.lens}, adjusted p {equals(least)}) speaks against "
            f"calibration; the answer is that of {table[0].test}, the first test."
        )
        yield from notes([text])
    told = [f"{capital(text)}." for kind, text in verdict.sentences if kind == "note"]
    yield from notes([*told, *content.data.warnings])


def _line(kind: str, text: str) -> Block:
    return paragraph(_typeset(f"{LABELS.get(kind, '')}{text}"))


def _typeset(text: str) -> str:
    """Write minus signs before numbers as such, and small p-values as the page does.

    Examples
    --------
    >>> _typeset("gap 0.4 points, -1.8 to 2.5; log-odds of p-values")
    'gap 0.4 points, \u22121.8 to 2.5; log-odds of p-values'
    """
    text = text.replace(f"< {LEAST:.0e}", f"< {LEAST:g}")
    return re.sub(r"(?<![\w.])-(?=\d)", MINUS, text)
