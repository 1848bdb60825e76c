"""Calibrators tested on rows that they were not fitted to, by the rule of `compare_calibrators`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from caltest import measures
from caltest.errors import NotApplicable
from caltest.predictions import Predictions
from caltest.reporting.content import (
    Block,
    Recalibrated,
    RecalibrationContent,
    Settings,
    notes,
    paragraph,
    table,
)
from caltest.reporting.reading import after_reading, decimal, short_pvalue
from caltest.results import ComparedCalibrator, wording

if TYPE_CHECKING:
    from caltest.calibrators import Calibrator
    from caltest.calibrators.base import CalibrationSet
    from caltest.comparison.out_of_fold import OutOfFold

HeldOut = tuple[Recalibrated, Predictions]  # the held-out rows as a calibrator maps them


def compare(
    predictions: Predictions,
    calibrators: Sequence[Calibrator],
    settings: Settings,
    data: CalibrationSet | None = None,
) -> tuple[RecalibrationContent, tuple[HeldOut, ...]]:
    """Score and test each calibrator out of fold; `data` is what they are fitted to, as logits."""
    from caltest.comparison.calibrators import FEWEST_ROWS  # loads scikit-learn
    from caltest.comparison.out_of_fold import best_of, out_of_fold

    if predictions.n < FEWEST_ROWS:
        rule = "calibrators are tested on rows that are held out, and"
        remedy = f"pass {FEWEST_ROWS} rows or more, or leave recalibrate out"
        raise NotApplicable(f"{rule} {predictions.n} rows are too few", remedy)
    named: dict[str, Calibrator] = {}  # by keys; the second of a key has its number beside it
    for one in calibrators:
        same = sum(other.key == one.key for other in named.values())
        named[f"{one.key} {same + 1}" if same else one.key] = one
    correction = "holm" if settings.correction == "joint" else settings.correction
    how: dict[str, Any] = {"correction": correction, "progress": settings.progress}
    found = out_of_fold(predictions, named, data=data, **how, **settings.of_draws)
    kept = [row for row in found.rows if row.name in found.predictions]
    outcomes = tuple((_row(row, found), found.predictions[row.name]) for row in kept)
    left_out = (f"{row.name}: {row.reason}." for row in found.rows if row.reason)
    helps = None  # what the verdict says; nothing where no map could be fitted
    with suppress(NotApplicable):
        helps = wording.recalibrated_in_words(best_of(found, predictions, data), found.level)
    content = RecalibrationContent(
        rows=tuple(row for row, _ in outcomes),
        readings=tuple(after_reading(row, found) for row, _ in outcomes),
        helps=helps,
        tests=found.tests,
        method=found.method,
        lens=next((test.lens for row in found.rows for test in row.tests), "strong"),
        n_fit=found.n_fit,
        n_held_out=found.n_held_out,
        n_folds=found.n_folds,
        correction=found.correction,
        seed=found.seed,
        left_out=(*left_out, *found.notes),
    )
    return content, outcomes


def _row(row: ComparedCalibrator, found: OutOfFold) -> Recalibrated:
    after = found.predictions[row.name]
    test = row.tests[0] if row.tests else None
    inside = getattr(found.maps[row.name], "calibrator", None) or found.maps[row.name]
    return Recalibrated(
        key=row.name,
        title=inside.title,
        log_loss=float(row.scores["log loss"]),
        brier=float(row.scores["Brier score"]),
        ece=float(measures.ece(after, lens=found.lens_of_measures)),
        difference=row.difference,
        stderr=row.stderr,
        pvalue=getattr(test, "pvalue", None),
        adjusted=getattr(test, "adjusted", None),
        fold_pvalues=getattr(test, "fold_pvalues", ()),
    )


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
    yield paragraph(
        f"Each calibrator was fitted {comparison.n_folds} times, to {comparison.n_fit:,} rows or "
        f"one more, and tested on the rows that the fit had not seen, {comparison.n_held_out:,} "
        f"rows in all (folds at random, seed {comparison.seed}). {comparison.method}, lens: "
        f"{comparison.lens}. The commands \u201ccaltest compare\u201d and \u201ccaltest calibrate "
        "fit\u201d have the same p-values for this seed."
    )
    names = [MARKS.get(row.key, row.key) for row in comparison.rows]
    fields = ("log_loss", "brier", "ece", "difference", "stderr")
    columns = [decimal([_of(row, name) for row in comparison.rows]) for name in fields]
    adjusted = ("adjusted",) if comparison.correction else ()
    tested = []
    for name in ("pvalue", *adjusted):
        values = [getattr(row, name) for row in comparison.rows]
        tested.append(["" if value is None else short_pvalue(value) for value in values])
    header = ("calibrator", "p-value", *adjusted, "log loss", "Brier", "ECE", "difference", "s.e.")
    yield table(
        "Rows that were held out",
        header,
        zip(names, *tested, *columns, strict=True),
        explained="difference: of the log loss, from that before, with its standard error",
    )
    yield from notes(comparison.left_out)


def _of(row: Recalibrated, name: str) -> float | None:
    """Return a number of a row; that before differs from itself by nothing that need be said."""
    before = row.key in MARKS and name in {"difference", "stderr"}
    return None if before else getattr(row, name)
