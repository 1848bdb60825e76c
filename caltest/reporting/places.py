"""Where predictions and labels differ: classes and ranges of probability, judged together.

The gap of a place is what is observed there less what is predicted. The p-values of all places are
adjusted together, by the labels that the tests of the report are judged by: a class never says
another thing than its ranges, since one rule has found, ranked and signed them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import pairwise

import numpy as np

from caltest.htests.places import Search, Values, over
from caltest.measures.gap import Gap
from caltest.numerics.joint import step_down, tail_scores
from caltest.reporting.content import Place
from caltest.reporting.reading import percent
from caltest.results import HTestTable
from caltest.results.verdict import SPEAKS, worst_range
from caltest.types import Floats

Named = tuple[int, int, int, str, str, str]  # aspect, first part, the one after; kind, name, part

CUTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
FEWEST = 20  # rows of a range
SHARE = 0.05  # of all rows, that a range has at least


def judged(search: Search, *, n_resamples: int, seed: int) -> tuple[Place, ...]:
    """Compare the parts of a search, and its classes as a whole, the worst first.

    The p-values are adjusted for all of them (Westfall and Young, step-down).
    """
    named = list(_named(search))
    numbers = np.array([one[1:3] for one in named])
    sums = over(search.sums(n_resamples, seed), *numbers.T).T
    scale = float(search.mass[: search.aspects[0].ends.size + 1].sum())
    adjusted = step_down(np.vstack([tail_scores(row, scale, two_sided=True) for row in sums]))
    places = []
    for (a, first, stop, kind, name, part), pvalue in zip(named, adjusted.tolist(), strict=True):
        aspect = search.aspects[a]
        gap = search.gap(aspect.between(first, stop), aspect.inside(first, stop))
        places.append(place_of(gap, kind, name, part=part, pvalue=pvalue))
    return ranked(places)


def _named(search: Search) -> Iterator[Named]:
    """Yield the ranges of the event or the confidence, then the classes and their ranges."""
    for a, aspect in enumerate(search.aspects):
        start, stop = aspect.start, aspect.start + aspect.ends.size + 1
        names, event = range_names((0.0, *aspect.ends.tolist(), 1.0)), aspect.where.event or ""
        if a > 0:
            yield a, start, stop, "class", event, ""
        if a == 0 or len(names) > 1:
            for number, name in enumerate(names, start):
                told = ("range", name, "") if a == 0 else ("class range", event, name)
                yield a, number, number + 1, *told


def round_cuts(values: Values, _most: int = 0) -> Floats:
    """Return the round ends between ranges that have enough of the rows each, (E,).

    They depend on the predictions alone.
    """
    upto = np.append(0, np.cumsum(values.rows))
    least, ends, start = max(FEWEST, SHARE * upto[-1]), [], 0
    for cut in CUTS:
        stop = upto[np.searchsorted(values.mean, cut, side="right")]
        if stop - start >= least and upto[-1] - stop >= least:
            ends.append(cut)
            start = stop
    return np.array(ends)


def range_names(ends: Sequence[float]) -> tuple[str, ...]:
    """Return the ranges in words.

    Examples
    --------
    >>> range_names((0.0, 0.2, 0.9, 1.0))
    ('up to 20 %', '20 to 90 %', 'above 90 %')
    """
    if len(ends) == 2:
        return ("all rows",)
    inner = [f"{percent(low)} to {percent(high)} %" for low, high in pairwise(ends[1:-1])]
    return (f"up to {percent(ends[1])} %", *inner, f"above {percent(ends[-2])} %")


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
