"""Where predictions and labels differ: by class, region of probability, group and segment."""

from __future__ import annotations

from caltest.errors import NotApplicable
from caltest.htests import DEFAULT
from caltest.predictions import Predictions
from caltest.reporting.content import Where
from caltest.reporting.gaps import group_gaps
from caltest.reporting.places import find_places
from caltest.reporting.tested import Settings, run
from caltest.results import HTestTable
from caltest.segments import SegmentsTest
from caltest.segments.inputs import Given
from caltest.segments.run import Settings as SegmentSettings
from caltest.segments.run import test_source

MOST_SEGMENTS = 50


def find_where(predictions: Predictions, settings: Settings) -> Where:
    """Compare classes and ranges, and test each group."""
    groups, notes = _groups(predictions, settings)
    settings.progress("classes and ranges")
    return Where(
        lens="strong" if predictions.m == 2 else "confidence",
        places=find_places(predictions, n_resamples=settings.n_resamples, seed=settings.seed),
        groups=groups,
        group_gaps=() if groups is None else group_gaps(groups),
        notes=tuple(notes),
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


def _groups(predictions: Predictions, settings: Settings) -> tuple[HTestTable | None, list[str]]:
    """Test each group."""
    if predictions.groups is None or not settings.by:
        return None, []
    try:
        result = run(predictions, DEFAULT, "strong", settings, by=True)
    except NotApplicable as error:
        return None, [f"Groups are not tested: {error}"]
    return result, list(result.notes)
