"""What is printed of a model that is watched."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from caltest.errors import NotApplicable
from caltest.render import Sheet, digits_of, number, rows_in_words
from caltest.results.wording import short, size_in_words

if TYPE_CHECKING:
    from caltest.measures.gap import Gap
    from caltest.monitoring import Monitor

MOST_FINDINGS = 3
LEAST_IN_PERCENT = 1e-4


def evalue(log: float) -> str:
    """An e-value with two digits, from its logarithm.

    Examples
    --------
    >>> evalue(0.0), evalue(9.21), evalue(2302.585)
    ('1', '1e+04', '1e+1000')
    """
    if math.isinf(log):
        return "0" if log < 0 else "infinite"
    return f"{math.exp(log):.2g}" if abs(log) < 700.0 else f"1e{round(log / math.log(10.0)):+d}"


def monitor_in_words(monitor: Monitor, size: Gap | None) -> tuple[tuple[str, str], ...]:
    """The sentences of the verdict: the answer, what is wrong, and which groups."""
    if size is None:
        return (("answer", _no_rows(monitor)),)
    alarm, now = monitor.alarm(), evalue(monitor.log_evalue)
    text = f"e = {now}"
    if not monitor.restart:
        most = now if alarm else evalue(-math.log(monitor.pvalue))
        text += f", {most} at most so far" * (most != now)  # of which the p-value is
        text += f", p {short(monitor.pvalue)}, level {number(monitor.level)}"
    else:
        text += f", a false alarm in {1.0 / monitor.level:,.0f} rows or more on average"
    rows, after = rows_in_words(monitor.n), monitor.alarm_after
    first = f"Alarm after {after:,} of {rows}" if after is not None else f"Alarm in {rows}"
    first = first if alarm else f"No alarm in {rows}"
    sentences = [
        ("answer", f"{first} ({text}). {size_in_words(size, clear=alarm)}"),
        ("interval", f"{_coverage(monitor.level)} at all times at once."),
    ]
    if monitor.impossible_row is not None:
        text = (
            f"the outcome of row {monitor.impossible_row:,}, counted from 0, had probability 0. "
            "That alone refutes calibration, so that e is infinite; the bets leave such rows out."
        )
        sentences.append(("note", text))
    if n := monitor.n_waiting:
        wait = "waits for its outcome" if n == 1 else "wait for their own outcomes or earlier ones"
        sentences.append(("note", f"{rows_in_words(n)} {wait}."))
    if not alarm:
        return tuple(sentences)
    found = monitor.findings()[:MOST_FINDINGS]
    if found:
        row, low, high = (max(1, rows) for rows in monitor.since())
        sentences.append(("since", f"about row {row:,} ({low:,} to {high:,})."))
    for part, log, _, words in found:
        sentences.append(("what", f"{words} ({part}, e = {evalue(log)})."))
    for group, log in sorted(monitor.log_group_evalues.items(), key=lambda one: -one[1]):
        if log >= -math.log(monitor.level):
            sentences.append(("groups", f"{group} (e = {evalue(log)}, adjusted for all groups)."))
    return tuple(sentences)


def _coverage(level: float) -> str:
    """How sure an interval is: 95 %, or 1 - 1e-06 where more digits of 100 % would be needed."""
    return f"{100 * (1 - level):g} %" if level >= LEAST_IN_PERCENT else f"1 - {level:.2g}"


def _no_rows(monitor: Monitor) -> str:
    wait = "waits" if monitor.n_waiting == 1 else "wait"
    waiting = f", {rows_in_words(monitor.n_waiting)} {wait}" if monitor.n_waiting else ""
    return f"No rows yet{waiting}."


def sheet_of_monitor(monitor: Monitor, *, long: bool = False) -> Sheet:
    """The print of a monitor; the long one with parts, groups and confidence sequences."""
    if not monitor.n:
        return Sheet(title="", headline=_no_rows(monitor))
    verdict = monitor.verdict()
    facts = [("rows", f"{monitor.n:,}" + (f", m = {verdict.m}" if verdict.m else ""))]
    if long:
        facts += _sequences(monitor)
    rows = [("all rows", part, evalue(log)) for part, log in monitor.log_parts.items()]
    for group, log in monitor.log_group_evalues.items():
        rows.append((str(group), "all, adjusted", evalue(log)))
    return Sheet(
        title="",
        headline=verdict.headline,
        facts=tuple(facts),
        header=("", "bets on", "e-value") if long else (),
        rows=tuple(rows) if long else (),
        n_text=2,
        closing=tuple(verdict.sentences[1:]),
    )


def _sequences(monitor: Monitor) -> Iterator[tuple[str, str]]:
    percent = f"{_coverage(monitor.level)} at all times"
    low, high = monitor.confidence_sequence("confidence")
    d = digits_of((high - low) / 2)
    points = f"{100 * low:.{d}f} to {100 * high:.{d}f} points"
    name = "accuracy less confidence" if monitor.classes else "coverage of intervals less nominal"
    yield name, f"{points}, {percent}"
    if monitor.restart or not monitor.classes:
        return
    try:
        low, high = monitor.confidence_sequence("temperature")
    except NotApplicable:
        yield "temperature", "none fits the outcomes"
    else:
        ends = f"{low:.2f} to {high:.2f}" if math.isfinite(high) else f"{low:.2f} or more"
        yield "temperature", f"{ends}, {percent}"
