"""What was tested: the plan of the tests, their table, and the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from caltest.errors import NotApplicable
from caltest.htests import DEFAULT
from caltest.htests import REGISTRY as TESTS
from caltest.htests.combine import adjusted_rows
from caltest.lenses import Classwise, Confidence, Cumulative, Lens, Strong
from caltest.measures import Measure
from caltest.nulls.cluster import Clusters
from caltest.nulls.exact import bind_cells
from caltest.predictions import Predictions
from caltest.reporting import content
from caltest.reporting.content import (
    Answer,
    Block,
    ClassCount,
    Data,
    RecalibrationContent,
    Settings,
)
from caltest.reporting.reading import DASH, MEANING, MINUS, count, share, short_pvalue, significant
from caltest.results import HTest, HTestTable
from caltest.results.verdict import Verdict, together
from caltest.segments import SegmentsTest
from caltest.sources import count_rows
from caltest.verdicts import adjusted_verdicts, verdict_of

if TYPE_CHECKING:
    from caltest.reporting.source import Source


def table_of(rows: list[HTest], settings: Settings) -> HTestTable:
    """Adjust the p-values of all rows together."""
    adjusted, name = adjusted_rows(rows, settings.correction)
    return HTestTable(tuple(rows), name, adjusted, level=settings.level)


def test_blocks(answer: Answer) -> Iterator[Block]:
    """Yield all tests.

    Yields
    ------
    Block
        Of the section.
    """
    tested = answer.tests
    adjusted = ("adjusted",) if tested.correction is not None else ()
    owners: dict[str, list[str]] = {}
    rows, findings = [], []
    bound = 0.1 if tested.level is None else tested.level
    for row, value in zip(tested, tested.adjusted.tolist(), strict=True):
        pvalues = [short_pvalue(one) for one in (row.pvalue, value)[: 1 + len(adjusted)]]
        estimate = f"{row.estimate_name} {significant(row.estimate)}"
        rows.append((row.test, row.lens, *pvalues, estimate))
        if row.components is not None and value <= bound:  # the one that is farthest out
            first = row.components.rows[0]
            findings.append((row.lens, f"{first.parameters['finding']} ({first.test})"))
        for note in row.notes:
            owners.setdefault(note, []).append(f"{row.test}, {row.lens}")
    header = ("test", "lens", "p-value", *adjusted, "estimate")
    yield content.paragraph(MEANING)
    yield content.paragraph(
        f"The answer is that of {tested[0].test}, the first of them, with its own p-value, "
        "adjusted for groups and segments where there are some but not for the other tests."
    )
    closing = []
    for note, names in owners.items():  # each once, with the rows that it belongs to
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        whose = "" if len(names) == len(tested) else f"{'; '.join(names[:3])}{more}: "
        closing.append(("note", f"{whose}{note}"))
    yield content.table("Tests of calibration", header, rows, n_text=2, closing=tuple(closing))
    if findings:
        yield Block(kind="heading", text="What the combined tests saw first")
        yield content.facts("Findings", findings)
    if tested.level is not None:
        yield content.paragraph(
            f"At level {tested.level:g}, with adjusted p-values, calibration is rejected by "
            f"{int(tested.rejected.sum())} of {len(tested)} tests."
        )
    yield from content.notes(answer.left_out)


# Limits chosen so that each part takes about 10 s of one core with 999 resamples.
ALL_PAIRS = 2e9  # n^2 m: pairs of rows, times classes
LINE_ROWS = 2e6  # n times the number of classes that are tested one by one
MOST_CLASSES = 20
USUAL = (DEFAULT, "skce")


class TestPlan(NamedTuple):
    """The tests to be made, each with its lens, and remarks on those that are not."""

    entries: tuple[tuple[str | Measure, str | Lens], ...]
    notes: tuple[str, ...] = ()


def default_plan(predictions: Predictions, further: Sequence[str]) -> TestPlan:
    """Choose tests by what they cost, never by the labels, so that their p-values stay valid.

    `further` are those of two classes after the default one.
    """
    n, m, notes = predictions.n, predictions.m, []
    if m == 2:
        return TestPlan(tuple((test, "strong") for test in (DEFAULT, *further)))
    entries: list[tuple[str, str | Lens]] = [(DEFAULT, "strong"), ("skce", "strong")]
    if n * n * m > ALL_PAIRS:
        notes = [f"The SKCE of all pairs of {n:,} rows would take too long under the strong lens."]
        entries.pop()
    entries += [(test, "confidence") for test in ("skce", "ece")]
    chosen = frequent_classes(predictions)
    names = predictions.classes.tolist()
    if predictions.ordinal:
        entries += [(DEFAULT, Cumulative(names[k])) for k in chosen if k < m - 1]
    else:
        entries += [(DEFAULT, Classwise(names[k])) for k in chosen]
    if len(chosen) < m:
        notes.append(
            f"{m - len(chosen):,} of {m:,} classes are not tested one by one, to keep the time "
            "short and the adjustment small. The tested ones have the largest expected number of "
            "rows, a choice that does not depend on the labels."
        )
    return TestPlan(tuple(entries), tuple(notes))


def frequent_classes(predictions: Predictions) -> list[int]:
    """Return the codes of the classes that are taken one by one, in the order of the columns.

    They have the largest sums of probabilities, which do not see the labels.
    """
    count = int(min(predictions.m, MOST_CLASSES, max(1, LINE_ROWS // predictions.n)))
    return sorted(np.argsort(-predictions.probs.sum(axis=0), kind="stable")[:count].tolist())


def plan_of(
    predictions: Predictions,
    tests: Sequence[str | Measure] | None,
    lenses: Sequence[str | Lens] | None,
    further: Callable[[int], Sequence[str]],
) -> TestPlan:
    """Return what was asked for, every test under every lens, or the default plan."""
    if tests is None and lenses is None:
        return default_plan(predictions, further(predictions.m))
    usual = ["strong"] if predictions.m == 2 else ["strong", "confidence"]
    return TestPlan(tuple((test, lens) for lens in lenses or usual for test in tests or USUAL))


def plan_of_cells(
    m: int,
    tests: Sequence[str | Measure] | None,
    lenses: Sequence[Lens] | None,
    further: Callable[[int], Sequence[str]],
) -> TestPlan:
    """Return what was asked for of so many classes, or the usual tests, if they have cells."""
    usual = (DEFAULT, *(further(m) if m == 2 else ("ece",)))
    some: list[str | Measure] = []
    notes, last = [], None
    for test in usual if tests is None else tests:
        key, measure = measure_of(test)
        try:
            bind_cells(measure, count_rows([0.25, 0.5, 0.5, 0.75], [0, 1, 0, 1], measure.cell_bins))
        except NotApplicable as error:
            last = error
            notes.append(f"{key} is not tested: {measure.description} needs the rows.")
        else:
            some.append(test)
    if last is not None and not some:
        raise last
    default: Lens = Strong() if m == 2 else Confidence()
    entries = [(test, lens) for lens in lenses or [default] for test in some]
    if tests is None and lenses is None and m > 2:
        if m <= MOST_CLASSES:
            entries.append((DEFAULT, Classwise()))
        else:
            notes.append(f"{m:,} classes are too many to be tested one by one.")
    return TestPlan(tuple(entries), tuple(notes))


def measure_of(test: str | Measure) -> tuple[str, Measure]:
    """Return the key and the measure of a test."""
    return (test.key, test) if isinstance(test, Measure) else (test, TESTS[test].with_options({}))


def answer_of(
    first: HTest,
    groups: HTestTable | None,
    segments: SegmentsTest | None,
    comparison: RecalibrationContent | None,
    settings: Settings,
) -> Verdict:
    """Return the verdict that `caltest.verdict` gives for the same questions."""
    found: dict[str, Any] = {"whole": first, "groups": groups, "segments": segments}
    results = [(name, one) for name, one in found.items() if one is not None]
    if comparison is not None:
        return together(adjusted_verdicts(results), comparison.helps)
    return verdict_of(*results, command=settings.command)


# ---- What was tested: sizes, classes, groups, and what a reader should know of the data first ---

FEW_ROWS = 100
FEW_EVENTS = 5
NAMED = 5  # classes that a warning names


def describe_data(source: Source, tested: HTestTable | None = None) -> Data:
    """Count rows by class and group, and collect warnings; `tested` are the groups that were."""
    classes = source.class_counts()
    groups, warnings = source.group_sizes(tested), tuple(_warnings(source, classes))
    weighted = source.weight is not None
    return Data(source.name, source.n, source.m, weighted, classes, groups, warnings)


def _warnings(source: Source, classes: tuple[ClassCount, ...]) -> Iterator[str]:
    yield from source.cautions
    if source.n < FEW_ROWS:
        yield f"There are {source.n} rows only: even large errors may not be seen."
    if never := [one.name for one in classes if one.observed == 0]:
        yield f"Classes that were never observed: {_listing(never)}."
    if few := [one.name for one in classes if 0 < one.observed < FEW_EVENTS]:
        yield f"Classes observed fewer than {FEW_EVENTS} times: {_listing(few)}."
    alike, certain, impossible = source.extremes()
    where = [f"In {n:,} rows" if n > 1 else "In one row" for n in (impossible, certain)]
    if impossible:
        yield (
            f"{where[0]} a class of predicted probability 0 was observed: the log loss is "
            "infinite, and no calibrated model could have given these predictions."
        )
    if certain:
        yield f"{where[1]} one class has probability 1: nothing else may ever happen there."
    if source.n > 1 and alike:
        yield "All rows have the same predictions: tests see the class frequencies only."
    if source.weight is not None:
        yield "Counts are sums of weights."
    if source.predictions is not None and source.predictions.has_dependence:
        yield (
            f"Rows of the same {source.predictions.unit} may depend on each other; there are "
            f"{Clusters.of(source.predictions).words()}. Tests, intervals and smooth curves allow "
            "for it; bars and ranges of what a calibrated model gives take rows as independent."
        )


def _listing(names: list[object]) -> str:
    shown = ", ".join(map(str, names[:NAMED]))
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED:,} more"


def data_blocks(data: Data) -> Iterator[Block]:
    """Yield what was tested.

    Yields
    ------
    Block
        Of the section.
    """
    sizes = {"rows (n)": data.n, "classes (m)": data.m, "groups": len(data.groups)}
    known = [(name, f"{size:,}") for name, size in sizes.items() if size]
    yield content.facts("The data", [("source", data.source), *known])
    if not data.classes:
        return
    total = sum(row.observed for row in data.classes)
    ordered = sorted(data.classes, key=lambda row: -abs(row.observed - row.expected))
    kept = data.classes if data.m <= content.MOST_ROWS else ordered[: content.MOST_ROWS]
    rows = []
    for row in kept:
        gap = f"{row.observed - row.expected:+z,.1f}".replace("-", MINUS)
        seen = str(row.name), count(row.observed), share(row.observed / total)
        predicted = DASH if row.predicted is None else count(row.predicted)
        rows.append((*seen, f"{row.expected:,.1f}", gap, predicted))
    yield content.table(
        "Balance of the classes",
        ("class", "observed", "share", "expected", "difference", "predicted"),
        rows,
        explained="columns: expected is the sum of the probabilities of the class, difference "
        "observed less expected; predicted counts the rows where the class has the largest "
        "probability",
    )
    if len(kept) < data.m:
        text = f"{data.m - len(kept):,} classes whose difference is smaller are not listed."
        yield from content.notes([text])
