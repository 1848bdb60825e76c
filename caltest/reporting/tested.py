"""The tests of a report: a plan is run, and its results become one table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from caltest.errors import NotApplicable
from caltest.htests import test_calibration
from caltest.htests.combine import adjusted_rows
from caltest.lenses import Lens
from caltest.measures import Measure
from caltest.predictions import Predictions
from caltest.reporting.plan import TestPlan
from caltest.reporting.reading import sentence
from caltest.results import HTest, HTestTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all tests of a report share."""

    seed: int
    n_resamples: int
    correction: str | None
    level: float | None
    n_jobs: int | None
    by: bool
    progress: Callable[[str], None]


def run(
    predictions: Predictions,
    test: str | Measure,
    lens: str | Lens,
    settings: Settings,
    *,
    by: bool = False,
) -> HTestTable:
    """Run one test under one lens; a single result becomes a table of one row."""
    settings.progress(f"{test}, lens {lens}")
    result = test_calibration(
        None,
        predictions,
        test=test,
        lens=lens,
        by=True if by else None,
        correction=settings.correction,
        n_resamples=settings.n_resamples,
        rng=settings.seed,
        n_jobs=settings.n_jobs,
        level=settings.level,
    )
    if isinstance(result, HTestTable):
        return result
    return table_of([cast("HTest", result)], settings)


def table_of(rows: list[HTest], settings: Settings) -> HTestTable:
    """Adjust the p-values of all rows together."""
    adjusted, name = adjusted_rows(rows, settings.correction)
    return HTestTable(tuple(rows), name, adjusted, level=settings.level)


def run_tests(
    predictions: Predictions, plan: TestPlan, settings: Settings
) -> tuple[HTestTable, tuple[str, ...]]:
    """Run the tests of a plan; those that are not defined for the data are noted instead."""
    rows: list[HTest] = []
    left_out = list(plan.notes)
    for entry in plan.entries:
        try:
            part = run(predictions, entry.test, entry.lens, settings)
        except NotApplicable as error:
            if entry is plan.entries[-1] and not rows:
                raise
            left_out.append(f"{entry.test}, lens {entry.lens}: {sentence(error)}")
            continue
        rows += part.rows
        left_out += part.notes
    return table_of(rows, settings), tuple(left_out)
