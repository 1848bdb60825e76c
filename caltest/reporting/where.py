"""Where predictions and labels differ: by class, region of probability, group and segment."""

from __future__ import annotations

from caltest.errors import NotApplicable
from caltest.htests import DEFAULT
from caltest.predictions import Predictions
from caltest.reporting.content import Where
from caltest.reporting.plan import ALL_PAIRS
from caltest.reporting.reading import reading
from caltest.reporting.tested import Settings, run
from caltest.results import HTest, HTestTable, Witness
from caltest.segments import SegmentsTest
from caltest.segments.inputs import Given
from caltest.segments.run import Settings as SegmentSettings
from caltest.segments.run import test_source

MOST_GROUPS = 500
MOST_SEGMENTS = 50


def find_where(predictions: Predictions, tests: HTestTable, settings: Settings) -> Where:
    """Divide the kernel error by class and region, and test each group."""
    test, witness, notes = _witness(predictions, tests, settings)
    groups, more = _groups(predictions, settings)
    readings: tuple[str, ...] = ()
    if groups is not None:
        pairs = zip(groups.rows, groups.adjusted.tolist(), strict=True)
        readings = tuple(reading(row, value) for row, value in pairs)
    return Where(
        lens="" if test is None else test.lens,
        test=test,
        classes=() if witness is None else witness.by_class(),
        regions=() if witness is None else witness.regions(),
        groups=groups,
        group_readings=readings,
        notes=(*notes, *more),
    )


def find_segments(predictions: Predictions, columns: Given, settings: Settings) -> SegmentsTest:
    """Test the segments of some columns."""
    settings.progress("segments")
    return test_source(
        columns,
        predictions,
        SegmentSettings(
            seed=settings.seed,
            keep=MOST_SEGMENTS,
            n_resamples=settings.n_resamples,
            n_jobs=settings.n_jobs,
            level=settings.level,
        ),
    )


def _witness(
    predictions: Predictions, tests: HTestTable, settings: Settings
) -> tuple[HTest | None, Witness | None, list[str]]:
    """Take the witness of the strong lens, or where that takes too long of the confidence."""
    notes: list[str] = []
    for row in sorted(tests.rows, key=lambda row: row.lens != "strong"):
        if row.test != "skce" or row.lens not in {"strong", "confidence"} or row.group is not None:
            continue
        if row.lens == "strong" and not _is_quick(predictions):
            notes.append("Classes are not compared: all pairs of rows would take too long.")
            continue
        try:
            return row, row.witness(n_jobs=settings.n_jobs), notes
        except NotApplicable as error:
            notes.append(str(error))
    return None, None, notes


def _is_quick(predictions: Predictions) -> bool:
    return predictions.m == 2 or predictions.n**2 * predictions.m <= ALL_PAIRS


def _groups(predictions: Predictions, settings: Settings) -> tuple[HTestTable | None, list[str]]:
    """Test each group."""
    if predictions.groups is None or not settings.by:
        return None, []
    try:
        result = run(predictions, DEFAULT, "strong", settings, by=True)
    except NotApplicable as error:
        return None, [f"Groups are not tested: {error}"]
    return result, list(result.notes)
