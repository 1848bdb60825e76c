"""The places of a report: which of them are named as wrong, and in which order they stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from caltest.measures.gap import Gap
from caltest.reporting.content import Place
from caltest.results import HTestTable
from caltest.results.verdict import SPEAKS, worst_range


def place_of(
    found: Gap, kind: str, name: str, *, part: str = "", pvalue: float | None = None
) -> Place:
    """Return a gap under the name that it has on the page."""
    measured = {field.name: getattr(found, field.name) for field in fields(Gap)}
    return Place(**measured | {"kind": kind, "name": name, "part": part, "pvalue": pvalue})


def group_places(table: HTestTable) -> tuple[Place, ...]:
    """Return the gap of each group of a table, in its order; of the confidence for many classes.

    A group that is right on average has its worst range as its part, or else what its test found.
    """
    places = []
    for row, adjusted in zip(table.rows, table.adjusted.tolist(), strict=True):
        if row.size is None:
            continue
        worst, part = worst_range(row), "" if row.size.is_clear else row.finding
        if worst is not None:
            part = f"{worst.name} too {'high' if worst.gap < 0 else 'low'}"
        places.append(place_of(row.size, "group", str(row.group), part=part, pvalue=adjusted))
    return tuple(places)


def ranked(places: Iterable[Place]) -> tuple[Place, ...]:
    """Sort places: the smallest adjusted p-value first, then those that are surely the largest."""

    def rank(place: Place) -> tuple[float, float, float]:
        pvalue = 1.0 if place.pvalue is None else place.pvalue
        surely = max(0.0, place.low, -place.high)
        return (pvalue, -surely, -abs(place.gap))

    return tuple(sorted(places, key=rank))


def is_rejected(place: Place, level: float | None) -> bool:
    """Tell whether the p-value of a place is at most the level, or 0.05, as in the verdict."""
    return place.pvalue is not None and place.pvalue <= (SPEAKS if level is None else level)


def is_named(place: Place, level: float | None) -> bool:
    """Tell whether a place is named as wrong: by its p-value and its interval."""
    return is_rejected(place, level) and place.is_clear
