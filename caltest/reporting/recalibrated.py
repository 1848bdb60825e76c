"""Calibrators tested on rows that they were not fitted to, by the rule of `compare_calibrators`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from caltest import measures, render
from caltest.errors import NotApplicable
from caltest.predictions import Predictions
from caltest.reporting import content, reading
from caltest.results import ComparedCalibrator, wording
from caltest.results.comparison import REFERENCE

if TYPE_CHECKING:
    from caltest.comparison.maps import AnyCalibrator
    from caltest.comparison.out_of_fold import OutOfFold

HeldOut = tuple[content.Recalibrated, Any]  # the held-out rows as a calibrator of classes maps them


def compare(
    rows: Predictions, maps: Sequence[AnyCalibrator], settings: content.Settings, data: Any
) -> tuple[content.RecalibrationContent, tuple[HeldOut, ...]]:
    """Score and test each calibrator out of fold; `data` is what they are fitted to, as logits."""
    from caltest.comparison.calibrators import FEWEST_ROWS  # loads scikit-learn
    from caltest.comparison.out_of_fold import best_of, out_of_fold

    if rows.n < FEWEST_ROWS:
        rule = "calibrators are tested on rows that are held out, and"
        remedy = f"pass {FEWEST_ROWS} rows or more, or leave recalibrate out"
        raise NotApplicable(f"{rule} {rows.n} rows are too few", remedy)
    named: dict[str, AnyCalibrator] = {}  # by keys; the second of a key has its number beside it
    for one in maps:
        same = sum(other.key == one.key for other in named.values())
        named[f"{one.key} {same + 1}" if same else one.key] = one
    correction = "holm" if settings.correction == "joint" else settings.correction
    how: dict[str, Any] = {"correction": correction, "progress": settings.progress}
    how["asked_as"] = "recalibrate"
    found = out_of_fold(rows, named, data=data, **how, **settings.of_draws)
    kept = [row for row in found.rows if not row.reason]
    outcomes = tuple((_row(row, found), found.predictions.get(row.name)) for row in kept)
    left_out = (f"{row.name}: {row.reason}." for row in found.rows if row.reason)
    helps = None  # what the verdict says; nothing where no map could be fitted
    with suppress(NotApplicable):
        helps = wording.recalibrated_in_words(best_of(found, rows, data), found.level)
    names = ("tests", "method", "n_fit", "n_held_out", "n_folds", "correction", "seed")
    return content.RecalibrationContent(
        rows=tuple(row for row, _ in outcomes),
        readings=tuple(after_reading(row, found) for row, _ in outcomes),
        helps=helps,
        lens=next((test.lens for row in found.rows for test in row.tests), "strong"),
        left_out=(*left_out, *found.notes),
        **{name: getattr(found, name) for name in names},
    ), outcomes


def _row(row: ComparedCalibrator, found: OutOfFold) -> content.Recalibrated:
    after = found.predictions.get(row.name)
    test = row.tests[0] if row.tests else None
    scores = {name.replace("Brier score", "Brier"): float(x) for name, x in row.scores.items()}
    if after is not None:
        scores["ECE"] = float(measures.ece(after, lens=found.lens_of_measures))
    return content.Recalibrated(
        key=row.name,
        title=(getattr(found.maps[row.name], "calibrator", None) or found.maps[row.name]).title,
        scores=scores,
        difference=row.difference,
        stderr=row.stderr,
        pvalue=getattr(test, "pvalue", None),
        adjusted=getattr(test, "adjusted", None),
        fold_pvalues=getattr(test, "fold_pvalues", ()),
    )


def after_reading(row: content.Recalibrated, found: OutOfFold) -> str:
    """Return in words what the held-out rows say of one map, or of the model before."""
    if row.pvalue is None:
        return "The test is not defined for these data."
    is_before = row.key == REFERENCE
    what = "probabilities" if found.m else "forecasts"
    whose = f"the {what} before recalibration" if is_before else f"the maps of {row.key}"
    parts = len(row.fold_pvalues)
    how = "tested together"
    if parts > 1:
        how = f"in {parts} parts, each tested by itself, p-values combined by Fisher's method"
    often = f"{reading.frequency(row.pvalue)} data sets like this one"
    text = f"Were {whose} right, held-out rows as far off as these would come up in {often} "
    text += f"({found.n_held_out:,} rows, {how})."
    if found.level is None or row.adjusted is None:
        return text
    word = "rejected" if row.adjusted <= found.level else "not rejected"
    return f"{text} At level {found.level:g}: {word}."


def blocks_of(comparison: content.RecalibrationContent) -> Iterator[content.Block]:
    """Yield the held-out rows, before and after.

    Yields
    ------
    Block
        Of the section.
    """
    others = render.rows_of_fits(comparison.n_fit, comparison.n_folds, comparison.n_held_out)
    yield content.paragraph(
        f"Each calibrator was fitted {comparison.n_folds} times, to {others} rows, and tested on "
        f"the rows that the fit had not seen, {comparison.n_held_out:,} in all (folds at random, "
        f"seed {comparison.seed}). {comparison.method}, lens: {comparison.lens}. The commands "
        "\u201ccaltest compare\u201d and \u201ccaltest calibrate fit\u201d have the same p-values "
        "for this seed."
    )
    before: dict[str, Any] = {"key": "before", "difference": None, "stderr": None}  # from itself
    rows = [replace(row, **before) if row.key == REFERENCE else row for row in comparison.rows]
    adjusted = ("adjusted",) if comparison.correction else ()
    cells = []
    for row in rows:
        pvalues = (row.pvalue, row.adjusted)[: 1 + len(adjusted)]
        numbers = reading.decimal((*row.scores.values(), row.difference, row.stderr))
        cells.append((row.key, *map(reading.short_pvalue, pvalues), *numbers))
    names = list(rows[0].scores) if rows else ["score"]
    header = ("calibrator", "p-value", *adjusted, *names, "difference", "s.e.")
    text = f"difference: of the {names[0]}, from that before, with its standard error"
    yield content.table("Rows that were held out", header, cells, explained=text)
    yield from content.notes(comparison.left_out)
