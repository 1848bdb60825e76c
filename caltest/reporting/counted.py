"""A report on very many rows, from the cells that they were counted in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.htests import DEFAULT
from caltest.htests import REGISTRY as TESTS
from caltest.htests.cells import Asked, CountedRows, Prepared, counted_rows, tests_of
from caltest.htests.places import CellSearch
from caltest.lenses import Classwise, Confidence, Lens, Strong
from caltest.measures import Measure
from caltest.measures.gap import gap_of_cells
from caltest.measures.label_scores import ScoreOfUnits
from caltest.measures.recalibration.expected_observed_ratio import ratio_of_counts
from caltest.measures.scores.brier import BrierScore
from caltest.measures.scores.decomposition import brier_parts_of_cells
from caltest.measures.scores.log_loss import LogLoss
from caltest.nulls.cells import bind_cells
from caltest.predictions import ModelData
from caltest.reporting.about import adequacy_of_counts
from caltest.reporting.answered import answer_of
from caltest.reporting.content import (
    Answer,
    ClassCount,
    Data,
    Estimate,
    Parts,
    Scores,
    Where,
)
from caltest.reporting.estimates import estimates_of_tests, gap_estimates, ratio_estimate
from caltest.reporting.gaps import group_places
from caltest.reporting.methods import methods_of
from caltest.reporting.places import judged, round_cuts
from caltest.reporting.plan import MOST_CLASSES
from caltest.reporting.profiles import Profile
from caltest.reporting.scores import ece_of_test, score_of
from caltest.reporting.tested import Settings, table_of
from caltest.results import HTest, HTestTable
from caltest.results.printable import plain
from caltest.scale import Cells, Counting, count_rows
from caltest.scale.sources import ENGINES, ROWS, Reader, Source, source_of
from caltest.units import CellUnits
from caltest.validation import check_choice

Floats = NDArray[np.float64]

ABSENT = (
    "What needs the rows is not on this page: recalibration, segments, grades, the tolerance, the "
    "witness, and the pictures of the belt and of decisions; engine='rows' reads them."
)
COUNTED = (
    "The rows were counted in {count:,} cells of predicted probability, at most 2^-16 wide, and "
    "the tests are computed from their numbers of rows and events."
)


@dataclass(frozen=True)
class Plan:
    """What is counted and tested.

    Attributes
    ----------
    tests : tuple of (Lens, Mapping)
        For each lens, which may be a family, the measures by their keys.
    left_out : tuple of str
        What is not tested, and why.
    """

    tests: tuple[tuple[Lens, Mapping[str, Measure]], ...]
    left_out: tuple[str, ...]


def source_to_count(
    engine: str, given: ModelData, needs_rows: Mapping[str, object], *, skips: bool
) -> tuple[Source | None, bool]:
    """Return where the rows of a report lie, if they are in no array, and whether to count them.

    Raises
    ------
    NotApplicable
        If cells are asked for, and with them something that needs the rows.
    """
    check_choice(engine, ENGINES, "engine")
    alone = given.data if given.model is None else given.model if given.data is None else None
    source = None if alone is None else source_of(alone)
    wanted = [name for name, value in needs_rows.items() if value]
    if engine == "cells":
        if source is None:
            raise NotApplicable(
                "engine='cells' takes a data frame, a lazy one, paths or an iterator of frames",
                "use engine='rows' for arrays and models",
            )
        if wanted:
            raise NotApplicable(f"{wanted[0]}= needs the rows", "use engine='rows'")
        return source, True
    if source is None or engine == "rows" or wanted:
        return source, False
    if skips:
        return source, True
    many, source = source.has_more_rows(ROWS)
    return source, many


@dataclass(frozen=True, kw_only=True)
class CountedReport:
    """What a report says of rows that were counted.

    Attributes
    ----------
    content : dict
        Fields of `Content`.
    data_hash : str
        Of the cells.
    source : str
        What was counted.
    n, m : int
        Rows and classes.
    events : int
        Rows with the event of the first lens.
    """

    content: dict[str, Any]
    data_hash: str
    source: str
    n: int
    m: int
    events: int

    def adequacy(self, profile: Profile) -> str:
        """Say how many rows and events there are."""
        if self.m > 2:
            return f"{self.n:,} rows of {self.m:,} classes."
        return " ".join(adequacy_of_counts(self.n, self.events, profile))


def report_of_cells(
    source: Source,
    given: ModelData,
    *,
    tests: Sequence[str | Measure] | None,
    lenses: Sequence[Lens] | None,
    profile: Callable[[int], Profile],
    by: tuple[str, ...],
    event: str | None,
    settings: Settings,
    on_error: str,
) -> CountedReport:
    """Count the rows of a source in one query, and say all that the cells tell.

    Parameters
    ----------
    source, given : Source, ModelData
        Where the rows lie, and which columns are what.
    tests, lenses : optional
        What was asked for.
    profile : callable
        Returns the profile for a number of classes.
    by : tuple of str
        Columns of groups.
    event : str or None
        What classes that are 0 and 1 are named by.
    settings : Settings
        What all tests share.
    on_error : {"raise", "skip"}
        Whether what is wrong is left out.
    """
    named = {"label": given.label, "probs": given.probs, "classes": given.classes, "by": by}
    reader = Reader(source, named, on_error=on_error)
    settings.progress("counting")
    columns = reader.columns()
    m = len(columns.classes)
    field = profile(m)
    plan = _plan(m, tests, lenses, field)
    members = [one for lens, _ in plan.tests for one in lens.members_of(columns.classes)]
    bins = {count for _, some in plan.tests for one in some.values() for count in one.cell_bins}
    counting = Counting(columns, tuple(members), tuple(sorted(bins)))
    counting.check()
    prepared = Prepared(reader, counting)
    table = reader.count(counting)
    whole = _named(counted_rows(prepared, table, grouped=False), event)
    whole.suspect()
    asking = _Asking(given, settings)
    rows: list[HTest] = []
    for lens, measures in plan.tests:
        settings.progress(f"tests, lens {lens}")
        found = tests_of(
            whole.under(lens.members_of(columns.classes)), asking.asked(lens, measures)
        )
        rows += found.rows if isinstance(found, HTestTable) else [found]
    joint = settings.correction == "joint" and len({row.lens for row in rows}) > 1
    tested = table_of(rows, replace(settings, correction="holm") if joint else settings)
    groups, remarks = None, []
    if by:
        settings.progress("groups")
        lens, measures = plan.tests[0]
        first = dict(list(measures.items())[:1])
        grouped = _named(counted_rows(prepared, table, grouped=True), event)
        asked = asking.asked(lens, first)
        try:
            result = tests_of(grouped.under(lens.members_of(columns.classes)), asked)
        except NotApplicable as error:
            remarks.append(f"Groups are not tested: {error}")
        else:
            groups = result if isinstance(result, HTestTable) else table_of([result], settings)
            remarks += groups.notes
    cells = whole.events[0][None]
    settings.progress("ranges")
    where = Where(
        lens=str(plan.tests[0][0]),
        places=judged(
            CellSearch(cells, round_cuts), n_resamples=settings.n_resamples, seed=settings.seed
        ),
        groups=groups,
        group_places=() if groups is None else group_places(groups),
        notes=tuple(remarks),
    )
    settings.progress("estimates")
    content = {
        "data": _data(whole, groups),
        "answer": Answer(
            verdict=answer_of(tested.rows[0], groups, None, None, settings.n_jobs),
            tests=tested,
            left_out=(*plan.left_out, ABSENT),
        ),
        "within": None,
        "estimates": tuple(_estimates(cells, m, tested, field, settings)),
        "grades": None,
        "where": where,
        "segments": None,
        "scores": _scores(cells, tested),
        "comparison": None,
        "methods": tuple(
            methods_of(
                [*tested.rows, *(() if groups is None else groups.rows)],
                correction=tested.correction,
                recalibrated=False,
            )
        ),
    }
    return CountedReport(
        content=content,
        data_hash=_hash(whole),
        source=source.name,
        n=cells.rows,
        m=m,
        events=int(cells.events.sum()),
    )


def _named(counted: CountedRows, event: str | None) -> CountedRows:
    """Name classes that are 0 and 1 by the event that the author states."""
    if event is None or [str(name) for name in counted.classes] != ["0", "1"]:
        return counted
    names = (f"no {event}", event)
    events = tuple(
        {group: replace(cells, event=event, no_event=names[0]) for group, cells in some.items()}
        if lens == Strong()
        else some
        for lens, some in zip(counted.lenses, counted.events, strict=True)
    )
    return replace(counted, classes=names, events=events)


@dataclass(frozen=True)
class _Asking:
    given: ModelData
    settings: Settings

    def asked(self, lens: Lens, measures: Mapping[str, Measure]) -> Asked:
        """Return what is asked of one lens."""
        return Asked(
            given=self.given,
            measures=list(measures.items()),
            lenses=[lens],
            null=None,
            tolerance=None,
            correction=self.settings.correction,
            n_resamples=self.settings.n_resamples,
            seed=self.settings.seed,
            n_jobs=self.settings.n_jobs,
            level=self.settings.level,
            on_error="raise",
            progress=None,
        )


def _plan(
    m: int, tests: Sequence[str | Measure] | None, lenses: Sequence[Lens] | None, profile: Profile
) -> Plan:
    """Choose the tests that have cells; what was asked for is tested under every lens."""
    notes: list[str] = []
    if tests is None and lenses is None and m > 2:
        some, notes = _measures((DEFAULT, "ece"))
        pairs: list[tuple[Lens, Mapping[str, Measure]]] = [(Confidence(), some)]
        if m <= MOST_CLASSES:
            pairs.append((Classwise(), {DEFAULT: some[DEFAULT]}))
        else:
            notes.append(f"{m:,} classes are too many to be tested one by one.")
        return Plan(tuple(pairs), tuple(notes))
    further = profile.binary if m == 2 else ("ece",)
    some, notes = _measures((DEFAULT, *further) if tests is None else tests)
    default: Lens = Strong() if m == 2 else Confidence()
    return Plan(tuple((lens, some) for lens in lenses or [default]), tuple(notes))


def _measures(tests: Sequence[str | Measure]) -> tuple[dict[str, Measure], list[str]]:
    """Return the measures that cells are enough for, and notes on the others."""
    found: dict[str, Measure] = {}
    notes = []
    last: NotApplicable | None = None
    for one in tests:
        key, measure = (
            (one, TESTS[one].with_options({})) if isinstance(one, str) else (one.key, one)
        )
        few = count_rows([0.25, 0.5, 0.5, 0.75], [0, 1, 0, 1], measure.cell_bins)
        try:
            bind_cells(measure, few)
        except NotApplicable as error:
            last = error
            notes.append(f"{key} is not tested: {measure.description} needs the rows.")
            continue
        found[key] = measure
    if last is not None and not found:
        raise last
    return found, notes


# ---- the parts of the page ----------------------------------------------------------------------


def _data(whole: CountedRows, groups: HTestTable | None) -> Data:
    cells = whole.events[0][None]
    count = sum(len(by_group[None]) for by_group in whole.events if by_group)
    counts = tuple(_classes(whole))
    warnings = [
        COUNTED.format(count=count),
    ]
    impossible = int(cells.events[cells.most == 0].sum())
    impossible += int((cells.n - cells.events)[cells.least == 1].sum())
    if impossible:
        warnings.append(
            f"In {impossible:,} rows an outcome of predicted probability 0 was observed: no "
            "calibrated model could have given these predictions."
        )
    names = {} if groups is None else {row.group: row.n for row in groups.rows}
    return Data(
        source=whole.name,
        n=cells.rows,
        m=len(whole.classes),
        weighted=False,
        classes=counts,
        groups=tuple((plain(name), n) for name, n in names.items()),
        warnings=(*warnings, *(f"{text[0].upper()}{text[1:]}." for text in whole.left_out)),
    )


def _classes(whole: CountedRows) -> Iterator[ClassCount]:
    """Yield the classes whose cells were counted, both of two.

    Yields
    ------
    ClassCount
        How often each was predicted is known of two classes.
    """
    pairs = zip(whole.lenses, whole.events, strict=True)
    classes = whole.classes
    if len(classes) == 2:
        if Strong() not in whole.lenses:
            return
        cells = whole.under([Strong()]).events[0][None]
        likely = int(cells.n[cells.mean > 0.5].sum())
        events, expected = int(cells.events.sum()), float(cells.expected.sum())
        for k, sign in ((0, -1), (1, 1)):
            base = cells.rows if sign < 0 else 0
            yield ClassCount(
                name=plain(classes[k]),
                observed=base + sign * events,
                expected=base + sign * expected,
                predicted=base + sign * likely,
            )
        return
    for lens, by_group in pairs:
        if isinstance(lens, Classwise) and by_group:
            cells = by_group[None]
            yield ClassCount(
                name=plain(lens.k),
                observed=float(cells.events.sum()),
                expected=float(cells.expected.sum()),
                predicted=None,
            )


def _estimates(
    cells: Cells, m: int, tests: HTestTable, profile: Profile, settings: Settings
) -> Iterator[Estimate]:
    gap = gap_of_cells(cells, "event", "all rows")
    yield from gap_estimates(gap, cells.rows, profile, m)
    observed, expected = int(cells.events.sum()), float(cells.expected.sum())
    if m == 2 and observed and expected:
        yield ratio_estimate(ratio_of_counts(expected, observed, cells.rows, 0.95), profile)
    first = tests.rows[0].lens
    yield from estimates_of_tests((row for row in tests.rows if row.lens == first), settings)


def _scores(cells: Cells, tests: HTestTable) -> Scores:
    lens = tests.rows[0].lens
    scores = []
    measures: tuple[ScoreOfUnits, ...] = BrierScore(), LogLoss()
    for measure in measures:
        bound, (_, slope) = measure.bind_cells(cells), measure.scores(CellUnits(cells)).linear
        variance = float(np.square(slope) @ cells.variance) / cells.mass**2
        sums = np.array([bound.value(), bound.calibrated, variance])
        scores.append(score_of(measure.title, sums, measure.support(2)[1]))
    name = f"ECE ({lens}, 15 bins)"
    tested = (row for row in tests.rows if (row.test, row.lens) == ("ece", lens))
    scores += [ece_of_test(row, name) for row in tested]
    parts = Parts(lens=lens, parts=brier_parts_of_cells(cells))
    return Scores(scores=tuple(scores), parts=(parts,))


def _hash(whole: CountedRows) -> str:
    """Return the SHA-256 of the cells: places, rows, events and sums of predictions."""
    digest = hashlib.sha256()
    for lens, by_group in zip(whole.lenses, whole.events, strict=True):
        digest.update(str(lens).encode())
        for cells in by_group.values():
            for values, kind in (
                (cells.place, "<i8"),
                (cells.n, "<i8"),
                (cells.events, "<i8"),
                (cells.expected, "<f8"),
            ):
                digest.update(np.ascontiguousarray(values, dtype=kind).tobytes())
    return digest.hexdigest()
