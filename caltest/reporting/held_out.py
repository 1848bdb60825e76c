"""The rows that were held out, before and after each calibrator, as a table."""

from __future__ import annotations

from collections.abc import Iterator

from caltest.render import Sheet
from caltest.reporting.blocks import Block, notes
from caltest.reporting.content import Recalibrated, RecalibrationContent
from caltest.reporting.wording import decimal, short_pvalue

MARKS = {"identity": "before"}


def comparison_blocks(comparison: RecalibrationContent | None) -> Iterator[Block]:
    """Yield the held-out rows, before and after.

    Yields
    ------
    Block
        Of the section.
    """
    if comparison is None:
        return
    yield Block(
        kind="text",
        text=f"Each calibrator was fitted {comparison.n_folds} times, to {comparison.n_fit:,} rows "
        f"or one more, and tested on the rows that the fit had not seen, {comparison.n_held_out:,} "
        f"rows in all (folds at random, seed {comparison.seed}). {comparison.method}, lens: "
        f"{comparison.lens}. The commands \u201ccaltest compare\u201d and \u201ccaltest calibrate "
        "fit\u201d have the same p-values for this seed.",
    )
    names = [MARKS.get(row.key, row.key) for row in comparison.rows]
    fields = ("log_loss", "brier", "ece", "difference", "stderr")
    columns = [decimal([_of(row, name) for row in comparison.rows]) for name in fields]
    tested = [[_pvalue(row.pvalue) for row in comparison.rows]]
    adjusted = ("adjusted",) if comparison.correction else ()
    if adjusted:
        tested.append([_pvalue(row.adjusted) for row in comparison.rows])
    header = ("calibrator", "p-value", *adjusted, "log loss", "Brier", "ECE", "difference", "s.e.")
    rows = tuple(zip(names, *tested, *columns, strict=True))
    closing = (("difference", "of the log loss, from that before, with its standard error"),)
    yield Block(
        kind="sheet",
        sheet=Sheet(title="Rows that were held out", header=header, rows=rows, closing=closing),
    )
    yield from notes(comparison.left_out)


def _of(row: Recalibrated, name: str) -> float | None:
    """Return a number of a row; that before differs from itself by nothing that need be said."""
    before = row.key in MARKS and name in {"difference", "stderr"}
    return None if before else getattr(row, name)


def _pvalue(value: float | None) -> str:
    return "" if value is None else short_pvalue(value)
