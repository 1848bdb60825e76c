"""Which tests a report makes where the caller names none: those that the data size allows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from caltest.htests import DEFAULT
from caltest.lenses import Classwise, Lens
from caltest.measures import Measure
from caltest.predictions import Predictions

# Limits chosen so that each part takes about 10 s of one core with 999 resamples.
ALL_PAIRS = 2e9  # n^2 m: pairs of rows, times classes
LINE_ROWS = 2e6  # n times the number of classes that are tested one by one
MOST_CLASSES = 20


@dataclass(frozen=True)
class Entry:
    """A test to be made."""

    test: str | Measure
    lens: str | Lens


@dataclass(frozen=True)
class TestPlan:
    """The tests to be made, and remarks on those that are not."""

    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()


def default_plan(predictions: Predictions, further: Sequence[str]) -> TestPlan:
    """Choose tests by what they cost, never by the labels, so that their p-values stay valid.

    `further` are those of two classes after the default one.
    """
    if predictions.m == 2:
        tests = (DEFAULT, *further)
        return TestPlan(tuple(Entry(test, "strong") for test in tests))
    strong, notes = _strong(predictions)
    confidence = [Entry(test, "confidence") for test in ("skce", "ece")]
    classes, more = _classes(predictions)
    return TestPlan((*strong, *confidence, *classes), (*notes, *more))


def _strong(predictions: Predictions) -> tuple[list[Entry], list[str]]:
    n = predictions.n
    if n * n * predictions.m <= ALL_PAIRS:
        return [Entry(test, "strong") for test in (DEFAULT, "skce")], []
    note = f"The SKCE of all pairs of {n:,} rows would take too long under the strong lens."
    return [Entry(DEFAULT, "strong")], [note]


def _classes(predictions: Predictions) -> tuple[list[Entry], list[str]]:
    """Take the classes with the largest sum of probabilities, which does not see the labels."""
    m = predictions.m
    count = int(min(m, MOST_CLASSES, max(1, LINE_ROWS // predictions.n)))
    chosen = frequent_classes(predictions, count)
    entries = [Entry(DEFAULT, Classwise(predictions.classes.tolist()[k])) for k in chosen]
    if count == m:
        return entries, []
    note = (
        f"{m - count:,} of {m:,} classes are not tested one by one, to keep the time short and the "
        "adjustment small. The tested ones have the largest expected number of rows, a choice "
        "that does not depend on the labels."
    )
    return entries, [note]


def frequent_classes(predictions: Predictions, count: int) -> list[int]:
    """Return the codes of the classes that are expected most often, in the order of the columns."""
    expected = predictions.probs.sum(axis=0)
    return sorted(np.argsort(-expected, kind="stable")[:count].tolist())


def plan_of(
    predictions: Predictions,
    tests: list[str | Measure] | None,
    lenses: Sequence[str | Lens] | None,
    further: Sequence[str],
) -> TestPlan:
    """Return what was asked for, every test under every lens, or the default plan."""
    if tests is None and lenses is None:
        return default_plan(predictions, further)
    asked = list(_product(tests or [DEFAULT, "skce"], lenses or _default_lenses(predictions)))
    return TestPlan(tuple(asked))


def _product(tests: list[str | Measure], lenses: Sequence[str | Lens]) -> Iterator[Entry]:
    for lens in lenses:
        for test in tests:
            yield Entry(test, lens)


def _default_lenses(predictions: Predictions) -> list[str | Lens]:
    return ["strong"] if predictions.m == 2 else ["strong", "confidence"]
