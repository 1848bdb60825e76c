"""Scores with their distribution under calibration, and the parts of the Brier score."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from caltest import measures
from caltest.lenses import Classwise, Lens, resolve_lens
from caltest.predictions import Predictions
from caltest.render import Sheet
from caltest.reporting.blocks import Block, notes
from caltest.reporting.content import Parts, Score, Scores
from caltest.reporting.plan import LINE_ROWS, MOST_CLASSES, frequent_classes
from caltest.reporting.wording import decimal
from caltest.results import HTest, HTestTable

Floats = NDArray[np.float64]

BLOCK = 1 << 20  # probabilities at a time
Z = 1.959964  # normal quantile of 97.5 %


def collect_scores(predictions: Predictions, tests: HTestTable) -> Scores:
    """Return the scores and the CORP decomposition under one-dimensional lenses."""
    lenses, notes = _lenses(predictions)
    parts = tuple(
        Parts(lens=str(lens), parts=measures.score_decomposition(predictions, lens=lens))  # type: ignore[arg-type]  # of one lens, not of a family
        for lens in lenses
    )
    return Scores(scores=tuple(_scores(predictions, tests)), parts=parts, notes=tuple(notes))


def _lenses(predictions: Predictions) -> tuple[list[Lens], list[str]]:
    if predictions.m == 2:
        return [resolve_lens("strong")], []
    m, names = predictions.m, predictions.classes.tolist()
    count = int(min(m, MOST_CLASSES, max(1, LINE_ROWS // predictions.n)))
    codes = frequent_classes(predictions, count)
    notes = []
    if count < m:
        notes = [f"Decomposed for the {count} classes with the largest expected number of rows."]
    return [resolve_lens("confidence"), *(Classwise(names[k]) for k in codes)], notes


def _scores(predictions: Predictions, tests: HTestTable) -> Iterator[Score]:
    sums = _sums(predictions)
    yield score_of("accuracy", sums[0], 1.0)
    two = predictions.m == 2
    yield score_of("Brier score", sums[1] / 2 if two else sums[1], 1.0 if two else 2.0)
    yield score_of("log loss", sums[2], math.inf)
    lens = "strong" if predictions.m == 2 else "confidence"
    yield _ece(predictions, lens, tests)
    if predictions.m > 2:
        yield Score(name="classwise ECE", value=float(measures.classwise_ece(predictions)))


def _ece(predictions: Predictions, lens: str, tests: HTestTable) -> Score:
    """Return the ECE, with its quantiles under the null where it was tested."""
    name = f"ECE ({lens}, 15 bins)"
    for row in tests.rows:
        if (row.test, row.lens) == ("ece", lens):
            return ece_of_test(row, name)
    return Score(name=name, value=float(measures.ece(predictions, lens=lens)))


def ece_of_test(row: HTest, name: str) -> Score:
    """Return the ECE of a test, with its quantiles under the null where they were resampled."""
    if row.null_distribution is None:
        return Score(name=name, value=row.estimate)
    low, high = np.quantile(row.null_distribution, [0.025, 0.975]).tolist()
    expected = float(row.null_distribution.mean())
    return Score(name=name, value=row.estimate, expected=expected, low=low, high=high)


def score_of(name: str, sums: Floats, most: float) -> Score:
    """Add the range that the central limit theorem gives for redrawn labels."""
    value, expected, variance = sums.tolist()
    if not math.isfinite(value):
        return Score(name=name, value=value, expected=expected)
    half = Z * math.sqrt(max(variance, 0.0))
    # The limit knows no range, the score does.
    low, high = max(expected - half, 0.0), min(expected + half, most)
    return Score(name=name, value=value, expected=expected, low=low, high=high)


def _sums(predictions: Predictions) -> Floats:
    """Return value, mean and variance under calibration of accuracy, Brier score and log loss."""
    weight = predictions.sample_weight
    weight = np.ones(predictions.n) if weight is None else weight
    weight = weight / weight.sum()
    out = np.zeros((3, 3))
    step = max(1, BLOCK // predictions.m)
    for start in range(0, predictions.n, step):
        rows = slice(start, start + step)
        probs, labels = predictions.probs[rows], predictions.labels[rows]
        for number, table in enumerate(_tables(probs)):
            out[number] += _sums_of(table, probs, labels, weight[rows])
    # Halved for two classes by the caller: the variance has the square of the unit.
    if predictions.m == 2:
        out[1, 2] /= 2
    return out


def _tables(probs: Floats) -> Iterator[Floats]:
    # What each class as the label would add to accuracy, Brier score and log loss.
    right = np.zeros_like(probs)
    right[np.arange(len(probs)), probs.argmax(axis=1)] = 1.0
    yield right
    yield 1.0 - 2.0 * probs + np.square(probs).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        yield -np.log(probs)


def _sums_of(table: Floats, probs: Floats, labels: NDArray[np.int64], weight: Floats) -> Floats:
    value = weight @ table[np.arange(len(probs)), labels]
    finite = np.where(probs > 0, table, 0.0)  # a class of probability 0 adds nothing
    mean = np.einsum("ik,ik->i", probs, finite)
    square = np.einsum("ik,ik,ik->i", probs, finite, finite)
    return np.array([value, weight @ mean, np.square(weight) @ (square - np.square(mean))])


def score_blocks(scores: Scores) -> Iterator[Block]:
    """Yield scores and their parts.

    Yields
    ------
    Block
        Of the section.
    """
    rows = tuple(
        (score.name, value, expected, f"{low} to {high}" if low and high else "")
        for score in scores.scores
        for value, expected, low, high in [
            decimal((score.value, score.expected, score.low, score.high))
        ]
    )
    header = ("score", "value", "if calibrated", "95 % of values")
    closing = (
        (
            "if calibrated",
            (
                "the mean, and the range by the central limit theorem, over labels redrawn from "
                "the probabilities; a calibration error is not 0 for a calibrated model either"
            ),
        ),
    )
    sheet = Sheet(title="Scores", header=header, rows=rows, closing=closing)
    yield Block(kind="sheet", sheet=sheet)
    columns = [
        decimal([getattr(part.parts, name) for part in scores.parts])
        for name in ("score", "miscalibration", "discrimination", "uncertainty")
    ]
    names = [part.lens for part in scores.parts]
    title = "Brier = miscalibration \u2212 discrimination + uncertainty"
    yield Block(
        kind="sheet",
        sheet=Sheet(
            title=title,
            header=("lens", "Brier", "MCB", "DSC", "UNC"),
            rows=tuple(zip(names, *columns, strict=True)),
            closing=(
                (
                    "parts",
                    (
                        "by the isotonic fit of the labels (CORP; Dimitriadis, Gneiting, Jordan "
                        "2021): MCB is what recalibration could gain on these data, DSC what the "
                        "predictions gain on the class frequencies, UNC the score of these"
                    ),
                ),
            ),
        ),
    )
    yield from notes(scores.notes)
