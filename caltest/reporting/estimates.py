"""Calibration in numbers, and proper scores with their parts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np

from caltest import measures, render
from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.htests import test_calibration
from caltest.lenses import Classwise
from caltest.measures.gap import LEVEL, event_rows, gap_of, share_limits
from caltest.measures.recalibration.expected_observed_ratio import ratio_limits, ratio_of_counts
from caltest.numerics.softmax import softmax
from caltest.plots.seen import RowsEvent
from caltest.predictions import Predictions, Rows
from caltest.reporting.about import Profile
from caltest.reporting.content import Block, Estimated, Parts, Score, Scores, notes, table
from caltest.reporting.reading import MINUS, count, decimal, decimals_of, number, short_pvalue
from caltest.reporting.source import Source, frequent_classes
from caltest.results import HTest, HTestTable, wording

Z = 1.959963984540054  # of a normal interval of 95 %
WORDS = {"points": " points", "share": " %"}  # behind what is shown times 100
DRAWN = 199  # redrawn labels of what an error is if calibrated, where its test has none
MOST_NUMBERS = 1e7  # rows times classes: they take about 10 s
CLASSWISE = "classwise ECE"
SMALLEST = 1e-12  # probability whose logarithm is taken

# The tests whose estimate stands in the table: name, value of calibration unless it is the mean
# over redrawn labels, unit, what it says.
OF_INTERCEPT = "log odds, slope 1; above 0 where the event is more frequent than predicted"
OF_SLOPE = "below 1 where predictions are too extreme"
OF_TESTS: dict[str, tuple[str, float | None, str, str]] = {
    "calibration-in-the-large": ("calibration intercept", 0.0, "", OF_INTERCEPT),
    "calibration-slope": ("calibration slope", 1.0, "", OF_SLOPE),
    "ici": ("ICI", None, "points", "mean distance of the predictions from a loess curve"),
    "ece": ("ECE (15 bins)", None, "points", "mean gap of bins; above 0 by chance too"),
    "smooth-ece": ("smooth ECE", None, "points", "mean gap after smoothing"),
    "corp": ("miscalibration MCB (CORP)", None, "score", "what recalibration could gain"),
    "brier": ("Brier score", None, "score", "smaller is better"),
}


def collect_estimates(
    source: Source, tests: HTestTable, profile: Profile, scores: Scores
) -> Iterator[Estimated]:
    """Yield the numbers of the field for data of two classes, or for confidence.

    Yields
    ------
    Estimate
        With its interval, where there is one.
    """
    gap = source.gap()
    known = source.predictions
    depend = known if known is not None and known.has_dependence else None
    name, note = "accuracy less confidence", "below 0: overconfident"
    if source.m > 2:
        low, high = map(float, share_limits(gap.observed, source.effective))
        if depend:  # the gap from one prediction for all rows
            rows = event_rows(depend)
            one = gap_of(rows._replace(probs=np.full(rows.probs.size, gap.observed)), "", "")
            low, high = gap.observed + one.low, gap.observed + one.high
        yield Estimated("mean confidence", gap.predicted, unit="share")
        yield Estimated("accuracy", gap.observed, low=low, high=high, unit="share")
    else:
        name = f"{profile.observed} less {profile.predicted}"
        digits = render.digits_of_gap(gap)
        note = f"{100 * gap.observed:.{digits}f} % against {100 * gap.predicted:.{digits}f} %"
    yield Estimated(name, gap.gap, 0.0, gap.low, gap.high, unit="points", note=note)
    if source.m == 2 and gap.observed > 0 and gap.predicted > 0:
        ratio, limits = gap.predicted / gap.observed, ratio_limits(gap)
        note = "of sums of weights"
        if source.weight is None:
            event = source.event
            expected, observed = float((event.mass * event.values).sum()), event.counts[1]
            note = f"{expected:,.1f} {profile.events} predicted, {observed:,} observed"
            if depend is None:
                found = ratio_of_counts(expected, observed, source.n, LEVEL)
                ratio, limits = found.ratio, (found.low, found.high)
        yield Estimated("expected / observed (E/O)", ratio, 1.0, *limits, note=note)
    several = source.predictions if source.m > 2 else None
    if several is not None and (temperature := temperature_interval(several)):
        value, low, high = temperature
        note = "fitted to these rows; above 1: predictions are too extreme"
        yield Estimated("temperature", value, 1.0, low, high, note=note)
    note = "mean over classes of the gap of 15 bins; above 0 by chance too"
    for score in scores.scores:
        if score.name == CLASSWISE:
            yield Estimated(CLASSWISE, score.value, score.expected, unit="points", note=note)
    yield from _tested(source.lens, tests)


def _tested(lens: str, tests: HTestTable) -> Iterator[Estimated]:
    """Yield the numbers of the field that were tested under the lens, each once."""
    done: set[str] = set()
    for row in tests.rows:
        of_event = row.lens == lens and row.group is None and row.test in OF_TESTS
        if not of_event or row.test in done or not np.isfinite(row.estimate):
            continue
        done.add(row.test)
        name, ideal, unit, note = OF_TESTS[row.test]
        if ideal is None and row.if_calibrated:
            ideal = row.if_calibrated[0]
        least = most = None
        with suppress(NotApplicable):
            interval = row.confidence_interval(n_resamples=499)
            least, most, of = interval.low, interval.high, wording.rows_of_slope(interval)
            note += f";{of}" if of else ""
        yield Estimated(name, row.estimate, ideal, least, most, row.pvalue, unit, note)


def temperature_interval(predictions: Predictions) -> tuple[float, float, float] | None:
    r"""Return the temperature that fits the labels best, with its interval; None where none does.

    The exponent :math:`b = 1 / T` maximises :math:`\sum_i w_i \log softmax(b \log p_i)_{y_i}`; its
    standard error is that of a sandwich, by clusters where there are some.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=2000, m=3, rng=1)
    >>> value, low, high = temperature_interval(data)
    >>> low < 1 < high
    True
    """
    from caltest.numerics.softmax import RANGE, inverse_temperature  # loads numba

    probs, labels, weight = predictions.probs, predictions.labels, predictions.weights
    # No temperature changes a probability of 0: rows with such an outcome tell nothing of it.
    seen = (weight > 0) & (probs[np.arange(predictions.n), labels] > 0)
    logs, labels, weight = np.log(np.maximum(probs[seen], SMALLEST)), labels[seen], weight[seen]
    b, curvature = inverse_temperature(logs, labels, weight)
    if curvature <= 0 or not RANGE[0] < b < RANGE[1]:
        return None
    expected = np.einsum("ik,ik->i", softmax(logs, b), logs)
    sums = weight * (logs[np.arange(labels.size), labels] - expected)
    if predictions.has_dependence:
        codes = np.unique(np.asarray(predictions.clusters)[seen], return_inverse=True)[1]
        sums = np.asarray(np.bincount(codes, sums), dtype=np.float64)
    half = Z * float(np.sqrt(sums @ sums)) / (curvature * float(weight.sum()))
    return 1.0 / b, 1.0 / (b + half), 1.0 / (b - half) if b > half else float("inf")


def estimate_blocks(estimates: Sequence[Estimated]) -> Iterator[Block]:
    """Yield the table of numbers.

    Yields
    ------
    Block
        Of the section.
    """
    if estimates:
        header = ("measure", "value", "95 % interval", "calibrated", "p-value", "")
        yield table("Estimates", header, map(_estimate_row, estimates))


def _estimate_row(one: Estimated) -> tuple[str, ...]:
    least = (one.high - one.low) / 2 if one.low is not None and one.high is not None else one.value
    digits = render.digits_of(least)
    value, low, high = (_in_unit(end, one.unit, digits) for end in (one.value, one.low, one.high))
    interval = f"{low} to {high}" if low and high else ""
    times = 100 if one.unit in WORDS else 1
    ideal = "" if one.ideal is None else f"{round(times * one.ideal, digits):g}"
    size = value + WORDS.get(one.unit, "")
    return one.name, size, interval, ideal, short_pvalue(one.pvalue), one.note


def _in_unit(value: float | None, unit: str, digits: int) -> str:
    if value is None or unit == "count":
        return "" if value is None else count(value)
    if unit in WORDS:
        return f"{100 * value:z.{digits}f}".replace("-", MINUS)
    return number(value, 4 if unit == "score" else 2)


# ---- Scores with their distribution under calibration, and the parts of the Brier score ---------

OF_DISCRIMINATION = (
    "definitions: the AUC is the chance that of two rows with different outcomes the one with the "
    "event has the higher prediction, ties counted as half; its interval has DeLong's variance, "
    "over clusters where rows depend, and the limits of Newcombe (2006); the Brier skill score is "
    "1 less the Brier score over that of the observed frequencies; a model may discriminate well "
    "and not be calibrated"
)
OF_CLASSES = (
    "if calibrated: the mean, and the range by the central limit theorem, over labels redrawn from "
    "the probabilities; a calibration error is not 0 for a calibrated model either"
)
OF_FORECASTS = (
    "if calibrated: the mean, and the range of 95 %, over outcomes redrawn from the forecasts; the "
    "CRPS is in the unit of the outcomes, and smaller scores are better"
)


def collect_scores(source: Source, tests: HTestTable, profile: Profile) -> Scores:
    """Return discrimination, scores and the CORP decomposition under one-dimensional lenses."""
    predictions, event = source.predictions, source.event
    remarks: tuple[str, ...] = ()
    # An infinite log loss is shown as such.
    with warnings.catch_warnings(action="ignore", category=DegenerateDataWarning):
        scored = {"Brier score": event.parts("brier"), "log loss": event.parts("log-loss")}
        parts = [Parts(name, source.lens, found) for name, found in scored.items()]
    if predictions is not None and source.m > 2:
        codes = frequent_classes(predictions)
        names = predictions.classes[codes].tolist()
        each = {str(lens): lens(predictions) for lens in map(Classwise, names)}
        parts += [Parts("Brier score", name, RowsEvent(one).parts()) for name, one in each.items()]
        if len(codes) < source.m:
            chosen = f"{len(codes)} classes with the largest expected number of rows"
            remarks = (f"Decomposed for the {chosen}.",)
    scores = tuple(_scores(source, tests))
    discrimination = tuple(_discrimination(source, profile, scores, parts[0].parts))
    return Scores(discrimination, scores, tuple(parts), remarks)


def _discrimination(
    source: Source, profile: Profile, scores: Sequence[Score], brier: measures.ScoreDecomposition
) -> Iterator[Estimated]:
    """Yield the number of events, the area under the ROC curve, and the Brier skill score."""
    counts, by = source.label_counts, ""
    if counts is not None:
        if source.weight is not None:
            counts, by = np.array([one.observed for one in source.class_counts()]), " by weight"
        name = profile.events if source.m == 2 else "rows of the rarest class"
        rows, n = counts[1] if source.m == 2 else counts.min(), float(counts.sum())
        note = f"of {n:,.0f} rows{by} ({render.share(rows / n)})"
        yield Estimated(name, float(rows), unit="count", note=note)
    pairs = "mean over pairs of classes (Hand and Till); " if source.m > 2 else ""
    note = f"{pairs}0.5: no discrimination, 1: perfect"
    with suppress(NotApplicable):
        area = source.area()
        auc, low, high = area.auc, area.low, area.high
        yield Estimated("AUC (C-statistic)", auc, None, low, high, unit="score", note=note)
        if profile.graded:
            note = "2 AUC \u2212 1"
            auc, low, high = (2.0 * value - 1.0 for value in (auc, low, high))
            yield Estimated("Gini (accuracy ratio)", auc, None, low, high, unit="score", note=note)
    value, base = brier.score, brier.uncertainty
    if source.m > 2 and source.predictions is not None:
        shares = np.array([one.observed for one in source.class_counts()])
        base = 1.0 - float(np.square(shares / shares.sum()).sum())
        value = next(one.value for one in scores if one.name == "Brier score")
    if base > 0:
        note = "0: no better than the observed frequencies, 1: perfect"
        yield Estimated("Brier skill score", 1.0 - value / base, unit="score", note=note)


def _scores(source: Source, tests: HTestTable) -> Iterator[Score]:
    """Yield scores with the range of redrawn labels, and errors with that of their null."""
    for name, sums, most in source.score_sums():
        value, expected, variance = sums.tolist()
        half = Z * float(np.sqrt(max(variance, 0.0)))
        # The range of the central limit theorem knows no limits, the score does.
        low, high = max(expected - half, 0.0), min(expected + half, most)
        yield Score(name, value, expected, *((low, high) if np.isfinite(value) else ()))
    rows, errors = source.predictions, [(f"ECE ({source.lens}, 15 bins)", "ece", source.lens)]
    errors += [(CLASSWISE, "classwise-ece", "strong")] * (source.m > 2)
    for name, test, lens in errors:
        row = next((row for row in tests.rows if (row.test, row.lens) == (test, lens)), None)
        is_long = row is None and rows is not None and rows.n * source.m > MOST_NUMBERS
        if row is None and rows is not None:
            asked: dict[str, Any] = {"test": test, "lens": lens, "rng": tests.rows[0].seed}
            drawn = 1 if is_long else DRAWN
            row = cast("HTest", test_calibration(None, rows, n_resamples=drawn, **asked))
        if row is not None:
            yield Score(name, row.estimate, *(() if is_long else if_calibrated(row, rows)))


def if_calibrated(row: HTest, rows: Rows | None) -> list[float]:
    """Mean and range of 95 % of an estimate over redrawn labels, of rows taken as independent."""
    if row.null == "cluster" and rows is not None:
        asked: dict[str, Any] = {"test": row.test, "lens": row.lens, "null": "exact"}
        asked |= {"n_resamples": max(row.n_resamples or 0, DRAWN), "rng": row.seed}
        with suppress(NotApplicable):  # censored times are not redrawn
            found = test_calibration(None, rows, **asked)
            row = found if isinstance(found, HTest) else row
    values = row.null_distribution
    if values is None or row.null != "exact":
        return []
    return [float(values.mean()), *np.quantile(values, [0.025, 0.975]).tolist()]


def score_blocks(scores: Scores) -> Iterator[Block]:
    """Yield discrimination, scores and their parts.

    Yields
    ------
    Block
        Of the section.
    """
    if scores.discrimination:
        yield table(
            "Discrimination",
            ("measure", "value", "95 % interval", ""),
            [(*_estimate_row(one)[:3], one.note) for one in scores.discrimination],
            explained=OF_DISCRIMINATION * (len(scores.discrimination) > 1),
        )
    rows: list[Sequence[str]] = []
    for one in scores.scores:
        shown = (one.value, one.expected, one.low, one.high)
        value, expected, low, high = decimal(shown, decimals_of(one.value))
        rows.append((one.name, value, expected, f"{low} to {high}" if low and high else ""))
    header = ("score", "value", "if calibrated", "95 % of values")
    if rows:
        yield table("Scores", header, rows, explained=OF_CLASSES if scores.parts else OF_FORECASTS)
    rows = []
    for part in scores.parts:
        of = part.parts
        shown = (of.score, of.miscalibration, of.discrimination, of.uncertainty)
        rows.append((part.score, part.lens, *decimal(shown, decimals_of(of.score))))
    if rows:
        yield table(
            "Score = miscalibration \u2212 discrimination + uncertainty",
            ("score", "lens", "value", "MCB", "DSC", "UNC"),
            rows,
            n_text=2,
            explained="parts: by the isotonic fit of the labels (CORP; Dimitriadis, Gneiting, "
            "Jordan 2021): MCB is what recalibration could gain on these data, DSC what the "
            "predictions gain on the class frequencies, UNC the score of these",
        )
    yield from notes(scores.notes)
