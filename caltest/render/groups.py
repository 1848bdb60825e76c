"""What is printed of the test of very many groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from caltest.render.cells import LEGEND, Pairs, Sheet, equals, number, pvalue, stars
from caltest.render.sheets import CORRECTIONS
from caltest.render.verdicts import headline_of_groups

if TYPE_CHECKING:
    from caltest.results import GroupsTest

NUMBERS = ("n", "predicted", "observed", "gap", "95 %")
SHOWN, LONG = 10, 100
LONGEST = 18  # names that the grid has room for


def sheet_of_groups(test: GroupsTest, *, long: bool = False) -> Sheet:
    """The print of the worst groups; the long one has more, with statistics and p-values."""
    more = (test.statistic_name, "p-value") if long else ()
    shown = test.order[: LONG if long else SHOWN].tolist()
    names = [test.name(g) for g in shown]
    numbered = max(map(len, names)) > LONGEST
    marks = [f"[{k}]" for k in range(1, len(names) + 1)] if numbered else names
    kind = "segments" if test.overlap else "groups"
    return Sheet(
        title=f"Exact test of calibration in {len(test):,} {kind}: {test.title}",
        headline=headline_of_groups(test),
        facts=_facts(test),
        numbers=(("p-value of all", pvalue(test.pvalue)),),
        header=("", *NUMBERS, *more, "adjusted", ""),
        rows=tuple(
            (name, *_cells(test, g, long=long)) for name, g in zip(marks, shown, strict=True)
        ),
        legend=LEGEND,
        closing=(*(zip(marks, names, strict=True) if numbered else ()), *_closing(test)),
    )


def _facts(test: GroupsTest) -> Pairs:
    least, middle, most = (f"{value:,.0f}" for value in np.quantile(test.sizes, (0, 0.5, 1)))
    columns = " x ".join(test.columns)
    kind = "segments" if test.overlap else "groups"
    adjusted = "segments, which overlap" if test.overlap else "groups"
    settings = ((name, number(value)) for name, value in test.parameters.items())
    return (
        ("data", f"{test.data_name} (n = {test.n}, m = {test.m}), lens: {test.lens}"),
        (kind, f"{len(test):,} of {columns}, {least} to {most} rows, median {middle}"),
        *settings,
        ("null", f"exact, {test.null_text}"),
        ("adjusted", f"{_method(test)}, {len(test):,} {adjusted}"),
    )


def _method(test: GroupsTest) -> str:
    if test.correction is None:
        return "not at all"
    return CORRECTIONS.get(test.correction, test.correction)


def _cells(test: GroupsTest, g: int, *, long: bool) -> tuple[str, ...]:
    ends = f"[{100 * test.low[g]:z.1f}, {100 * test.high[g]:z.1f}]"
    share = test.events[g] / test.sizes[g]
    own = (number(float(test.statistics[g])), pvalue(test.pvalues[g], "1e-30")) if long else ()
    return (
        str(test.sizes[g]),
        f"{100 * test.predicted[g]:.1f}",
        f"{100 * share:.1f}",
        f"{100 * (share - test.predicted[g]):+z.1f}",
        ends,
        *own,
        pvalue(float(test.adjusted[g])),
        stars(float(test.adjusted[g])),
    )


def _closing(test: GroupsTest) -> Iterator[tuple[str, str]]:
    if test.level is not None:
        kind = "segments" if test.overlap else "groups"
        yield (
            f"rejected at level {number(test.level)}",
            f"{test.n_rejected:,} of {len(test):,} {kind}",
        )
    yield (
        "predicted, observed, gap",
        "in per cent and percentage points; gap = observed - predicted, each interval by itself",
    )
    for name, (p, text) in test.omnibus.items():
        yield name, f"p-value {equals(pvalue(p))}, {text}"
    for note in test.notes:
        yield "note", note
