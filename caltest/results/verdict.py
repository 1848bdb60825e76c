"""The verdict on a model: answer, direction and size, where, what helps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from caltest import render
from caltest.errors import NotApplicable
from caltest.results.printable import Result, plain
from caltest.validation import check_schema

if TYPE_CHECKING:
    from caltest.measures.gap import Gap
    from caltest.predictions import Predictions
    from caltest.render import Sheet
    from caltest.results.detectable import Detectable
    from caltest.results.htest import HTest
    from caltest.results.table import HTestTable
    from caltest.segments import SegmentsTest

SPEAKS = 0.05  # largest adjusted p-value of a place that is named, where no level was given
MOST_PLACES = 3
FEW_EVENTS = 100
OF_CLASSES = "class-frequencies"  # the component that no temperature disturbs much


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verdict(Result):
    """What a person can act on: the answer, direction and size, where, and what helps.

    Attributes
    ----------
    answer : str
        Without a level "no", "weak", "some" or "strong evidence", or "too few rows"; with one "not
        calibrated" or "not rejected"; with a tolerance "within tolerance", "beyond tolerance" or
        "not shown within tolerance"; of a one-sided test "too low".
    headline : str
        The answer with direction and size, the first line of the print of the result.
    pvalue : float
        Of the answer.
    level : float or None
        The significance level, if the caller gave one.
    n, m : int
        Rows and classes.
    size : Gap or None
        Mean prediction and observed share, with the interval of their difference.
    places : tuple of Gap
        Where predictions and labels differ, the worst first; empty where nothing is rejected.
    sentences : tuple of (str, str)
        What prints, a paragraph each: pairs of "answer", "size", "where", "helps", "detectable" or
        "note" and the text.
    data_name : str
        What was tested.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
    >>> verdict = ct.test_calibration(data, rng=1).verdict()
    >>> verdict.answer, verdict.size.is_clear
    ('strong evidence', True)
    """

    schema: ClassVar[str] = "caltest/verdict/1"

    answer: str
    headline: str
    pvalue: float
    level: float | None
    n: int
    m: int
    size: Gap | None
    places: tuple[Gap, ...]
    sentences: tuple[tuple[str, str], ...]
    data_name: str

    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return plain Python values that JSON can hold."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild the verdict from what `to_dict` or parsed JSON gave."""
        from caltest.measures.gap import Gap

        checked = dict(check_schema(values, cls.schema))
        if checked["size"] is not None:
            checked["size"] = Gap(**checked["size"])
        checked["places"] = tuple(Gap(**place) for place in checked["places"])
        checked["sentences"] = tuple((kind, text) for kind, text in checked["sentences"])
        return cls(**checked)

    def _sheet(self) -> Sheet:
        return render.sheet_of_verdict(self)


def verdict_of_test(
    test: HTest, n_jobs: int | None = None, *, pvalue: float | None = None
) -> Verdict:
    """Return the verdict of one test; `pvalue` may be adjusted for other questions."""
    p = test.pvalue if pvalue is None else pvalue
    claim = render.claim_of(test)
    answer = render.answer(p, test.level, claim, few=render.is_too_small(test.size))
    found = p <= (SPEAKS if test.level is None else test.level) and answer != "within tolerance"
    places = worst_places(test) if found else ()
    sentences = [("answer", render.headline(test, p))]
    if found:
        sentences += [("size", text) for text in _coefficients(test, n_jobs)]
        sentences += [("where", f"{render.place_in_words(place)}.") for place in places]
        sentences += [("helps", text) for text in _remedy(test)]
    elif claim is render.CALIBRATION:
        sentences += [("detectable", text) for text in _detectable(test, n_jobs)]
    return Verdict(
        answer=answer,
        headline=sentences[0][1],
        pvalue=p,
        level=test.level,
        n=test.n,
        m=test.m,
        size=test.size,
        places=places,
        sentences=tuple(sentences),
        data_name=test.data_name,
    )


def verdict_of_table(table: HTestTable, *, pvalue: float | None = None) -> Verdict:
    """Return the verdict of several tests; `pvalue` may be adjusted for other questions."""
    p = render.pvalue_of_table(table) if pvalue is None else pvalue
    worst = table.rows[render.worst_row(table)]
    few = all(render.is_too_small(row.size) for row in table)
    places = tuple(_places_of_rows(table))
    sentences = [("answer", render.headline_of_table(table, p))]
    sentences += [("where", f"{render.place_in_words(place)}.") for place in places]
    return Verdict(
        answer=render.answer(p, table.level, render.claim_of(worst), few=few),
        headline=sentences[0][1],
        pvalue=p,
        level=table.level,
        n=sum(row.n for row in table)
        if render.noun_of(table.rows) in {"groups", "grades"}
        else worst.n,
        m=worst.m,
        size=worst.size,
        places=places,
        sentences=tuple(sentences),
        data_name=worst.data_name,
    )


def verdict_of_segments(test: SegmentsTest, *, pvalue: float | None = None) -> Verdict:
    """Return the verdict on segments; `pvalue` may be adjusted for other questions."""
    p = test.pvalue if pvalue is None else pvalue
    places = tuple(_places_of_segments(test))
    sentences = [("answer", render.headline_of_segments(test, p))]
    sentences += [("where", f"{render.place_in_words(place)}.") for place in places]
    return Verdict(
        answer=render.answer(p, test.level, render.CALIBRATION),
        headline=sentences[0][1],
        pvalue=p,
        level=test.level,
        n=test.n,
        m=test.m,
        size=None,
        places=places,
        sentences=tuple(sentences),
        data_name=test.data_name,
    )


def together(parts: Sequence[tuple[str, Verdict]], recalibrated: str | None) -> Verdict:
    """Make one verdict of several on the same rows, whose p-values are adjusted for each other.

    Parameters
    ----------
    parts : sequence of (str, Verdict)
        What each is about, "whole", "groups" or "segments", in this order.
    recalibrated : str or None
        What recalibration gives, in place of the line of code.
    """
    _, lead = min(parts, key=lambda part: part[1].pvalue)
    whole = parts[0][1]
    sentences = [("answer", lead.headline)]
    for kind, part in parts:
        if part is not lead:
            sentences.append((kind, part.headline))
        told = [pair for pair in part.sentences[1:] if recalibrated is None or pair[0] != "helps"]
        sentences += [pair for pair in told if lead is whole or pair[0] != "detectable"]
    if recalibrated is not None:
        sentences.append(("helps", recalibrated))
    places = tuple(place for _, part in parts for place in part.places)
    return replace(lead, n=whole.n, size=whole.size, places=places, sentences=tuple(sentences))


# ---- where --------------------------------------------------------------------------------------


def worst_places(test: HTest) -> tuple[Gap, ...]:
    """Return the classes and ranges whose adjusted p-value is at most the level, or 0.05."""
    bound = SPEAKS if test.level is None else test.level
    found = (place for place in test.places if place.is_clear and (place.pvalue or 0.0) <= bound)
    return tuple(found)[:MOST_PLACES]


def _places_of_rows(table: HTestTable) -> Iterator[Gap]:
    """Yield the rows of a table that are rejected, the worst first."""
    bound = SPEAKS if table.level is None else table.level
    kind = {"groups": "group", "grades": "group", "classes": "class"}.get(
        render.noun_of(table.rows), "test"
    )
    rows = sorted(zip(table.adjusted.tolist(), table.rows, strict=True), key=lambda pair: pair[0])
    for adjusted, row in rows:
        if adjusted <= bound and row.size is not None:
            name = render.name_of(row, table.rows)
            own = next((place for place in row.places if place.is_clear), row.size)
            if row.size.is_clear or own is row.size:
                yield replace(row.size, kind=kind, name=name, pvalue=adjusted)
            else:
                yield replace(own, kind=kind, name=f"{name}, {own.name}", pvalue=adjusted)


def _places_of_segments(test: SegmentsTest) -> Iterator[Gap]:
    """Yield the worst of the segments that are rejected."""
    from caltest.measures.gap import Gap

    bound = SPEAKS if test.level is None else test.level
    for row in [row for row in test.rows if row.adjusted <= bound][:MOST_PLACES]:
        yield Gap(
            kind="segment",
            name=row.definition,
            n=row.n,
            predicted=row.predicted,
            observed=row.observed,
            low=-row.high,
            high=-row.low,
            deviation=abs(row.gap / row.z) if row.z else 0.0,
            pvalue=row.adjusted,
        )


# ---- how large, what helps, what could have been found ------------------------------------------


def _coefficients(test: HTest, n_jobs: int | None) -> Iterator[str]:
    """Yield the number of events expected, and the slope with its interval, of two classes.

    Yields
    ------
    str
        A sentence.
    """
    if test.evidence is None or test.size is None or test.size.kind != "event":
        return
    from caltest.intervals import choose
    from caltest.measures.recalibration.calibration_slope import CalibrationSlope

    seen, slope = test.evidence.seen, CalibrationSlope()
    method = choose(slope, "cluster" if seen.has_dependence else None)
    try:
        ends = method.compute(
            slope,
            seen,
            level=0.95,
            n_resamples=999,
            seed=test.evidence.seed,
            n_jobs=n_jobs,
        )
    except NotApplicable:
        return
    yield render.slope_in_words(test.size, ends.estimate, ends.low, ends.high)


def _remedy(test: HTest) -> Iterator[str]:
    """Yield the line of code that fits the map which is the first to try.

    Yields
    ------
    str
        A sentence.
    """
    if test.evidence is None or render.claim_of(test) is not render.CALIBRATION:
        return
    seen = test.evidence.seen
    yield render.remedy_in_words(_first_map(test, seen))


def _first_map(test: HTest, seen: Predictions) -> str:
    """Choose by the number of rows, and by what was found: one factor, or classes as well."""
    if seen.m == 2:
        few = min(seen.labels.sum(), seen.n - seen.labels.sum()) < FEW_EVENTS
        return "PlattScaling" if few else "BetaCalibrator"
    if seen.n < 10 * seen.m or not _finds_classes(test):
        return "TemperatureScaling"
    return "DirichletCalibrator" if seen.n >= 100 * seen.m * seen.m else "VectorScaling"


def _finds_classes(test: HTest) -> bool:
    """Tell whether classes occur more or less often than predicted."""
    if test.components is None:
        return False
    pairs = zip(test.components.rows, test.components.adjusted.tolist(), strict=True)
    return any(row.test == OF_CLASSES and p <= SPEAKS for row, p in pairs)


def _detectable(test: HTest, n_jobs: int | None) -> Iterator[str]:
    from caltest.results.detectable import detectable

    try:
        found: Sequence[Detectable] = detectable(test, n_jobs)
    except NotApplicable:
        return
    yield render.detectable_in_words(found, test.n)
