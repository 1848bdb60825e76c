"""What is printed of a planned study: its power, or the rows that it needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from caltest.render.cells import Pairs, Sheet, number

if TYPE_CHECKING:
    from caltest.planning import Power, PowerRow, PrecisionSize, SampleSize

INTERVAL = "95 % interval"


def sheet_of_power(power: Power) -> Sheet:
    """The print of power, or of size, at one or several numbers of rows."""
    kind = power.setting.kind
    several = len({row.test for row in power.rows}) > 1
    header, rows = _grid(power.rows, several=several, what=kind)
    tests = "tests" if several else "a test"
    return Sheet(
        title=f"{kind.capitalize()} of {tests} of calibration, by simulation",
        facts=_facts(power),
        header=header,
        rows=rows,
        n_text=1 if several else 0,
        closing=tuple(_notes(power)),
        listing=True,
    )


def sheet_of_sample_size(result: SampleSize) -> Sheet:
    """The print of the number of rows that has a power."""
    header, rows = _grid(result.power.rows, several=False, what="power")
    return Sheet(
        title=f"Number of rows for a power of {result.target:g}, by simulation",
        facts=(
            ("n", f"{result.n}, {INTERVAL} {_range(result)}"),
            *_facts(result.power),
        ),
        header=header,
        rows=rows,
        n_text=0,
        closing=tuple(_notes(result.power)),
        listing=True,
    )


def sheet_of_precision(result: PrecisionSize) -> Sheet:
    """The print of the number of rows for confidence intervals of given widths."""
    rows = (
        (row.measure, number(row.value), number(row.width), number(row.standard_error), str(row.n))
        for row in result.rows
    )
    return Sheet(
        title="Number of rows for confidence intervals of given widths",
        facts=(
            ("n", f"{result.n}, with {result.events} events to be expected"),
            ("predictions", result.predictions),
            ("truth", result.truth),
            ("event rate", number(result.event_rate)),
            ("confidence", f"{100 * result.confidence:g} percent"),
        ),
        header=("", "value", "width", "standard error", "n"),
        rows=tuple(rows),
        closing=(("note", "the standard error of E/O is that of its logarithm"),)
        if any(row.measure == "E/O" for row in result.rows)
        else (),
        listing=True,
    )


def _facts(power: Power) -> Pairs:
    setting, first = power.setting, power.rows[0]
    tests = ", ".join(dict.fromkeys(row.test for row in power.rows))
    nulls = ", ".join(dict.fromkeys(row.null for row in power.rows))
    resamples = "" if setting.n_resamples is None else f", B = {setting.n_resamples}"
    each = " at each n" if len({row.n for row in power.rows}) > 1 else ""
    facts = [
        ("predictions", f"{setting.predictions}, m = {setting.m}"),
        ("truth", setting.truth),
        *_deviation(power),
        ("test", f"{tests}, lens: {setting.lens}"),
        ("null hypothesis", setting.hypothesis),
        ("null", f"{nulls}{resamples}"),
        ("level", number(setting.level)),
        ("data sets", f"{first.n_datasets}{each}, seed = {setting.seed}"),
    ]
    return tuple(facts)


def _deviation(power: Power) -> Iterator[tuple[str, str]]:
    setting, effect = power.setting, power.setting.effect
    if setting.calibrated:
        return
    yield "true error", f"{number(effect.error)} (total variation)"
    yield "excess log loss", number(effect.excess)
    names = ("mean risk", "event rate") if setting.m == 2 else ("mean confidence", "accuracy")
    yield names[0], f"{number(effect.predicted)}, true {names[1]} {number(effect.true)}"


def _grid(
    rows: Sequence[PowerRow], *, several: bool, what: str
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    header = ("test",) * several + ("n", what, INTERVAL)
    names = {row.estimate_name for row in rows}
    if len(names) > 1:  # a column of different errors invites a comparison
        return header, tuple(_cells(row, several=several) for row in rows)
    cells = tuple((*_cells(row, several=several), number(row.estimate)) for row in rows)
    return (*header, f"mean {names.pop()}"), cells


def _cells(row: PowerRow, *, several: bool) -> tuple[str, ...]:
    low, high = row.interval()
    numbers = (str(row.n), f"{row.power:.3f}", f"[{low:.3f}, {high:.3f}]")
    return (row.test,) * several + numbers


def _range(result: SampleSize) -> str:
    least, largest = result.searched
    low = f"below {least}" if result.low is None else result.low
    high = f"above {largest}" if result.high is None else result.high
    return f"[{low}, {high}]"


def _notes(power: Power) -> Iterator[tuple[str, str]]:
    for note in power.setting.notes:
        yield "note", note
    for row in power.rows:
        of = f"of {row.n_datasets} data sets of n = {row.n}"
        if row.not_applicable:
            what = f"{row.test} is not defined for {row.not_applicable}"
            yield "note", f"{what} {of}, not rejected: {row.reason}"
        if row.infinite:
            what = f"{row.estimate_name} is not finite in {row.infinite}"
            yield "note", f"{what} {of}; the mean is over the others"
