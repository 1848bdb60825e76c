"""Where the probabilities are wrong: ranges, classes, groups and segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest.errors import NotApplicable
from caltest.htests.places import Search, Values, over
from caltest.measures.gap import Gap
from caltest.numerics.joint import step_down, tail_scores
from caltest.predictions import Predictions
from caltest.render import digits_of_gap, named, share
from caltest.reporting import about, content, reading
from caltest.reporting.content import Block, Content, Differences, Place, Settings
from caltest.reporting.reading import equals, percent
from caltest.results import HTestTable, verdict, wording
from caltest.segments import SegmentsTest
from caltest.segments.inputs import Given
from caltest.segments.null import SegmentSettings
from caltest.segments.run import test_source
from caltest.types import Floats

if TYPE_CHECKING:
    from caltest.reporting.source import Source
    from caltest.segments.result import Segment

Named = tuple[int, int, int, str, str, str]  # aspect, first part, the one after; kind, name, part

CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
FEWEST = 20  # rows of a range
SHARE = 0.05  # of all rows, that a range has at least


def judged(search: Search, n_resamples: int, seed: int) -> tuple[Place, ...]:
    """Compare the parts of a search, and its classes as a whole, the worst first.

    The p-values are adjusted for all of them (Westfall and Young, step-down).
    """
    named = list(_named(search))
    ends = np.array([one[1:3] for one in named]).T
    sums = over(search.sums(n_resamples, seed), *ends).T
    scale = float(search.mass[: search.aspects[0].ends.size + 1].sum())
    adjusted = step_down(np.vstack([tail_scores(row, scale, two_sided=True) for row in sums]))
    places = []
    for (a, first, stop, kind, name, part), pvalue in zip(named, adjusted.tolist(), strict=True):
        aspect = search.aspects[a]
        gap = search.gap(aspect.between(first, stop), aspect.inside(first, stop))
        places.append(place_of(gap, kind, name, part, pvalue))
    return ranked(places)


def _named(search: Search) -> Iterator[Named]:
    """Yield the ranges of the event or the confidence, then the classes and their ranges."""
    for a, aspect in enumerate(search.aspects):
        start, stop = aspect.start, aspect.start + aspect.ends.size + 1
        names, event = range_names((0.0, *aspect.ends.tolist(), 1.0)), aspect.where.event or ""
        if a > 0:
            yield a, start, stop, "class", event, ""
        if a == 0 or len(names) > 1:
            for number, name in enumerate(names, start):
                spot = ("range", name, "") if a == 0 else ("class range", event, name)
                yield a, number, number + 1, *spot


def round_cuts(values: Values, _most: int = 0) -> Floats:
    """Return the round ends between ranges that have enough of the rows each, (E,).

    They depend on the predictions alone.
    """
    upto = np.append(0, np.cumsum(values.rows))
    least, ends, start = max(FEWEST, SHARE * upto[-1]), [], 0
    for cut in CUTS:
        stop = upto[np.searchsorted(values.mean, cut, side="right")]
        if stop - start >= least and upto[-1] - stop >= least:
            ends.append(cut)
            start = stop
    return np.array(ends)


def range_names(ends: Sequence[float]) -> tuple[str, ...]:
    """Return the ranges in words.

    Examples
    --------
    >>> range_names((0.0, 0.2, 0.9, 1.0))
    ('up to 20 %', '20 to 90 %', 'above 90 %')
    """
    if len(ends) == 2:
        return ("all rows",)
    inner = [f"{percent(low)} to {percent(high)} %" for low, high in pairwise(ends[1:-1])]
    return (f"up to {percent(ends[1])} %", *inner, f"above {percent(ends[-2])} %")


def place_of(found: Gap, kind: str, name: str, part: str, pvalue: float) -> Place:
    """Return a gap under the name that it has on the page."""
    measured = {field.name: getattr(found, field.name) for field in fields(Gap)}
    return Place(**measured | {"kind": kind, "name": name, "part": part, "pvalue": pvalue})


def group_places(table: HTestTable) -> tuple[Place, ...]:
    """Return the gap of each group of a table, in its order; of the confidence for many classes.

    A group that is right on average has its worst range as its part, or else what its test found.
    """
    places = []
    for row, adjusted in zip(table.rows, table.adjusted.tolist(), strict=True):
        if row.size is None:
            continue
        worst, part = verdict.worst_range(row), "" if row.size.is_clear else row.finding
        if worst is not None:
            part = f"{worst.name} too {'high' if worst.gap < 0 else 'low'}"
        places.append(place_of(row.size, "group", named(row.group), part, adjusted))
    return tuple(places)


def ranked(places: Iterable[Place]) -> tuple[Place, ...]:
    """Sort places: the smallest adjusted p-value first, then those that are surely the largest."""

    def rank(place: Place) -> tuple[float, float, float]:
        surely = max(0.0, place.low, -place.high)
        return 1.0 if place.pvalue is None else place.pvalue, -surely, -abs(place.gap)

    return tuple(sorted(places, key=rank))


def is_rejected(place: Place, level: float | None) -> bool:
    """Tell whether the p-value of a place is at most the level, or 0.05, as in the verdict."""
    return place.pvalue is not None and place.pvalue <= (verdict.SPEAKS if level is None else level)


def is_named(place: Place, level: float | None) -> bool:
    """Tell whether a place is named as wrong: by its p-value and its interval."""
    return is_rejected(place, level) and place.is_clear


# ---- Where predictions and labels differ: by class, region of probability, group and segment ----

MOST_SEGMENTS = 50
WHAT = {2: "event", 0: "coverage of intervals"}
GAP_COLUMNS = ("gap", "95 %", "adjusted p", "n")
GAP = (
    "The gap is what is observed less what is predicted, in percentage points, with an interval of "
    "95 % that holds for any number of events, each by itself."
)


def find_where(source: Source, settings: Settings) -> Differences:
    """Compare classes and ranges, and test each group."""
    groups: HTestTable | None = None
    remarks: tuple[str, ...] = ()
    if settings.by:
        try:
            groups = source.groups(settings)
        except NotApplicable as error:
            remarks = (f"Groups are not tested: {error}",)
    settings.progress("classes and ranges")
    search: Any = source.search()  # None of forecasts
    places = () if search is None else judged(search, settings.n_resamples, settings.seed)
    if groups is None:
        return Differences(source.lens, places, notes=remarks)
    return Differences(source.lens, places, groups, group_places(groups), tuple(groups.notes))


def find_segments(predictions: Predictions, columns: Given, settings: Settings) -> SegmentsTest:
    """Test the segments of some columns."""
    settings.progress("segments")
    draws = settings.of_draws
    own = SegmentSettings(seed=draws.pop("rng"), keep=MOST_SEGMENTS, **draws)
    return test_source(columns, predictions, own)


def group_blocks(report: Content, profile: about.Profile) -> Iterator[Block]:
    """Yield the table of groups.

    Yields
    ------
    Block
        Of the section.
    """
    tested = report.where.groups
    if tested is not None:
        yield _table("Groups", ranked(report.where.group_places), report, profile)
        said = [f"All groups together: p {equals(t.pvalue)} ({t.test})." for t in tested.omnibus]
        if (differ := tested.difference) is not None:
            said.append(f"That groups differ at the same predictions: p {equals(differ.pvalue)}.")
        if (both := tested.together) is not None:
            which = "All groups together or the worst, whichever is more extreme"
            said.append(f"{which}: p {equals(both)}.")
        yield from map(content.paragraph, said)
        yield content.paragraph(
            f"{GAP} In the verdict that of the worst group holds for all together. The gap is that "
            f"of the {WHAT.get(report.data.m, 'confidence')} in the group as a whole. "
            f"The p-value is that of the test \u201c{tested[0].test}\u201d, which sees "
            "other errors too, adjusted for the groups: of a group that is right on average the "
            "direction is that of its worst range."
        )
    yield from content.notes(report.where.notes)


def place_blocks(report: Content, profile: about.Profile) -> Iterator[Block]:
    """Yield the tables of classes and ranges, where something is rejected.

    Yields
    ------
    Block
        Of the section.
    """
    places, m, level = report.where.places, report.data.m, report.level
    named = any(is_named(place, level) for place in places)
    bound = wording.FIRST_EVIDENCE if level is None else level
    if not m or (not named and report.answer.tests[0].pvalue > bound):
        return
    if not named:
        text = (
            "No class and no range of probability stands out by itself from what chance gives: "
            "what the tests see is spread over many of them."
        )
        if any(place.is_clear for place in report.answer.verdict.places):
            text = (
                "The worst place is named in the answer. Of classes, and of ranges that end at "
                "round numbers, none stands out by itself from what chance gives."
            )
        yield content.paragraph(text)
        return
    kinds = {
        "class": "Classes",
        "range": "Ranges of the predicted probability" if m == 2 else "Ranges of the confidence",
        "class range": "Ranges of the probability of a class",
    }
    for kind, title in kinds.items():
        of_kind = [place for place in places if place.kind == kind]
        shown = [place for place in of_kind if kind != "class range" or is_named(place, level)]
        kept = shown[: content.MOST_ROWS]
        if kept:
            yield _table(title, kept, report, profile)
        if kind == "class range" and len(of_kind) > len(kept):
            left = len(of_kind) - len(kept)
            yield from content.notes([f"{left:,} ranges that do not stand out are not listed."])
    yield content.paragraph(
        f"{GAP} The p-values are adjusted for all classes and ranges together, {len(places):,} in "
        "number, which the predictions alone define, and a range holds its upper end, not its "
        "lower one; a direction is named where the p-value is "
        f"{verdict.SPEAKS if level is None else level:g} or less and the interval leaves out 0."
    )


def _table(title: str, places: Sequence[Place], report: Content, profile: about.Profile) -> Block:
    """Return the table of places of one kind, the worst first, with a bar for each."""
    kind, two = places[0].kind, report.data.m <= 2
    of_class, ratio = kind == "class range", kind == "group" and report.data.m == 2
    heads = ["predicted", "observed"]
    if kind in {"group", "range"}:
        heads = [profile.predicted, profile.observed] if two else ["confidence", "accuracy"]
    header = [kind.split()[0], *["range"] * of_class, "direction", *GAP_COLUMNS, *heads]
    rows = []
    for place in places:
        row = [place.name, *[place.part] * of_class, direction(place, report, profile)]
        over = f"{place.predicted / place.observed:.2f}" if place.observed else reading.DASH
        rows.append([*row, *_cells(place, place.pvalue), *[over] * ratio])
    header += ["E/O"] * ratio
    return content.table(title, header, rows, n_text=2 + of_class, bars=_bars(places))


def _cells(place: Place | Segment, pvalue: float | None) -> tuple[str, ...]:
    """Write what tables have of every place."""
    digits = digits_of_gap(place)
    gap = reading.points(place.gap, digits), reading.span(place.low, place.high, digits)
    shares = (f"{100 * one:.{digits}f} %" for one in (place.predicted, place.observed))
    return (*gap, reading.short_pvalue(pvalue), reading.count(place.n), *shares)


def _bars(places: Iterable[Place | Segment]) -> tuple[tuple[float, float, float], ...]:
    return tuple((place.low, place.gap, place.high) for place in places)


def direction(place: Place, report: Content, profile: about.Profile) -> str:
    """Return in a few words on which side the predictions of a place are off."""
    if not is_rejected(place, report.level):
        return reading.DASH
    if not place.is_clear:
        return place.part if place.kind == "group" and place.part else reading.DASH
    if place.kind in {"class", "class range"}:
        return "too high" if place.gap < 0 else "too low"
    if report.data.m > 2:
        return "overconfident" if place.gap < 0 else "underconfident"
    return profile.too_high if place.gap < 0 else profile.too_low


def segments_reading(test: SegmentsTest) -> str:
    """Return in words what the test of segments found."""
    worst = test.rows[0]
    often = reading.frequency(test.pvalue)
    if test.pvalue <= (1 + 1e-9) / (test.n_resamples + 1):
        often = f"at most {often}"
    text = (
        f"Were the probabilities right in all {sum(test.n_segments):,} segments, the worst of them "
        f"would be as far off as the worst one here in {often} data sets like this one. Here that "
        f"is the segment \u201c{worst.definition}\u201d, where {share(worst.predicted)} was "
        f"predicted and {share(worst.observed)} of {worst.n:,} rows observed."
    )
    if test.level is None:
        return text
    count = test.n_rejected or 0
    number = {0: "no", 1: "one"}.get(count, f"{count:,}")
    rejected = f"{number} segment{'s are' if count > 1 else ' is'} rejected"
    return f"{text} At level {test.level:g}: {rejected}."


def segment_blocks(test: SegmentsTest) -> Iterator[Block]:
    """Yield the worst segments.

    Yields
    ------
    Block
        Of the section.
    """
    yield content.paragraph(segments_reading(test))
    rows = [(row.definition, *_cells(row, row.adjusted)) for row in test]
    header = ("segment", *GAP_COLUMNS, "predicted", "observed")
    yield content.table("The worst segments", header, rows, bars=_bars(test))
    yield content.paragraph(
        f"{GAP} Segments have at least {test.min_size} rows and overlap: a rejected one may be "
        "wrong because a part of it is, and the worst of many has a gap that is too large."
    )
    yield from content.notes(test.notes)
