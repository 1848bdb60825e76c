"""The tests of a report: a plan is run, and its results become one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from caltest.errors import NotApplicable
from caltest.htests import test_calibration
from caltest.htests.combine import adjusted_rows
from caltest.lenses import Lens
from caltest.measures import Measure
from caltest.predictions import Predictions
from caltest.render import Sheet
from caltest.reporting.blocks import Block, notes
from caltest.reporting.content import Content
from caltest.reporting.plan import TestPlan
from caltest.reporting.reading import MEANING, sentence
from caltest.reporting.wording import short_pvalue, significant
from caltest.results import HTest, HTestTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all tests of a report share."""

    seed: int
    n_resamples: int
    correction: str | None
    level: float | None
    n_jobs: int | None
    by: bool
    progress: Callable[[str], None]


def run(
    predictions: Predictions,
    test: str | Measure,
    lens: str | Lens,
    settings: Settings,
    *,
    by: bool = False,
) -> HTestTable:
    """Run one test under one lens; a single result becomes a table of one row."""
    settings.progress(f"{test}, lens {lens}")
    result = test_calibration(
        None,
        predictions,
        test=test,
        lens=lens,
        by=True if by else None,
        correction=settings.correction,
        n_resamples=settings.n_resamples,
        rng=settings.seed,
        n_jobs=settings.n_jobs,
        level=settings.level,
    )
    if isinstance(result, HTestTable):
        return result
    return table_of([cast("HTest", result)], settings)


def table_of(rows: list[HTest], settings: Settings) -> HTestTable:
    """Adjust the p-values of all rows together."""
    adjusted, name = adjusted_rows(rows, settings.correction)
    return HTestTable(tuple(rows), name, adjusted, level=settings.level)


def run_tests(
    predictions: Predictions, plan: TestPlan, settings: Settings
) -> tuple[HTestTable, tuple[str, ...]]:
    """Run the tests of a plan; those that are not defined for the data are noted instead."""
    rows: list[HTest] = []
    left_out = list(plan.notes)
    for entry in plan.entries:
        try:
            part = run(predictions, entry.test, entry.lens, settings)
        except NotApplicable as error:
            if entry is plan.entries[-1] and not rows:
                raise
            left_out.append(f"{entry.test}, lens {entry.lens}: {sentence(error)}")
            continue
        rows += part.rows
        left_out += part.notes
    return table_of(rows, settings), tuple(left_out)


def test_blocks(content: Content) -> Iterator[Block]:
    """Yield all tests.

    Yields
    ------
    Block
        Of the section.
    """
    table = content.answer.tests
    adjusted = ("adjusted",) if table.correction is not None else ()
    rows = tuple(
        (
            row.test,
            row.lens,
            short_pvalue(row.pvalue),
            *((short_pvalue(value),) if adjusted else ()),
            f"{row.estimate_name} {significant(row.estimate)}",
        )
        for row, value in zip(table, table.adjusted.tolist(), strict=True)
    )
    header = ("test", "lens", "p-value", *adjusted, "estimate")
    sheet = Sheet(
        title="Tests of calibration",
        header=header,
        rows=rows,
        n_text=2,
        closing=_table_notes(table),
    )
    yield Block(kind="text", text=MEANING)
    yield Block(
        kind="text",
        text=f"The answer is that of {table[0].test}, the first of them, with its own p-value, "
        "adjusted for groups and segments where there are some but not for the other tests.",
    )
    yield Block(kind="sheet", sheet=sheet)
    findings = tuple(_findings(table))
    if findings:
        yield Block(kind="heading", text="What the combined tests saw first")
        yield Block(kind="facts", sheet=Sheet(title="Findings", facts=findings))
    if table.level is not None:
        yield Block(
            kind="text",
            text=f"At level {table.level:g}, with adjusted p-values, calibration is rejected by "
            f"{int(table.rejected.sum())} of {len(table)} tests.",
        )
    yield from notes(content.answer.left_out)


def _findings(table: HTestTable) -> Iterator[tuple[str, str]]:
    """What the component says that is farthest out, where the whole is small."""
    bound = 0.1 if table.level is None else table.level
    for row, value in zip(table, table.adjusted.tolist(), strict=True):
        if row.components is not None and value <= bound:
            first = row.components.rows[0]
            yield row.lens, f"{first.parameters['finding']} ({first.test})"


def _table_notes(table: HTestTable) -> tuple[tuple[str, str], ...]:
    """Each remark on a test once, with the rows that it belongs to."""
    owners: dict[str, list[str]] = {}
    for row in table:
        for note in row.notes:
            owners.setdefault(note, []).append(f"{row.test}, {row.lens}")
    return tuple(
        ("note", f"{_some(rows)}: {note}" if len(rows) < len(table) else note)
        for note, rows in owners.items()
    )


def _some(names: list[str], most: int = 3) -> str:
    shown = "; ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
