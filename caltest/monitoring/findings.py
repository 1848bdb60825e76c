"""What a stream says besides its e-value: sizes, the temperatures that are left, what is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from caltest import render
from caltest.errors import NotApplicable, invalid, shown
from caltest.measures.gap import Gap
from caltest.monitoring.bets import SLOPES
from caltest.monitoring.confidence import exponents_left, mean_half_width
from caltest.monitoring.stream import Stream

LEARNED = ("temperature", "recalibration")  # parts that bet on temperatures, among others


def row_of_class(which: object, classes: Sequence[object]) -> int:
    """Return the place of a class among the gaps of a stream; None is the last class."""
    names = list(classes)
    if which is None:
        return 1 if len(names) == 2 else len(names)
    if which not in names:
        raise invalid("which must be a class", shown(which), f"pass one of {names}")
    if len(names) == 2:
        if names.index(which) == 0:
            raise invalid(
                "which must be the second of two classes",
                shown(which),
                f"pass {names[1]!r}: the gap of the other is its negative",
            )
        return 1
    return 1 + names.index(which)


def gap_of(stream: Stream, row: int, level: float, classes: Sequence[object]) -> Gap:
    """Return mean prediction and share, with the confidence sequence of their gap.

    Row 0 is the predicted class being right; see `row_of_class` for the others.
    """
    rows, chance, happened, variance, squares = stream.state["gaps"][row].tolist()
    half = mean_half_width(squares, rows, level)
    predicted, observed = chance / rows, happened / rows
    gap = observed - predicted
    name = str(classes[1] if len(classes) == 2 else classes[row - 1]) if row else "right"
    return Gap(
        kind="event" if row else "confidence",
        name=name,
        n=int(rows),
        predicted=predicted,
        observed=observed,
        low=max(gap - half, -predicted),
        high=min(gap + half, 1.0 - predicted),
        deviation=math.sqrt(variance) / rows,
    )


def temperatures_of(stream: Stream, level: float) -> tuple[float, float]:
    """Return the ends of the confidence sequence of the temperature."""
    logs = dict(zip(stream.bets.parts, stream.log_parts.tolist(), strict=True))
    learned = [logs[part] for part in LEARNED if part in logs]
    numerator = float(np.logaddexp.reduce(learned)) - math.log(len(learned))
    left = exponents_left(SLOPES, stream.log_wealth[: SLOPES.size], numerator, level)
    if left is None:
        raise NotApplicable("no temperature fits the outcomes", "see verdict() for what is wrong")
    low, high = left
    return (1.0 / high if high > 0 else math.inf), (1.0 / low if low > 0 else math.inf)


def findings_of(
    stream: Stream, level: float, classes: Sequence[object]
) -> list[tuple[str, float, int, str]]:
    """Return the parts whose e-value is 1 / level: name, log e-value, since row, in words."""
    found = [
        (part, value, int(stream.state["low_row"][j]), _in_words(stream, part, classes))
        for j, (part, value) in enumerate(
            zip(stream.bets.parts, stream.log_parts.tolist(), strict=True)
        )
        if value >= -math.log(level)
    ]
    return sorted(found, key=lambda one: -one[1])


def _in_words(stream: Stream, part: str, classes: Sequence[object]) -> str:
    """Say what the bets of a part have won with."""
    bets, place = stream.bets, stream.bets.parts.index(part)
    start = int(np.sum(bets.sizes[:place]))
    own = stream.log_wealth[start : start + int(bets.sizes[place])]
    if part == "temperature":
        share = np.exp(own - np.logaddexp.reduce(own))
        return render.temperature_in_words(1.0 / float(np.exp(share @ np.log(SLOPES))))
    if part == "class-frequencies":
        best = int(np.argmax(own))
        name = str(classes[int(bets.offset_class[best])])
        return render.offset_in_words(name, float(bets.offset[best]))
    if part == "recalibration":
        return render.recalibration_in_words(stream.state["theta"], classes)
    return render.shape_in_words(part)
