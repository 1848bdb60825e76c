"""What is printed of comparisons: of calibrators by cross-validation, and of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from caltest.render import LEGEND, Pairs, Sheet, number, pvalue, stars, verdict
from caltest.results.sheets import CORRECTIONS, notes_of

if TYPE_CHECKING:
    from caltest.comparison import OutOfFold
    from caltest.results import CalibratorComparison, ComparedCalibrator, ModelComparison
    from caltest.results.comparison import ComparedRow, Comparison

Columns = dict[str, tuple[str, ...]]


COMBINED = (
    "held-out parts whose maps agree (as those of identity) tested together, others each by "
    "itself, p-values combined by Fisher's method"
)


HYPOTHESIS = "the maps that are fitted to the training rows are calibrated"


PARTS = {"miscalibration": "MCB", "discrimination": "DSC"}


def sheet_of_calibrators(
    comparison: CalibratorComparison, *, proper: Sequence[str] = (), long: bool = False
) -> Sheet:
    """The print of compared calibrators; the long one has all scores and calibration errors.

    `proper` has the keys of the tests whose estimates are proper scores.
    """
    rows = comparison.rows
    columns = {"calibrator": tuple(row.name for row in rows)}
    columns |= _all_scores(rows) if long else _calibrator_columns(comparison)
    folds = f"{comparison.n_folds}-fold cross-validation"
    if comparison.n_folds == 1:
        folds = "a held-out part"
    # Symbols of the estimates of the tests that are no proper scores.
    tests = () if long else (test for row in rows for test in row.tests if test.test not in proper)
    estimates = [test.estimate_name for test in tests]
    # What is selected with all rows, and what was in the training rows of the folds.
    counts = Counter(next((row.chosen for row in rows if row.chosen), ())).most_common()
    text = ", ".join(f"{name} {count}" for name, count in counts)
    in_folds = f" (in the training rows of the folds: {text})" if counts else ""
    return Sheet(
        title=f"Calibrators compared by {folds}",
        facts=(
            ("data", f"{comparison.data_name} (n = {comparison.n}, m = {comparison.m})"),
            *_kinds(rows, "optimised", comparison, estimates),
            *(() if long else _calibrator_facts(comparison)),
        ),
        header=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        legend=LEGEND if not long and _kinds_of(rows) else "",
        closing=(
            ("selected", f"{comparison.selected}{in_folds}; best is fitted to all rows"),
            *(() if long else _calibrator_verdicts(comparison)),
            *_reasons(rows),
            *notes_of(comparison.notes),
        ),
    )


def sheet_out_of_fold(found: OutOfFold) -> Sheet:
    """The print of maps out of fold: nothing is selected, so that all are shown alike."""
    columns = {"calibrator": tuple(row.name for row in found.rows)} | _calibrator_columns(found)
    return Sheet(
        title="Out of fold: each row is predicted by a map that was not fitted to it",
        facts=(
            ("data", f"{found.data_name} (n = {found.n}, m = {found.m})"),
            *(pair for pair in _calibrator_facts(found) if pair[0] != "selected"),
        ),
        header=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        legend=LEGEND if _kinds_of(found.rows) else "",
        closing=(*_calibrator_verdicts(found), *_reasons(found.rows), *notes_of(found.notes)),
    )


def _kinds(
    rows: Sequence[ComparedRow], name: str, comparison: Comparison, estimates: Sequence[str] = ()
) -> Pairs:
    """Say which columns are scores that may be optimised, and which errors are reported only."""
    score, lens = comparison.score, comparison.lens_of_measures
    others = [key for key in dict.fromkeys(k for row in rows for k in row.scores) if key != score]
    measures = list(dict.fromkeys((*estimates, *(key for row in rows for key in row.measures))))
    lines = [(name, f"{score} (proper, like {_joined(others)})" if others else score)]
    if measures:
        lines.append(("reported only", f"{_joined(measures)} (not proper; lens of ECE: {lens})"))
    return tuple(lines)


def _calibrator_facts(comparison: CalibratorComparison | OutOfFold) -> Pairs:
    """How differences, selection and p-values were found."""
    rule = f"least {comparison.score} of an inner cross-validation in the training rows"
    facts = [
        ("difference", "from identity, mean over the held-out rows, with its standard error"),
        ("selected", rule),
    ]
    if comparison.n_fit is not None:  # JSON of earlier versions does not have it
        fitted = f"a map fitted to {comparison.n_fit}"
        text = f"{comparison.n_held_out} tested, each predicted by {fitted} others"
        facts.append(("rows", text))
    tested = next((row.tests for row in comparison.rows if row.tests), ())
    if tested:
        lenses = ", ".join(dict.fromkeys(test.lens for test in tested))
        sampling = f"B = {comparison.n_resamples}, seed = {comparison.seed}"
        text = f"{comparison.method}, lens: {lenses}, {sampling}"
        if comparison.n_folds > 1:
            text += f"; {COMBINED}"
        facts += [("null hypothesis", HYPOTHESIS), ("test", text)]
        count = sum(len(row.tests) for row in comparison.rows)
        facts += _adjustment(comparison.correction, f"{count} tests")
    return tuple(facts)


def _calibrator_columns(comparison: CalibratorComparison | OutOfFold) -> Columns:
    rows, score = comparison.rows, comparison.score
    columns = {
        score: tuple(_cell(row.scores.get(score)) for row in rows),
        "difference": tuple(_cell(row.difference) for row in rows),
        "s.e.": tuple(_cell(row.stderr) for row in rows),
    }
    kinds, level = _kinds_of(rows), comparison.level
    by_kind = [{(test.test, test.lens): test for test in row.tests} for row in rows]
    of = {kind: [own.get(kind) for own in by_kind] for kind in kinds}
    pvalues = {kind: [t.adjusted if t else None for t in own] for kind, own in of.items()}
    if len(kinds) != 1:
        return columns | {_name(kind, kinds): _coded(own) for kind, own in pvalues.items()}
    # The one test has its estimate and its p-values; a verdict takes the room of one.
    tests, adjusted = of[kinds[0]], comparison.correction is not None
    symbol = next(test.estimate_name for test in tests if test is not None)
    columns[symbol] = tuple("" if t is None else number(t.estimate) for t in tests)
    if adjusted and level is None:
        columns["p-value"] = tuple("" if t is None else pvalue(t.pvalue) for t in tests)
    columns["adjusted" if adjusted else "p-value"] = _coded(pvalues[kinds[0]])
    if level is not None:
        words = tuple("" if t is None else verdict(t.adjusted <= level) for t in tests)
        columns[f"at level {number(level)}"] = words
    return columns


def _calibrator_verdicts(comparison: CalibratorComparison | OutOfFold) -> Pairs:
    """What is rejected at the level; one test has a column for it."""
    kinds = _kinds_of(comparison.rows)
    if len(kinds) < 2:
        return ()
    found: dict[str, list[tuple[str, float | None]]] = {_name(kind, kinds): [] for kind in kinds}
    for row in comparison.rows:
        for test in row.tests:
            found[_name((test.test, test.lens), kinds)].append((row.name, test.adjusted))
    return _verdicts(found, comparison.level)


def _kinds_of(rows: Sequence[ComparedCalibrator]) -> list[tuple[str, str]]:
    """The tests that there are, by key and lens."""
    return list(dict.fromkeys((test.test, test.lens) for row in rows for test in row.tests))


def _reasons(rows: Sequence[ComparedCalibrator]) -> Pairs:
    return tuple(("note", f"{row.name}: {row.reason}") for row in rows if row.reason)


def sheet_of_models(comparison: ModelComparison, *, long: bool = False) -> Sheet:
    """The print of compared models; the long one has all scores, parts and calibration errors."""
    rows = comparison.rows
    columns = {"model": tuple(row.name for row in rows)}
    columns |= _all_scores(rows) if long else _model_columns(comparison)
    for name, symbol in PARTS.items() if long else ():
        if any(name in row.parts for row in rows):
            columns[symbol] = tuple(_cell(row.parts.get(name)) for row in rows)
    facts = [
        ("data", f"{len(rows)} models on the same rows (n = {comparison.n}, m = {comparison.m})"),
        *_kinds(rows, "compared by", comparison),
        *(() if long else _model_facts(comparison)),
    ]
    if long and comparison.decomposed:  # with the uncertainty, which all models share
        shared = f"UNC = {number(rows[0].parts['uncertainty'])}"
        text = f"{comparison.decomposed} = MCB - DSC + UNC (CORP), {shared}"
        facts.append(("decomposition", text))
    return Sheet(
        title="Models compared on the same rows",
        facts=tuple(facts),
        header=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        legend="" if long else LEGEND,
        closing=(*(() if long else _model_verdicts(comparison)), *notes_of(comparison.notes)),
    )


def _model_facts(comparison: ModelComparison) -> Pairs:
    """How differences and p-values were found, with the hypothesis of each."""
    best = comparison.reference == comparison.best
    origin = f"{comparison.reference}{' (the best)' if best else ''}"
    percent = f"{100 * comparison.confidence:g} percent"
    sampling = f"B = {comparison.n_resamples}, seed = {comparison.seed}"
    text = f"sign flips and of labels redrawn between both models, {sampling}"
    facts = [
        ("difference", f"from {origin}, mean over rows, with its {percent} interval"),
        ("p (score)", f"H0: the expected scores are equal; the larger p-value of {text}"),
    ]
    tests = comparison.tests.rows
    for test in tests[: len(tests) // len(comparison.rows)]:
        text = f"B = {test.n_resamples}, seed = {test.seed}"
        text = test.null_text if test.n_resamples is None else text
        name = _name((test.test, test.lens), _tested(comparison))
        facts.append((name, f"{test.method}, lens: {test.lens}, {text}"))
    pairs = sum(pair.pvalue is not None for pair in comparison.pairs)
    count = f"{pairs} difference{'s' * (pairs != 1)}; {len(tests)} tests of calibration"
    return (*facts, *_adjustment(comparison.correction, count))


def _tested(comparison: ModelComparison) -> list[tuple[str, str]]:
    """The tests that every model has."""
    return [(test.test, test.lens) for test, _ in comparison.tests_of(comparison.rows[0].name)]


def _model_columns(comparison: ModelComparison) -> Columns:
    rows, score = comparison.rows, comparison.score
    differences = [row.difference for row in rows]
    columns = {
        score: tuple(_cell(row.scores.get(score)) for row in rows),
        "difference": tuple(_cell(d.difference if d else None) for d in differences),
        "low": tuple(_cell(d.low if d else None) for d in differences),
        "high": tuple(_cell(d.high if d else None) for d in differences),
        "p (score)": _coded([None if d is None else d.adjusted for d in differences]),
    }
    tests = {row.name: comparison.tests_of(row.name) for row in rows}
    kinds = _tested(comparison)
    for place, kind in enumerate(kinds):
        columns[_name(kind, kinds)] = _coded([tests[row.name][place][1] for row in rows])
    return columns


def _model_verdicts(comparison: ModelComparison) -> Pairs:
    """What is rejected at the level, if one was given."""
    differences = [row.difference for row in comparison.rows if row.difference is not None]
    found = {"p (score)": [(d.name, d.adjusted) for d in differences]}
    kinds = _tested(comparison)
    for place, kind in enumerate(kinds):
        tests = ((row.name, comparison.tests_of(row.name)[place][1]) for row in comparison.rows)
        found[_name(kind, kinds)] = list(tests)
    return _verdicts(found, comparison.level)


def _verdicts(
    found: Mapping[str, Sequence[tuple[str, float | None]]], level: float | None
) -> Pairs:
    """For each hypothesis, the rows for which it is rejected."""
    if level is None:
        return ()
    lines = []
    for hypothesis, values in found.items():
        names = [name for name, p in values if p is not None and p <= level]
        words = f"{verdict(bool(names))}{' for ' * bool(names)}{_joined(names)}"
        lines.append((f"at level {number(level)}, {hypothesis}", words))
    return tuple(lines)


def _all_scores(rows: Sequence[ComparedRow]) -> Columns:
    """Every score and calibration error, a column each."""
    columns: Columns = {}
    for kind in ("scores", "measures"):
        of: list[Mapping[str, float]] = [getattr(row, kind) for row in rows]
        for name in dict.fromkeys(name for values in of for name in values):
            columns[name] = tuple(_cell(values.get(name)) for values in of)
    return columns


def _adjustment(correction: str | None, count: str) -> list[tuple[str, str]]:
    if correction is None:
        return []
    return [("adjusted", f"{CORRECTIONS.get(correction, correction)}, {count}")]


def _name(kind: tuple[str, str], kinds: Sequence[tuple[str, str]]) -> str:
    """The name of the p-values of a test: its key, with its lens where a key has several."""
    several = sum(test == kind[0] for test, _ in kinds) > 1
    return f"p ({kind[0]}, {kind[1]})" if several else f"p ({kind[0]})"


def _cell(value: float | None) -> str:
    return "" if value is None else number(value)


def _coded(values: Sequence[float | None]) -> tuple[str, ...]:
    """P-values with their codes, which take the places of the longest so that numbers align."""
    places = max((len(stars(value)) for value in values if value is not None), default=0)
    gap = " " if places else ""
    return tuple(
        "" if value is None else f"{pvalue(value)}{gap}{stars(value):{places}}" for value in values
    )


def _joined(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
