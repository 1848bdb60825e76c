"""The grades of a master scale: those of the groups, of few PDs, or of equal size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from caltest.errors import NotApplicable
from caltest.htests import test_master_scale
from caltest.predictions import Predictions
from caltest.reporting.content import Block, Settings, paragraph, table
from caltest.reporting.reading import count, equals, percent, short_pvalue
from caltest.results import HTestTable

MOST_PDS = 25  # distinct predictions that are grades of themselves
GRADES = 10


def test_grades(predictions: Predictions, settings: Settings) -> HTestTable:
    """Test each grade by its number of defaults, against more of them than its PD says."""
    if predictions.m != 2 or predictions.sample_weight is not None:
        raise NotApplicable(
            "grades are tested by their counts of defaults",
            "pass two classes, and no sample weights",
        )
    pd, default = predictions.probs[:, 1], predictions.labels
    names, codes = _grades(predictions, by=settings.by)
    n = np.bincount(codes, minlength=len(names))
    order = np.argsort(np.bincount(codes, pd) / n, kind="stable")
    return test_master_scale(
        (np.bincount(codes, pd) / n)[order],
        np.bincount(codes, default)[order].astype(np.int64),
        n[order],
        grades=[names[k] for k in order],
        level=settings.level,
    )


test_grades.__test__ = False  # type: ignore[attr-defined]


def _grades(predictions: Predictions, *, by: bool) -> tuple[list[str], np.ndarray]:
    pd = predictions.probs[:, 1]
    if by and predictions.groups is not None:
        names, codes = np.unique(predictions.groups, return_inverse=True)
        return [str(name) for name in names.tolist()], codes
    values, codes = np.unique(pd, return_inverse=True)
    if values.size <= MOST_PDS:
        return [f"PD {percent(round(value, 6))} %" for value in values.tolist()], codes
    ends = np.unique(np.quantile(pd, np.linspace(0, 1, GRADES + 1)[1:-1]))
    codes = np.searchsorted(ends, pd, side="left")
    kept, codes = np.unique(codes, return_inverse=True)
    return [f"{k}" for k in range(1, kept.size + 1)], codes


def grade_blocks(tested: HTestTable | None) -> Iterator[Block]:
    """Yield the table of grades, with their lights.

    Yields
    ------
    Block
        Of the section.
    """
    if tested is None:
        return
    rows, bars = [], []
    for row, adjusted in zip(tested, tested.adjusted.tolist(), strict=True):
        if row.counts is None:
            continue
        defaults, n = row.counts.defaults, row.counts.n
        pd = float(str(row.parameters["PD"]))
        found = row.confidence_interval()
        rows.append(
            (
                str(row.group),
                count(n),
                f"{100 * pd:.2f}",
                f"{n * pd:,.1f}",
                count(defaults),
                f"{100 * defaults / n:.2f}",
                f"{100 * found.low:.2f} to {100 * found.high:.2f}",
                short_pvalue(row.pvalue),
                short_pvalue(adjusted),
            )
        )
        bars.append((found.low - pd, defaults / n - pd, found.high - pd))
    header = ["grade", "obligors", "PD, %", "expected", "defaults", "rate, %"]
    header += ["95 % of the rate", "p-value", "adjusted"]
    lights = tested.traffic_lights
    title = "Grades of the master scale"
    yield table(title, header, rows, shown=25, bars=tuple(bars), lights=lights)
    bounds = tested.light_bounds or ()
    if bounds:
        told = ", ".join(
            f"{colour} at {bound:g} or below"
            for colour, bound in zip(("yellow", "orange", "red"), bounds, strict=True)
        )
        yield paragraph(
            "The tests are one-sided: a small p-value, before adjustment, and its light "
            f"({told}, green above) speak of more defaults than the PD says. A green light does "
            "not say that the PD is not too high."
        )
    for test in tested.omnibus:
        yield paragraph(f"All grades together, {test.test}: p {equals(test.pvalue)}.")
