"""Scores with their distribution under calibration, and the parts of the Brier score."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from caltest import measures
from caltest.lenses import Classwise
from caltest.plots.seen import RowsEvent
from caltest.reporting.content import Block, Parts, Score, Scores, notes, table
from caltest.reporting.reading import decimal
from caltest.reporting.tested import frequent_classes
from caltest.results import HTestTable
from caltest.types import Floats

if TYPE_CHECKING:
    from caltest.reporting.source import Source


Z = 1.959964  # normal quantile of 97.5 %


def collect_scores(source: Source, tests: HTestTable) -> Scores:
    """Return the scores and the CORP decomposition under one-dimensional lenses."""
    predictions = source.predictions
    remarks: tuple[str, ...] = ()
    parts = [Parts(lens=source.lens, parts=source.event.parts())]
    if predictions is not None and source.m > 2:
        codes = frequent_classes(predictions)
        parts += [
            Parts(lens=str(lens), parts=RowsEvent(lens(predictions)).parts())
            for lens in map(Classwise, predictions.classes[codes].tolist())
        ]
        if len(codes) < source.m:
            chosen = f"{len(codes)} classes with the largest expected number of rows"
            remarks = (f"Decomposed for the {chosen}.",)
    return Scores(scores=tuple(_scores(source, tests)), parts=tuple(parts), notes=remarks)


def _scores(source: Source, tests: HTestTable) -> Iterator[Score]:
    for name, sums, most in source.score_sums():
        yield _score_of(name, sums, most)
    yield from _ece(source, tests)
    if source.m > 2 and source.predictions is not None:
        classwise = float(measures.classwise_ece(source.predictions))
        yield Score(name="classwise ECE", value=classwise)


def _ece(source: Source, tests: HTestTable) -> Iterator[Score]:
    """Yield the ECE, with its quantiles under the null where it was tested by resampling."""
    name = f"ECE ({source.lens}, 15 bins)"
    row = next((row for row in tests.rows if (row.test, row.lens) == ("ece", source.lens)), None)
    if row is None:
        if source.predictions is not None:
            yield Score(name=name, value=float(measures.ece(source.predictions, lens=source.lens)))
        return
    redrawn = row.null_distribution
    if redrawn is None:
        yield Score(name=name, value=row.estimate)
    else:
        low, high = np.quantile(redrawn, [0.025, 0.975]).tolist()
        expected = float(redrawn.mean())
        yield Score(name=name, value=row.estimate, expected=expected, low=low, high=high)


def _score_of(name: str, sums: Floats, most: float) -> Score:
    """Add the range that the central limit theorem gives for redrawn labels."""
    value, expected, variance = sums.tolist()
    if not math.isfinite(value):
        return Score(name=name, value=value, expected=expected)
    half = Z * math.sqrt(max(variance, 0.0))
    # The limit knows no range, the score does.
    low, high = max(expected - half, 0.0), min(expected + half, most)
    return Score(name=name, value=value, expected=expected, low=low, high=high)


def score_blocks(scores: Scores) -> Iterator[Block]:
    """Yield scores and their parts.

    Yields
    ------
    Block
        Of the section.
    """
    rows = []
    for one in scores.scores:
        value, expected, low, high = decimal((one.value, one.expected, one.low, one.high))
        rows.append((one.name, value, expected, f"{low} to {high}" if low and high else ""))
    yield table(
        "Scores",
        ("score", "value", "if calibrated", "95 % of values"),
        rows,
        explained="if calibrated: the mean, and the range by the central limit theorem, over "
        "labels redrawn from the probabilities; a calibration error is not 0 for a calibrated "
        "model either",
    )
    columns = [
        decimal([getattr(part.parts, name) for part in scores.parts])
        for name in ("score", "miscalibration", "discrimination", "uncertainty")
    ]
    yield table(
        "Brier = miscalibration \u2212 discrimination + uncertainty",
        ("lens", "Brier", "MCB", "DSC", "UNC"),
        zip([part.lens for part in scores.parts], *columns, strict=True),
        explained="parts: by the isotonic fit of the labels (CORP; Dimitriadis, Gneiting, Jordan "
        "2021): MCB is what recalibration could gain on these data, DSC what the predictions gain "
        "on the class frequencies, UNC the score of these",
    )
    yield from notes(scores.notes)
