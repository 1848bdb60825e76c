"""The certificate of a tolerance: whether the error is shown to be within it, or beyond."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from caltest.errors import NotApplicable
from caltest.htests import test_calibration
from caltest.predictions import Predictions
from caltest.reporting.content import Within, WithinRow
from caltest.reporting.reading import sentence
from caltest.reporting.tested import Settings
from caltest.reporting.wording import short_pvalue
from caltest.results import HTest


@dataclass(frozen=True)
class Error:
    """An error in the unit of probabilities, and how a test has it."""

    test: str
    name: str
    of_test: Callable[[float], float]
    to_test: Callable[[float], float]


ERRORS = (
    Error("ks", "largest cumulative gap (KS)", float, float),
    Error(
        "debiased-ece",
        "root mean squared gap of 15 bins, without its bias",
        lambda value: math.sqrt(max(value, 0.0)),
        lambda tolerance: tolerance**2,
    ),
)


def certify(predictions: Predictions, tolerance: float, settings: Settings) -> Within:
    """Test both hypotheses on each error: at most the tolerance, and at least the tolerance."""
    lens = "strong" if predictions.m == 2 else "confidence"
    rows, left_out = [], []
    for error in ERRORS:
        settings.progress(f"tolerance, {error.test}")
        try:
            exceeds, within = (
                _test(predictions, error, lens, tolerance, settings, equivalence=equivalence)
                for equivalence in (False, True)
            )
        except NotApplicable as problem:
            left_out.append(f"{error.name}: {sentence(problem)}")
            continue
        rows.append(
            WithinRow(
                name=error.name,
                estimate=error.of_test(exceeds.estimate),
                exceeds=exceeds.pvalue,
                within=within.pvalue,
            )
        )
    return Within(
        tolerance=tolerance,
        sentences=tuple(_sentences(rows, tolerance, settings.level)),
        rows=tuple(rows),
        left_out=tuple(left_out),
    )


def _test(
    predictions: Predictions,
    error: Error,
    lens: str,
    tolerance: float,
    settings: Settings,
    *,
    equivalence: bool,
) -> HTest:
    found = test_calibration(
        None,
        predictions,
        test=error.test,
        lens=lens,
        tolerance=error.to_test(tolerance),
        equivalence=equivalence,
        n_resamples=settings.n_resamples,
        rng=settings.seed,
        n_jobs=settings.n_jobs,
        level=settings.level,
    )
    return cast("HTest", found)


def _sentences(rows: list[WithinRow], tolerance: float, level: float | None) -> Iterator[str]:
    """Say of all errors together whether they are shown within, shown beyond, or neither.

    All of them are within only where each is: the p-value of that is the largest. That one of them
    is beyond has twice the smallest, by Bonferroni.
    """
    if not rows:
        return
    size = f"{100 * tolerance:.3g} percentage points"
    within = max(row.within for row in rows)
    exceeds = min(1.0, len(rows) * min(row.exceeds for row in rows))
    bound = 0.05 if level is None else level
    if within <= bound:
        shown_as = "is shown" if level is not None else "is supported by the data"
        yield f"A calibration error within {size} {shown_as} (p = {short_pvalue(within)})."
    elif exceeds <= bound:
        shown_as = "is shown" if level is not None else "is supported by the data"
        yield f"A calibration error beyond {size} {shown_as} (p = {short_pvalue(exceeds)})."
    else:
        yield (
            f"Neither is shown: that the calibration error is within {size} "
            f"(p = {short_pvalue(within)}), nor that it is beyond (p = {short_pvalue(exceeds)})."
        )
    if level is not None:
        yield f"Level {level:g}."
