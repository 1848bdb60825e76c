"""Sheets of tests, tables, groups, intervals and witnesses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import render as sheet
from caltest.results import wording

if TYPE_CHECKING:
    from caltest.measures.gap import Gap
    from caltest.results import HTest, HTestTable

Columns = dict[str, tuple[str, ...]]


TOLERANCE = "tolerance"  # the null of tests whose hypothesis is the size of an error


FAR_TAILS = ("saddlepoint", "convolution")  # nulls whose p-values have digits however small


CORRECTIONS = {
    "joint": "Westfall-Young step-down",
    "bonferroni": "Bonferroni",
    "sidak": "Sidak",
    "holm": "Holm",
    "holm-sidak": "Holm-Sidak",
    "simes-hochberg": "Simes-Hochberg",
    "hommel": "Hommel",
    "fdr_bh": "Benjamini-Hochberg",
    "fdr_by": "Benjamini-Yekutieli",
}


def sheet_of_test(test: HTest) -> sheet.Sheet:
    """The htest print of one test."""
    numbers = [(test.statistic_name, sheet.number(test.statistic)), ("p-value", _pvalue(test))]
    if test.estimate_name != test.statistic_name:
        numbers.append((test.estimate_name, sheet.number(test.estimate)))
    against = test.side or "the predictions are not calibrated"
    hypothesis = ("alternative hypothesis", f"{against} ({test.lens})")
    if test.null in {TOLERANCE, wording.COMMON}:
        hypothesis = ("null hypothesis", f"{test.claim} ({test.lens})")
    usual = [("if calibrated", text)] if (text := if_calibrated(test)) else []
    parts = test.components  # the most extreme first
    rows = () if parts is None else zip(parts, parts.adjusted.tolist(), strict=True)
    components = [
        (row.test, f"p {sheet.equals(sheet.pvalue(adjusted))}, {row.parameters['finding']}")
        for row, adjusted in rows
    ]
    return sheet.Sheet(
        title=test.method,
        headline=wording.headline(test, test.pvalue),
        facts=(("data", data_line(test)), *_settings(test.parameters), ("null", _null(test))),
        numbers=tuple(numbers),
        closing=(*usual, *components, hypothesis, *notes_of(test.notes)),
    )


def if_calibrated(test: HTest) -> str:
    """The values that the statistic has where the predictions are calibrated, in words."""
    if not test.if_calibrated:
        return ""
    mean, low, high = usual_of(test)
    limits = {"greater": f"at most {high}", "less": f"at least {low}"}
    within = limits.get(test.alternative, f"{low} to {high}")
    return f"{test.statistic_name} = {mean} on average, {within} in 95 % of samples"


def usual_of(test: HTest) -> list[str]:
    """Limits of a statistic over redrawn labels to a hundredth of their width, the mean to a tenth.

    A mean within the noise of 100 resamples about 0 is 0.
    """
    mean, *ends = test.if_calibrated
    spread = max(filter(isfinite, (abs(end - mean) for end in ends)), default=0.0)
    digits = 1 - floor(log10(spread)) if spread else 12
    mean = mean if abs(mean) > spread / 10 else 0.0
    return [sheet.number(round(mean, digits)), *(sheet.number(round(x, digits + 1)) for x in ends)]


def sheet_of_summary(test: HTest, quantiles: Mapping[str, float]) -> sheet.Sheet:
    """The longer print of one test: every field on its line, then the null distribution."""
    facts = {
        "data": test.data_name,
        "group": None if test.group is None else sheet.named(test.group),
        "observations (n)": test.n,
        "classes (m)": test.m or None,
        "lens": test.lens,
        "null hypothesis": test.claim,
        "test": test.test,
        **test.parameters,
        "null": f"{test.null}, {test.null_text}",
        "resamples (B)": test.n_resamples,
        "stopping rule": test.stopping,
        "seed": test.seed,
        f"statistic ({test.statistic_name})": test.statistic,
        f"estimate ({test.estimate_name})": test.estimate,
    }
    lines = [(name, sheet.number(value)) for name, value in facts.items() if value is not None]
    return sheet.Sheet(
        title=test.method,
        headline=wording.headline(test, test.pvalue),
        facts=(*lines, ("p-value", _pvalue(test))),
        header=("under the null", test.statistic_name),
        rows=tuple((name, sheet.number(value)) for name, value in quantiles.items()),
        closing=notes_of(test.notes),
        listing=True,
    )


def sheet_of_table(table: HTestTable, *, long: bool = False) -> sheet.Sheet:
    """The print of several tests, of groups the worst; the long one has sizes and settings too."""
    is_grouped, every = table.noun in GROUPS, f"{len(table):,} {table.noun}"
    shown: list[int] = table.order[: LONG if long else SHOWN].tolist() if is_grouped else []
    shown = shown or list(range(len(table)))
    rows = [table.rows[i] for i in shown]
    names, closing = _name_columns(rows), []
    if is_grouped and max(map(len, names["group"])) > LONGEST:  # the grid has no room for them
        closing = [(f"[{k}]", name) for k, name in enumerate(names["group"], start=1)]
        names |= {"group": tuple(mark for mark, _ in closing)}
    if table.level is not None and is_grouped:
        rejected = f"{table.n_rejected:,} of {every}"
        closing.append((f"rejected at level {sheet.number(table.level)}", rejected))
    if len(rows) < len(table):
        closing.append(("shown", f"the worst {len(rows)} of {every}; all are in to_frame()"))
    closing += _together(table)
    if table.light_bounds is not None:
        yellow, orange, red = map(sheet.number, table.light_bounds)
        what = "more" if all(row.side for row in table.rows) else "more or fewer"
        rule = f"yellow at most {yellow}, orange at most {orange}, red at most {red}"
        closing.append(("traffic lights", f"{what} defaults than predicted, by p-value: {rule}"))
    columns = names | _number_columns(table, shown, long=long)
    return sheet.Sheet(
        title=_shared(row.method for row in rows) or "Tests of calibration",
        headline=wording.headline_of_table(table, table.pvalue),
        facts=_table_facts(table, columns=columns),
        header=tuple("" if name == "code" else name for name in columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        n_text=len(names),
        legend=sheet.LEGEND,
        closing=(*closing, *_table_notes(table)),
    )


def sizes_of(rows: Sequence[HTest]) -> tuple[Gap, ...]:
    """The gaps of the rows of a table by groups, grades aside; else nothing."""
    found = tuple(row.size for row in rows if row.size is not None)
    is_grouped = all(row.group is not None and not row.is_of_grade for row in rows)
    return found if is_grouped and len(found) == len(rows) else ()


def pvalue_of(test: HTest) -> str:
    """The p-value of a test; a small one in digits where it has them."""
    return sheet.pvalue(test.pvalue, _smallest(test))


def _smallest(test: HTest) -> str:
    """The smallest p-value that is shown as a number: that of redrawn labels is a count."""
    counted = test.n_resamples is not None or test.null in FAR_TAILS
    return sheet.SMALLEST_TAIL if counted else sheet.SMALLEST


def _pvalue(test: HTest) -> str:
    """The p-value, and whether more resamples could make it smaller."""
    least = f" (the least possible with B = {test.n_resamples})" if test.is_least_pvalue else ""
    return pvalue_of(test) + least


def data_line(test: HTest) -> str:
    """What was tested."""
    group = "" if test.group is None else f", group: {sheet.named(test.group)}"
    return f"{test.data_name} ({sizes_in_words(test.n, test.m)}){group}, lens: {test.lens}"


def sizes_in_words(n: int, m: int) -> str:
    """The numbers of rows and of classes, where there are some."""
    return f"n = {n:,}, m = {m}" if m else f"n = {n:,}"


def _null(test: HTest) -> str:
    if test.n_resamples is None:
        return f"{test.null}, {test.null_text}"
    resamples = _resamples([test]) + (f" ({test.stopping})" if test.stopping else "")
    return f"{test.null}, {test.null_text}, {resamples}, seed = {test.seed}"


def _resamples(rows: Sequence[HTest]) -> str:
    """The number of resamples, or the smallest and the largest of those that were adapted."""
    numbers = sorted({row.n_resamples for row in rows if row.n_resamples is not None})
    return f"B = {' to '.join(map(str, dict.fromkeys((numbers[0], numbers[-1]))))}"


def _settings(parameters: Mapping[str, object]) -> sheet.Pairs:
    """The parameters as lines: a text begins a line, a number or a rule qualifies it."""
    lines: list[tuple[str, str]] = []
    previous = ""
    for name, value in parameters.items():
        if isinstance(value, str) and not name.endswith(" rule"):
            lines.append((name, value))
        else:
            head, so_far = lines.pop() if lines else ("parameters", "")
            of_previous = name == f"{previous} rule"
            more = f" ({value})" if of_previous else f", {name} = {sheet.number(value)}"
            lines.append((head, (so_far + more).removeprefix(", ")))
        previous = name
    return tuple(lines)


def notes_of(notes: Sequence[str]) -> sheet.Pairs:
    """The notes of a result, a line each."""
    return tuple(("note", note) for note in notes)


def _name_columns(rows: Sequence[HTest]) -> Columns:
    """What tells the rows apart; the lens where nothing does."""
    names = {"data": "data_name"} | {name: name for name in ("group", "test", "lens", "null")}
    columns = {
        k: cells_of((getattr(row, own) for row in rows), sheet.named) for k, own in names.items()
    }
    differing = {name: cells for name, cells in columns.items() if len(set(cells)) > 1}
    if len({*zip(*differing.values(), strict=True)}) < len(rows) > 1:  # by other options, perhaps
        own = {k: cells_of(row.parameters.get(k) for row in rows) for k in rows[0].parameters}
        differing |= {name: cells for name, cells in own.items() if len(set(cells)) > 1}
    return differing or {"lens": columns["lens"]}


def _number_columns(table: HTestTable, shown: Sequence[int], *, long: bool) -> Columns:
    rows, adjusted = [table.rows[i] for i in shown], table.adjusted[shown].tolist()
    columns: Columns = {}
    if long or len({row.n for row in rows}) > 1 or table.noun == "grades":
        columns["n"] = tuple(f"{row.n:,}" for row in rows)
    if long and len({row.n_resamples for row in rows} - {None}) > 1:
        columns["B"] = cells_of(row.n_resamples for row in rows)
    if sizes := sizes_of(rows):
        columns |= gap_columns(sizes)
    names = dict.fromkeys(name for row in rows for name in row.parameters)
    for name in (name for name in names if long or name in table.columns):
        values = [row.parameters.get(name) for row in rows]
        cells = cells_of(values)
        if len(set(cells)) > 1 and not any(isinstance(value, str) for value in values):
            columns[name] = cells
    columns |= _estimate_columns(rows)
    columns["p-value"] = tuple(pvalue_of(row) for row in rows)
    if table.correction is not None:
        columns["adjusted"] = tuple(map(sheet.pvalue, adjusted, [_smallest(row) for row in rows]))
    columns["code"] = tuple(sheet.stars(value) for value in adjusted)
    if table.light_bounds is not None:
        columns["light"] = tuple(table.traffic_lights[i] for i in shown)
    if table.level is not None:
        words = tuple(sheet.verdict(value) for value in table.rejected[shown].tolist())
        columns[f"at level {sheet.number(table.level)}"] = words
    return columns


def _estimate_columns(rows: Sequence[HTest]) -> Columns:
    """What was computed, and the mean that it has where the predictions are calibrated."""
    columns: Columns = {}
    name = _shared(row.estimate_name for row in rows) or "estimate"
    columns[name] = tuple(sheet.number(row.estimate) for row in rows)
    if any(row.statistic_name != row.estimate_name for row in rows):
        name = _shared(row.statistic_name for row in rows) or "statistic"
        columns[name] = tuple(sheet.number(row.statistic) for row in rows)
    if any(row.if_calibrated for row in rows):
        means = (usual_of(row)[0] if row.if_calibrated else "" for row in rows)
        columns["if calibrated"] = tuple(means)
    return columns


def gap_columns(sizes: Sequence[Any]) -> Columns:
    """Prediction, observation and gap with its interval, each row with the digits that it needs."""
    cells = []
    for one in sizes:
        d = sheet.digits_of_gap(one)
        ends = f"[{100 * one.low:z.{d}f}, {100 * one.high:z.{d}f}]"
        shares = (f"{100 * value:.{d}f}" for value in (one.predicted, one.observed))
        cells.append((*shares, f"{100 * (one.observed - one.predicted):+z.{d}f}", ends))
    names = ("predicted", "observed", "gap", "95 %")
    return dict(zip(names, zip(*cells, strict=True), strict=True))


def _table_facts(table: HTestTable, *, columns: Columns) -> sheet.Pairs:
    """The lines that hold for every row, and how the p-values were adjusted."""
    rows = table.tests or table.rows[:1]
    own = rows[0].parameters.items()
    shared = {k: x for k, x in own if all(row.parameters.get(k) == x for row in rows)}
    facts, is_grouped = [("data", _table_data(table, rows, shown=columns))], table.noun in GROUPS
    count, noun, adjusted_for = len(table), table.noun, f"{len(table)} test{'s' * (len(table) > 1)}"
    if is_grouped:  # of which columns, how large, and why adjusted so where nobody asked for it
        sizes = np.quantile(table.row_counts, (0, 0.5, 1))
        least, middle, most = (f"{value:,.0f}" for value in sizes)
        each = f"{most} row{'s' * (most != '1')} each"
        each = f"{least} to {most} rows, median {middle}" if least != most else each
        facts.append((noun, f"{count:,} of {' x '.join(table.by or ('group',))}, {each}"))
        why = {"joint": " whose redrawn statistics are kept"}
        if not table.tests:
            shared_rows = ", which may share rows" if noun == "segments" else " that share no row"
            why["holm"] = f"{shared_rows}; redrawn statistics are not kept"
        adjusted_for = f"{count:,} {noun}{why.get(table.correction or '', '')}"
    facts += [*_settings(shared), ("null", _table_null(rows))]
    if all(row.null == TOLERANCE for row in rows):
        facts.append(("null hypothesis", ", ".join(dict.fromkeys(row.claim for row in rows))))
    facts += _sides(rows)
    key = table.correction or ""
    name = CORRECTIONS.get(key, key) or ("not at all" if is_grouped else "")
    facts.append(("adjusted", name and f"{name}, {adjusted_for}"))
    return tuple((name, value) for name, value in facts if value)


def _sides(rows: Sequence[HTest]) -> sheet.Pairs:
    """What tests look for that look for one direction only, with their keys where others do not."""
    same = _shared(row.side for row in rows)
    if same:
        return (("alternative hypothesis", same),)
    owners: dict[str, list[str]] = {}
    for row in rows:
        if row.side and row.test not in owners.setdefault(row.side, []):
            owners[row.side].append(row.test)
    what = "alternative hypothesis, "
    return tuple((what + ", ".join(tests), side) for side, tests in owners.items())


def _table_null(rows: Sequence[HTest]) -> str:
    """The null of all rows, with the part of its text and resampling that they share."""
    key = _shared(row.null for row in rows)
    if not key:
        return ""
    parts = [key, _null_text(rows)]
    resampled = [row for row in rows if row.n_resamples is not None]
    if resampled:
        seed = _shared(str(row.seed) for row in resampled)
        rules = {(row.stopping or "").partition(":")[0] for row in resampled}
        parts.append(_resamples(resampled) + "".join(f" ({rule})" for rule in rules if rule))
        parts.append(f"seed = {seed}" if seed else "a seed for each group")
    return ", ".join(filter(None, parts))


def _null_text(rows: Sequence[HTest]) -> str:
    """The null in words of the rows that are resampled, if they are, where they share one."""
    resampled = [row for row in rows if row.n_resamples is not None]
    return _shared(row.null_text for row in resampled or rows)


def _table_data(table: HTestTable, rows: Sequence[HTest], *, shown: Columns) -> str:
    """The parts of the data line that all rows share and no column shows."""
    first, is_grouped = rows[0], table.noun in GROUPS
    sizes = [] if "n" in shown and not is_grouped else [f"n = {table.n:,}"]
    sizes += [f"m = {first.m}"] if first.m and len({row.m for row in rows}) == 1 else []
    size = ", ".join(sizes)
    if "data" not in shown:
        size = f"{first.data_name} ({size})" if size else first.data_name
    group = "" if "group" in shown or first.group is None else f"group: {sheet.named(first.group)}"
    lens = "" if "lens" in shown else f"lens: {first.lens}"
    return ", ".join(filter(None, [size, group, lens]))


def _together(table: HTestTable) -> sheet.Pairs:
    """The tests of all groups together; the null first where several share it."""
    tests, every = table.omnibus, f"all {table.noun if table.noun in GROUPS else 'groups'}"
    text = _shared(_null(test) for test in tests) if len(tests) > 1 else ""
    several = len({(test.test, test.lens) for test in tests}) > 1
    lines = [(every, text)] if text else []
    for test in tests:
        lens = "" if _shared(test.lens for test in tests) else f", {test.lens}"
        value = f"{test.statistic_name} = {sheet.number(test.statistic)}"
        numbers = f"{value}, p-value {sheet.equals(pvalue_of(test))}"
        if test.level is not None:
            numbers += f", {sheet.verdict(test.rejected)} at level {sheet.number(test.level)}"
        name = f"{test.test}{lens}" if several else every
        lines.append((name, numbers if text else f"{numbers} ({_null(test)})"))
    is_one_of_several = bool(table.tests) or len(tests) > 1
    is_plain = wording.claim_of(table.rows[0]) is wording.CALIBRATION
    if table.together is not None and is_one_of_several and is_plain:
        value = sheet.equals(sheet.pvalue(table.together, sheet.SMALLEST_TAIL))
        what = "of all groups together or of the worst, whichever is more extreme"
        if not table.tests:
            what = "the smallest of these, each divided by its share of the level"
        lines.append(("answer", f"p-value {value}, {what}"))
    if table.difference is not None:
        lines.append(("difference", wording.difference_in_words(table.difference)))
    if sizes := sizes_of(table.tests or table.rows[:1]):
        what = ", of the predicted class being right" * (sizes[0].kind == "confidence")
        lines.append(("predicted, observed, gap", f"{GAPS}{what}"))
    return tuple(lines)


def _table_notes(table: HTestTable) -> sheet.Pairs:
    """Each note once, with the rows that it belongs to unless it belongs to all.

    They are called by the first name that differs, where all rows of that name have the note.
    """
    rows = table.tests or table.rows[:1]
    columns = tuple(_name_columns(rows).values())
    text, every, owners = _null_text(rows), Counter(columns[0]), dict[str, dict[int, None]]()
    for i, row in enumerate(rows):
        own_text = [f"under the null, {row.null_text}"] if text and row.null_text != text else []
        for note in (*own_text, *row.notes):
            owners.setdefault(note, {})[i] = None

    def whose(own: Iterable[int]) -> str:
        first = Counter(columns[0][i] for i in own)
        names = wording.called(", ".join(first), rows)
        if all(every[name] == count for name, count in first.items()):
            if len(first) > 1:
                names = re.sub("^(grade|group) ", r"\1s ", names)
            return "" if first == every else f"{names}: "
        return f"{'; '.join(', '.join(cells[i] for cells in columns) for i in own)}: "

    return notes_of([f"{whose(own)}{note}" for note, own in owners.items()]) + notes_of(table.notes)


def cells_of(values: Iterable[Any], shown: Callable[[Any], str] = sheet.number) -> tuple[str, ...]:
    """The cells of a column; an empty one where there is no value."""
    return tuple("" if value is None else shown(value) for value in values)


def _shared(values: Iterable[str]) -> str:
    """The one value that all have in common, or nothing."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else ""


GAPS = "in per cent and percentage points; gap = observed - predicted, each interval by itself"


GROUPS = ("groups", "segments")  # nouns of rows of which the worst are printed


LONGEST = 18  # names of groups that the grid has room for


SHOWN, LONG = 20, 100  # groups of a print, and of the longer one
