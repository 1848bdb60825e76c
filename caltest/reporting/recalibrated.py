"""Calibrators fitted to one half of the data and tested on the other, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest import measures
from caltest.calibrators import REGISTRY, BinaryCalibrator, Calibrator, OneVsRest
from caltest.errors import InvalidInput, NotApplicable
from caltest.htests import DEFAULT
from caltest.htests.combine import adjusted_pvalues
from caltest.predictions import Predictions
from caltest.reporting.content import Recalibrated, RecalibrationContent
from caltest.reporting.reading import reading, sentence
from caltest.reporting.tested import Settings, run
from caltest.results import HTest, HTestTable

Rows = NDArray[np.int64]

FEWEST_ROWS = 10  # rows of which halves are made


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The held-out part as a calibrator maps it."""

    row: Recalibrated
    test: HTest
    predictions: Predictions


def compare(
    predictions: Predictions, calibrators: Sequence[Calibrator], settings: Settings
) -> tuple[RecalibrationContent, tuple[HeldOut, ...]]:
    """Fit each calibrator on one half and test its predictions of the other."""
    if predictions.n < FEWEST_ROWS:
        raise NotApplicable(
            f"calibrators are compared on halves of the data, and {predictions.n} rows are too few",
            f"pass {FEWEST_ROWS} rows or more, or leave recalibrate out",
        )
    fit, held_out = (predictions.subset(rows) for rows in halves(predictions, settings.seed))
    lens = "strong" if predictions.m == 2 else "confidence"
    outcomes, left_out = [], []
    for calibrator in [REGISTRY["identity"](), *calibrators]:
        settings.progress(f"calibrator {calibrator.key}")
        try:
            outcomes.append(_outcome(calibrator, fit, held_out, lens, settings))
        except (NotApplicable, InvalidInput) as error:
            left_out.append(f"{calibrator.key}: {sentence(error)}")
    tests = [outcome.test for outcome in outcomes]
    # Of different predictions: their labels are not redrawn together.
    adjusted, name = adjusted_pvalues([test.pvalue for test in tests], settings.correction)
    table = HTestTable(tuple(tests), name, adjusted, level=settings.level)
    pairs = zip(table.rows, table.adjusted.tolist(), strict=True)
    comparison = RecalibrationContent(
        rows=tuple(outcome.row for outcome in outcomes),
        tests=table,
        readings=tuple(reading(row, value) for row, value in pairs),
        n_fit=fit.n,
        n_held_out=held_out.n,
        seed=settings.seed,
        left_out=tuple(left_out),
    )
    return comparison, tuple(outcomes)


def halves(predictions: Predictions, seed: int) -> tuple[Rows, Rows]:
    """Deal the rows of each class at random to two parts, in turn."""
    order = np.random.default_rng(seed).permutation(predictions.n)
    order = order[np.argsort(predictions.labels[order], kind="stable")]
    return np.sort(order[::2]), np.sort(order[1::2])


def _outcome(
    calibrator: Calibrator,
    fit: Predictions,
    held_out: Predictions,
    lens: str,
    settings: Settings,
) -> HeldOut:
    mapped = calibrator
    if isinstance(calibrator, BinaryCalibrator) and fit.m > 2:
        mapped = OneVsRest(calibrator)
    probs = mapped.fit(fit).predict_proba(held_out)
    after = Predictions(
        probs,
        held_out.labels,
        sample_weight=held_out.sample_weight,
        source=str(calibrator.key),
        renormalize=True,
    )
    after = Predictions.trusted(after.probs, held_out.labels, held_out.classes, like=after)
    test = run(after, DEFAULT, "strong", settings).rows[0]
    row = Recalibrated(
        key=calibrator.key,
        title=calibrator.title,
        log_loss=float(measures.log_loss(after)),
        brier=float(measures.brier_score(after)),
        ece=float(measures.ece(after, lens=lens)),
    )
    return HeldOut(row, test, after)
