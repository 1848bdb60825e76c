"""Grades of a master scale, and errors within a tolerance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from caltest.checks import as_array, check_choice, check_groups, check_not_label
from caltest.errors import NotApplicable, invalid, shown
from caltest.htests import test_calibration, test_master_scale
from caltest.predictions import ModelData, Predictions, tables
from caltest.render import digits_of_share, named
from caltest.reporting.content import Block, Settings, Within, WithinRow, notes, paragraph, table
from caltest.reporting.reading import count, equals, percent, sentence, short_pvalue
from caltest.reporting.where import range_names
from caltest.results import HTestTable, verdict
from caltest.results.table import LIGHTS
from caltest.segments.inputs import frame_of
from caltest.types import AnyArray, Floats

MOST_PDS = 25  # distinct predictions that are grades of themselves
GRADES = 10


def read_grades(grades: object, given: ModelData, pd: Floats) -> AnyArray:
    """Return the grade of each row, (n,), from a column, values, or ends of PDs between grades."""
    if isinstance(grades, str):
        frame = frame_of(given)
        if frame is None:
            rule = "grades must be values where there is no data frame that they could be in"
            remedy = "pass one a row, or PDs between grades, [0.01, 0.05]"
            raise invalid(rule, shown(grades), remedy)
        check_not_label(given.label, "grades", grades)
        table = tables.table_of_frame(frame)
        grades = table.column(check_choice(grades, table.names, "grades"))
    values = as_array(grades, "grades")
    if values.dtype.kind != "f" or values.size == pd.size or values.ndim != 1:
        return check_groups(values, pd.size, "grades")
    if not (values.size and values[0] > 0 and values[-1] < 1 and (np.diff(values) > 0).all()):
        rule = "PDs between grades must rise inside (0, 1)"
        raise invalid(rule, shown(values.tolist()), "write them as 0.01, 0.05")
    names = np.array([f"PD {name}" for name in range_names((0.0, *values.tolist(), 1.0))])
    return np.asarray(names[np.searchsorted(values, pd)])


def grade_tests(rows: Predictions, grades: AnyArray | None, settings: Settings) -> HTestTable:
    """Test each grade by its number of defaults, against more of them than its PD says.

    Without grades the distinct PDs are grades where they are few, else tenths of the rows.
    """
    if rows.m != 2 or rows.sample_weight is not None:
        rule = "grades are tested by their counts of defaults"
        raise NotApplicable(rule, "pass two classes, and no sample weights")
    pd, default = rows.probs[:, 1], rows.labels
    values, codes = np.unique(pd if grades is None else grades, return_inverse=True)
    names, told = list(map(str, values.tolist())), list[str]()
    if grades is None:
        names = [f"PD {percent(round(value, 6))} %" for value in values.tolist()]
    if grades is None and values.size > MOST_PDS:
        ends = np.unique(np.quantile(pd, np.linspace(0, 1, GRADES + 1)[1:-1]))
        kept, codes = np.unique(np.searchsorted(ends, pd, side="left"), return_inverse=True)
        names = [f"{k}" for k in range(1, kept.size + 1)]
        told.append("no grades were given: these are tenths of the rows, from low PDs to high ones")
    n = np.bincount(codes, minlength=len(names))
    mean, defaults = np.bincount(codes, pd) / n, np.bincount(codes, default).astype(np.int64)
    order = np.argsort(mean, kind="stable")
    own: dict[str, Any] = {"grades": [names[k] for k in order], "level": settings.level}
    found = test_master_scale(mean[order], defaults[order], n[order], **own)
    told += found.notes
    if rows.has_dependence:
        unit = f"rows of the same {rows.unit}"
        told.append(f"tests and intervals of grades take {unit} as independent")
    return replace(found, notes=tuple(told))


def grade_blocks(tested: HTestTable) -> Iterator[Block]:
    """Yield the table of grades, with their lights.

    Yields
    ------
    Block
        Of the section.
    """
    rows, bars = [], []
    for row, adjusted in zip(tested, tested.adjusted.tolist(), strict=True):
        counts: Any = row.counts  # of each grade
        defaults, n = counts.defaults, counts.n
        pd = float(str(row.parameters["PD"]))
        found = row.confidence_interval()
        d = max(2, *map(digits_of_share, (pd, defaults / n)))
        expected = f"{100 * pd:.{d}f}", f"{n * pd:,.1f}"
        rate = f"{100 * defaults / n:.{d}f}", f"{100 * found.low:.{d}f} to {100 * found.high:.{d}f}"
        pvalues = short_pvalue(row.pvalue), short_pvalue(adjusted)
        rows.append((named(row.group), count(n), *expected, count(defaults), *rate, *pvalues))
        bars.append((found.low - pd, defaults / n - pd, found.high - pd))
    header = ["grade", "obligors", "PD, %", "expected", "defaults", "rate, %"]
    header += ["95 %", "p-value", "adjusted"]
    drawn: dict[str, Any] = {"bars": tuple(bars), "lights": tested.traffic_lights}
    yield table("Grades of the master scale", header, rows, shown=25, **drawn)
    bounds = zip(LIGHTS[1:], tested.light_bounds or (), strict=True)
    lights = ", ".join(f"{colour} at {bound:g} or below" for colour, bound in bounds)
    yield paragraph(
        f"Intervals and p-values are those of \u201c{tested[0].test}\u201d. The test is one-sided: "
        f"a small p-value, before adjustment, and its light ({lights}, green above) speak of more "
        "defaults than the PD says. A green light does not say that the PD is not too high."
    )
    whole = (f"{one.test}, p {equals(one.pvalue)} ({one.null_text})" for one in tested.omnibus)
    if every := "; ".join(whole):
        yield paragraph(
            f"All grades together, by their counts: {every}. Tests of the same name under "
            "\u201cAll tests\u201d are of single rows."
        )
    yield from notes(tested.notes)


# ---- The certificate of a tolerance: whether the error is shown to be within it, or beyond ------

# Errors in the unit of probabilities: the test, the name, and the tolerance as the test has it.
ERRORS = (
    ("ks", "largest cumulative gap (KS)", 1),
    ("debiased-ece", "root mean squared gap of 15 bins, without its bias", 2),
)


def certify(predictions: Predictions, tolerance: float, settings: Settings) -> Within:
    """Test both hypotheses on each error, of all rows and of each group.

    They are that it is at most the tolerance, and at least the tolerance.
    """
    parts: dict[object, Predictions] = {None: predictions}
    if predictions.groups is not None and settings.by:
        parts |= predictions.by_group()
    lens = "strong" if predictions.m == 2 else "confidence"
    run: Any = test_calibration
    rows, left_out = [], []
    for test, title, power in ERRORS:
        settings.progress(f"tolerance, {test}")
        for group, part in parts.items():
            name = title if group is None else f"{title}, group {group}"
            options: dict[str, Any] = {"test": test, "lens": lens, "tolerance": tolerance**power}
            options |= settings.of_draws
            try:
                exceeds, within = (run(part, equivalence=one, **options) for one in (False, True))
            except NotApplicable as problem:
                left_out.append(f"{name}: {sentence(problem)}")
                continue
            estimate = max(exceeds.estimate, 0.0) ** (1 / power)
            rows.append(WithinRow(name, estimate, exceeds.pvalue, within.pvalue))
    groups = len(parts) - 1
    is_whole = not groups or len(rows) == len(ERRORS) * len(parts)
    sentences = tuple(_sentences(rows, tolerance, settings.level, groups, is_whole=is_whole))
    return Within(tolerance, sentences, tuple(rows), tuple(left_out))


def _sentences(
    rows: list[WithinRow], tolerance: float, level: float | None, groups: int, *, is_whole: bool
) -> Iterator[str]:
    """Say of all errors together whether they are shown within, shown beyond, or neither.

    All of them are within only where each is, in each group: the p-value of that is the largest,
    and 1 where one could not be tested. That one of them is beyond has the smallest times their
    number, by Bonferroni.
    """
    if not rows:
        return
    size = f"{100 * tolerance:.3g} percentage points"
    each = f" in each of {groups} groups" if groups else ""
    one = f" in one of {groups} groups or all rows" if groups else ""
    within = max(row.within for row in rows) if is_whole else 1.0
    exceeds = min(1.0, len(rows) * min(row.exceeds for row in rows))
    bound = verdict.SPEAKS if level is None else level
    at = "" if level is None else f", level {level:g}"
    shown_as = "is shown" if level is not None else "is supported by the data"
    if within <= bound:
        yield f"A calibration error within {size}{each} {shown_as} (p {equals(within)}{at})."
    elif exceeds <= bound:
        yield f"A calibration error beyond {size}{one} {shown_as} (p {equals(exceeds)}{at})."
    else:
        yield (
            f"Neither is shown: that the calibration error is within {size}{each} "
            f"(p {equals(within)}), nor that it is beyond{one} (p {equals(exceeds)}{at})."
        )


def within_blocks(within: Within) -> Iterator[Block]:
    """Yield the hypotheses on a tolerance.

    Yields
    ------
    Block
        Of the section.
    """
    if within.rows:
        size = f"{100 * within.tolerance:.3g} points"
        rows = []
        for one in within.rows:
            pvalues = short_pvalue(one.within), short_pvalue(one.exceeds)
            rows.append(
                (one.name, f"{100 * one.estimate:.{digits_of_share(one.estimate)}f}", *pvalues)
            )
        header = ("error", "points", f"p, at least {size}", f"p, at most {size}")
        text = f"p-values: a small one under \u201cat least {size}\u201d shows that the error is "
        text += f"smaller, under \u201cat most {size}\u201d that it is larger"
        yield table("Both hypotheses", header, rows, explained=text)
    yield from notes(within.left_out)
