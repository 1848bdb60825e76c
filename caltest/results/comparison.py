"""What comparisons of calibrators and of models return."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from caltest.checks import check_choice, checks_values
from caltest.drawing import draw
from caltest.render import LEGEND, Pairs, Sheet, number, pvalue, rows_of_fits, stars, verdict
from caltest.results import htest, wording
from caltest.results.base import NEVER, Settled, Summary, Table
from caltest.results.sheets import CORRECTIONS, Columns, cells_of, notes_of, sizes_in_words
from caltest.results.table import HTestTable
from caltest.types import Axes

if TYPE_CHECKING:
    from caltest.comparison import OutOfFold

    Maps: TypeAlias = "CalibratorComparison | OutOfFold"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDifference(Settled):
    """The mean difference of two scores on the same rows, the first minus the second.

    Attributes
    ----------
    name, other : str
        The two that are compared; a negative difference says that `name` is better.
    difference : float
        The mean over rows, in the units of the score.
    stderr, low, high : float or None
        Its standard error and the ends of its interval; None where a score is infinite.
    pvalue, adjusted : float or None
        The larger one of sign flips and of redrawn labels, and adjusted for the number of
        comparisons.
    """

    name: str
    other: str
    difference: float
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    pvalue: float | None = None
    adjusted: float | None = None

    def reversed(self) -> ScoreDifference:
        """Return the same comparison with the two in the other order."""
        ends = [None if end is None else -end for end in (self.high, self.low)]
        turned = {"name": self.other, "other": self.name, "low": ends[0], "high": ends[1]}
        return replace(self, difference=0.0 - self.difference, **turned)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedPart(Settled):
    """A test of calibration of the held-out rows, its p-values combined.

    Parts whose maps agree are tested together, each other part by itself.

    Attributes
    ----------
    test, lens : str
        Keys.
    estimate_name : str
        Symbol of the calibration error.
    estimate : float
        Mean of the estimates of the tests, each by its share of the rows.
    pvalue, adjusted : float
        The combined p-value, before and after the adjustment for the number of tests.
    fold_pvalues : tuple of float
        The p-values that are combined: one where all maps agree, as for the uncalibrated model.
    """

    test: str
    lens: str
    estimate_name: str
    estimate: float
    pvalue: float
    adjusted: float
    fold_pvalues: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow(Settled):
    """What rows of both comparisons have.

    Attributes
    ----------
    name : str
        As it prints.
    scores : Mapping
        Proper scores by name, means over rows; they may be optimised.
    measures : Mapping
        Calibration errors by name; to be reported only.
    """

    name: str
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    measures: Mapping[str, float] = field(default_factory=dict, hash=False)


class Comparison(Table[Any]):
    """Prints and tables of a comparison."""

    __slots__ = ()
    score: str
    lens_of_measures: str

    def __getitem__(self, key: str | int | slice) -> Any:
        """Return a row by its name or its place."""
        if not isinstance(key, str):
            return self.rows[key]
        names = [row.name for row in self.rows]
        return self.rows[names.index(check_choice(key, names, "name"))]

    @abstractmethod
    def _sheet(self, *, long: bool = False) -> Sheet:
        """Return the print; the long one has all scores, their parts and calibration errors."""

    def summary(self) -> Summary:
        """Return the print of all scores, their parts, and the calibration errors."""
        return Summary(self._sheet(long=True))

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the differences of the scores with their standard errors or intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return draw("score_plots.score_differences", self, ax=ax)


# ---- The result of `compare_calibrators` --------------------------------------------------------

SELECTED = "selected"
REFERENCE = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCalibrator(ComparedRow):
    """A calibrator, or the procedure that selects one, on rows that it was not fitted to.

    Attributes
    ----------
    name : str
        As it prints: a key, a name that the caller gave, or "selected".
    calibrator : str
        The calibrator with its options, or the rule of selection.
    scores : Mapping
        Proper scores by name, means over the held-out rows: these may be optimised. Empty where
        the calibrator could not be fitted.
    measures : Mapping
        Calibration errors by name, of all held-out rows together: these are reported only.
    difference, stderr : float or None
        Mean over the held-out rows of the score less that of the uncalibrated model, None where
        both are infinite in the same row, and its standard error, None where the mean is infinite.
    tests : tuple of TestedPart
        The tests of calibration of the held-out rows.
    chosen : tuple of str
        What the selection chose in the training rows of each fold; empty for a calibrator.
    reason : str
        Why there are no scores, or nothing.
    """

    calibrator: str
    difference: float | None = None
    stderr: float | None = None
    tests: tuple[TestedPart, ...] = ()
    chosen: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CalibratorComparison(Comparison):
    """Calibrators compared by cross-validation; `compare_calibrators` returns it.

    Attributes
    ----------
    rows : tuple of ComparedCalibrator
        The uncalibrated model first ("identity"), the calibrators, and last "selected": the
        procedure that takes the calibrator with the least score.
    score : str
        Name of the proper score that is optimised.
    selected : str
        Name of the calibrator with the least score, of forecasts among those that rule out no more
        of the outcomes than the model.
    best : Calibrator or None
        That calibrator, fitted to all rows. Neither compared nor written to JSON, for it has a
        `to_json` of its own.
    data_name : str
        What was calibrated.
    n, m : int
        Numbers of rows and of classes, 0 of forecasts.
    n_folds : int
        Number of held-out parts.
    n_fit, n_held_out : int or None
        Rows that each map was fitted to, the least over the folds, and rows that were held out and
        tested.
    method : str
        The tests and their null, in words.
    lens_of_measures : str
        Lens of the reported ECE and KS error; empty of forecasts.
    n_resamples, seed : int
        How to repeat it.
    correction, level : str or None, float or None
        As in `test_calibration`.
    notes : tuple of str
        What a reader should see.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=200, m=2, rng=1)
    >>> result = ct.compare_calibrators(data, calibrators=["platt"], n_resamples=99, rng=1)
    >>> [row.name for row in result.rows], result.selected
    (['identity', 'platt', 'selected'], 'platt')
    """

    schema: ClassVar[str] = "caltest/calibrator-comparison/1"

    rows: tuple[ComparedCalibrator, ...]
    score: str
    selected: str
    best: Any = field(default=None, compare=False, metadata=NEVER)
    data_name: str
    n: int
    m: int
    n_folds: int
    method: str
    lens_of_measures: str
    n_resamples: int
    seed: int
    correction: str | None = None
    level: float | None = None
    notes: tuple[str, ...] = ()
    n_fit: int | None = None
    n_held_out: int | None = None

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per calibrator; None where there is no value."""
        complete = max(self.rows, key=lambda row: (len(row.tests), len(row.measures)))
        records = []
        for row in self.rows:
            values: dict[str, Any] = {"name": row.name, "calibrator": row.calibrator}
            values |= {name: row.scores.get(name) for name in complete.scores}
            values |= {"difference": row.difference, "stderr": row.stderr}
            values |= {name: row.measures.get(name) for name in complete.measures}
            own = {(test.test, test.lens): test for test in row.tests}
            for test in complete.tests:
                found = own.get((test.test, test.lens))
                for name in ("estimate", "pvalue", "adjusted"):
                    values[f"{test.test}[{test.lens}] {name}"] = getattr(found, name, None)
            records.append(values | {"chosen": ", ".join(row.chosen), "reason": row.reason})
        return records

    def _sheet(self, *, long: bool = False) -> Sheet:
        from caltest.measures.base import keys_offering

        proper = keys_offering("is_proper_score")
        tests = () if long else (test for row in self.rows for test in row.tests)
        errors = [test.estimate_name for test in tests if test.test not in proper]
        folds = f"{self.n_folds}-fold cross-validation" if self.n_folds > 1 else "a held-out part"
        # What is selected with all rows, and what was in the training rows of the folds.
        counts = Counter(next((row.chosen for row in self.rows if row.chosen), ())).most_common()
        text = ", ".join(f"{name} {count}" for name, count in counts)
        in_folds = f" (in the training rows of the folds: {text})" if counts else ""
        kinds, title = _kinds(self, "optimised", errors), f"Calibrators compared by {folds}"
        selected = f"{self.selected}{in_folds}; best is fitted to all rows"
        sheet = sheet_of_maps(self, title, kinds=kinds, selected=selected, long=long)
        return replace(sheet, headline=self._headline())

    def _headline(self) -> str:
        """The map with the least score, and how much less it is."""
        best = self[self.selected]
        least, text = best.scores.get(self.score, math.nan), f"Least held-out {self.score}"
        others = [row.scores.get(self.score, math.inf) for row in self.rows[:-1]]
        if not self.m and any(score < least for score in others):
            text += " of the maps that rule out no more outcomes"
        text += f": {best.name} ({number(least)})"
        if best.name == REFERENCE:
            return f"{text}; no map has less."
        if best.difference is None or best.stderr is None:
            return f"{text}."
        less = f"{number(-best.difference)} less than {REFERENCE}"
        return f"{text}, {less} (s.e. {number(best.stderr)})."


# ---- The result of `compare_models` -------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedModel(ComparedRow):
    """A model on the rows that all models share.

    Attributes
    ----------
    name : str
        Name of the model.
    scores : Mapping
        Proper scores by name, means over rows.
    measures : Mapping
        Calibration errors by name.
    parts : Mapping
        "miscalibration", "discrimination" and "uncertainty", where they are defined: the score is
        the first less the second plus the third.
    difference : ScoreDifference or None
        From the reference; None for the reference itself.
    """

    parts: Mapping[str, float] = field(default_factory=dict, hash=False)
    difference: ScoreDifference | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelComparison(Comparison):
    """Models compared on the same rows; `compare_models` returns it.

    Attributes
    ----------
    rows : tuple of ComparedModel
        The models, in the order in which they were given.
    score : str
        Name of the proper score that is compared.
    best : str
        Name of the model with the least score.
    reference : str
        Name of the model that the others are compared with.
    pairs : tuple of ScoreDifference
        All comparisons: of each model with a reference that was named, else of all pairs.
    tests : HTestTable
        The tests of calibration, of each model in turn (`data_name`), adjusted together.
    decomposed : str
        Name of the score that `parts` decompose, or nothing.
    lens_of_measures : str
        Lens of the reported ECE and KS error; empty of forecasts, which have others.
    confidence : float
        Level of the intervals, each by itself.
    n, m : int
        Numbers of rows and of classes, 0 of forecasts.
    n_resamples, seed : int
        Of the sign flips.
    correction, level : str or None, float or None
        As in `test_calibration`.
    notes : tuple of str
        What a reader should see.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=200, m=2, rng=1)
    >>> models = {"as it is": data.probs, "cautious": (data.probs + 0.5) / 2}
    >>> ct.compare_models(models, data.labels, n_resamples=99, rng=1).best
    'as it is'
    """

    schema: ClassVar[str] = "caltest/model-comparison/3"

    rows: tuple[ComparedModel, ...]
    pairs: tuple[ScoreDifference, ...]
    tests: HTestTable
    score: str
    best: str
    reference: str
    decomposed: str
    lens_of_measures: str
    confidence: float
    n: int
    m: int
    n_resamples: int
    seed: int
    correction: str | None = None
    level: float | None = None
    notes: tuple[str, ...] = ()

    def tests_of(self, name: str) -> list[tuple[htest.HTest, float]]:
        """Return the tests of a model, each with its adjusted p-value.

        Parameters
        ----------
        name : str
            The model.

        Returns
        -------
        list of (HTest, float)
            In the order of the tests and lenses.
        """
        pairs = zip(self.tests.rows, self.tests.adjusted.tolist(), strict=True)
        return [(test, p) for test, p in pairs if test.data_name == name]

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per model; None where there is no value."""
        records = []
        for row in self.rows:
            values: dict[str, Any] = {"name": row.name, **row.scores, **row.measures, **row.parts}
            for name in ("difference", "stderr", "low", "high", "pvalue", "adjusted"):
                values[name] = getattr(row.difference, name, None)
            for test, adjusted in self.tests_of(row.name):
                key = f"{test.test}[{test.lens}]"
                values[f"{key} estimate"] = test.estimate
                values[f"{key} pvalue"], values[f"{key} adjusted"] = test.pvalue, adjusted
            records.append(values)
        return records

    @classmethod
    @checks_values
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild the comparison from what `to_dict` or parsed JSON gave."""
        comparison = super(ModelComparison, cls).from_dict(values)
        for show in (comparison.summary, comparison.to_latex):
            show()  # the names of models, tests and parts must fit together
        return comparison

    def _sheet(self, *, long: bool = False) -> Sheet:
        rows = self.rows
        text = f"{len(rows)} models on the same rows ({sizes_in_words(self.n, self.m)})"
        facts, closing = [("data", text), *_kinds(self, "compared by")], notes_of(self.notes)
        columns = {"model": tuple(row.name for row in rows)}
        if long:
            columns |= _all_scores(rows)
            for name, symbol in PARTS.items():
                if any(name in row.parts for row in rows):
                    columns[symbol] = cells_of(row.parts.get(name) for row in rows)
        else:
            pvalues = self._pvalues()
            differences = [row.difference for row in rows]
            columns[self.score] = cells_of(row.scores.get(self.score) for row in rows)
            for name in ("difference", "low", "high"):
                values = (getattr(one, name, None) for one in differences)  # nan of two infinite
                columns[name] = cells_of(None if v is None or math.isnan(v) else v for v in values)
            columns |= {name: _coded(own) for name, own in pvalues.items()}
            facts += self._facts(list(pvalues)[1:])
            closing = (*_verdicts(pvalues, self.level), *closing)
        if long and self.decomposed:  # with the uncertainty, which all models share
            shared = f"UNC = {number(rows[0].parts['uncertainty'])}"
            text = f"{self.decomposed} = MCB - DSC + UNC (CORP), {shared}"
            facts.append(("decomposition", text))
        return Sheet(
            title="Models compared on the same rows",
            headline=self._headline(),
            facts=tuple(facts),
            header=tuple(columns),
            rows=tuple(zip(*columns.values(), strict=True)),
            legend="" if long else LEGEND,
            closing=closing,
        )

    def _headline(self) -> str:
        """The model with the least score, and which ones differ from the reference."""
        parts = [f"Least {self.score}: {self.best} ({number(self[self.best].scores[self.score])})"]
        kinds, same = dict[str, list[str]](), f"not shown to differ from {self.reference}"
        for row in self.rows:
            one = row.difference
            if one is not None and one.adjusted is not None:
                word = "worse" if one.difference > 0 else "better"
                found = one.adjusted <= (0.05 if self.level is None else self.level)
                key = f"{word} than {self.reference}" if found else same
                kinds.setdefault(key, []).append(f"{one.name} (p {wording.short(one.adjusted)})")
        return "; ".join(parts + [f"{key}: {', '.join(own)}" for key, own in kinds.items()]) + "."

    def _pvalues(self) -> PValues:
        """The adjusted p-values of the differences, and of each test that every model has."""
        kinds = [(test.test, test.lens) for test, _ in self.tests_of(self.rows[0].name)]
        own, differences = {}, {}
        for row in self.rows:
            own[row.name] = dict(zip(kinds, (p for _, p in self.tests_of(row.name)), strict=True))
            differences[row.name] = getattr(row.difference, "adjusted", None)
        return {"p (score)": differences, **_by_test(own)}

    def _facts(self, names: Sequence[str]) -> Pairs:
        """How differences and p-values were found, with the hypothesis of each."""
        least = f" (the least {self.score})" if self.reference == self.best else ""
        interval = f"with its {100 * self.confidence:g} percent interval"
        sampling = f"B = {self.n_resamples}, seed = {self.seed}"
        kind = "labels" if self.m else "outcomes"
        text = f"sign flips and of {kind} redrawn between both models, {sampling}"
        facts = [("difference", f"from {self.reference}{least}, mean over rows, {interval}")]
        text = f"H0: the expected scores are equal; the larger p-value of {text}"
        facts.append(("p (score)", text))
        for name, (test, _) in zip(names, self.tests_of(self.rows[0].name), strict=True):
            text = f"B = {test.n_resamples}, seed = {test.seed}"
            text = test.null_text if test.n_resamples is None else text
            lens = f"lens: {test.lens}, " if test.m or test.lens != "strong" else ""
            facts.append((name, f"{test.method}, {lens}{text}"))
        pairs = sum(pair.pvalue is not None for pair in self.pairs)
        count = f"{pairs} difference{'s' * (pairs != 1)}; {len(self.tests)} tests of calibration"
        return (*facts, *_adjustment(self.correction, count))


# ---- what is printed of both ---------------------------------------------------------------------

PValues = dict[str, dict[str, float | None]]  # by column, then by row
COMBINED = (
    "held-out parts whose maps agree (as those of identity) tested together, others each by "
    "itself, p-values combined by Fisher's method"
)
OWN_NUMBERS = "share of outcomes in intervals of 90 %, and distance of the PIT; not proper"
HYPOTHESIS = "the maps that are fitted to the training rows are calibrated"
PARTS = {"miscalibration": "MCB", "discrimination": "DSC"}


def sheet_of_maps(
    found: Maps, title: str, *, kinds: Pairs = (), selected: str = "", long: bool = False
) -> Sheet:
    """The print of maps by cross-validation; the long one has all scores and calibration errors."""
    rows, pvalues = found.rows, PValues()
    columns = {"calibrator": tuple(row.name for row in rows)}
    facts = [("data", f"{found.data_name} ({sizes_in_words(found.n, found.m)})"), *kinds]
    closing = [("selected", selected)] if selected else []
    if long:
        columns |= _all_scores(rows)
    else:
        own = {row.name: {(one.test, one.lens): one.adjusted for one in row.tests} for row in rows}
        pvalues = _by_test(own)
        columns |= _columns_of_maps(found, pvalues)
        facts += _facts_of_maps(found, is_selection=bool(selected))
    if len(pvalues) > 1:  # one test has a column of its verdicts
        closing += _verdicts(pvalues, found.level)
    closing += [("note", f"{row.name}: {row.reason}") for row in rows if row.reason]
    return Sheet(
        title=title,
        facts=tuple(facts),
        header=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        legend=LEGEND if pvalues else "",
        closing=(*closing, *notes_of(found.notes)),
    )


def _columns_of_maps(found: Maps, pvalues: PValues) -> Columns:
    rows, level = found.rows, found.level
    columns = {found.score: cells_of(row.scores.get(found.score) for row in rows)}
    columns["difference"] = cells_of(row.difference for row in rows)
    columns["s.e."] = cells_of(row.stderr for row in rows)
    if len(pvalues) != 1:
        return columns | {name: _coded(own) for name, own in pvalues.items()}
    # The one test has its estimate and its p-values; a verdict takes the room of one.
    tests, adjusted = [next(iter(row.tests), None) for row in rows], found.correction is not None
    symbol = next(test.estimate_name for test in tests if test is not None)
    columns[symbol] = cells_of(test and test.estimate for test in tests)
    if adjusted and level is None:
        columns["p-value"] = cells_of((test and test.pvalue for test in tests), pvalue)
    columns["adjusted" if adjusted else "p-value"] = _coded(*pvalues.values())
    if level is not None:
        rejected = (test and test.adjusted <= level for test in tests)
        columns[f"at level {number(level)}"] = cells_of(rejected, verdict)
    return columns


def _facts_of_maps(found: Maps, *, is_selection: bool) -> Iterator[tuple[str, str]]:
    """Say how differences, selection and p-values were found.

    Yields
    ------
    (str, str)
        A name and its text.
    """
    yield "difference", "from identity, mean over the held-out rows, with its standard error"
    if is_selection:
        yield "selected", f"least {found.score} of an inner cross-validation in the training rows"
    if found.n_fit is not None:  # JSON of earlier versions does not have it
        others = rows_of_fits(found.n_fit, found.n_folds, found.n_held_out or 0)
        text = f"{found.n_held_out:,} tested, each predicted by a map fitted to {others} others"
        yield "rows", text
    tested = next((row.tests for row in found.rows if row.tests), ())
    if tested:
        lenses = ", ".join(dict.fromkeys(test.lens for test in tested))
        lens = f"lens: {lenses}, " if found.m or lenses != "strong" else ""
        text = f"{found.method}, {lens}B = {found.n_resamples}, seed = {found.seed}"
        yield "null hypothesis", HYPOTHESIS
        yield "test", f"{text}; {COMBINED}" if found.n_folds > 1 else text
        count = sum(len(row.tests) for row in found.rows)
        yield from _adjustment(found.correction, f"{count} tests")


def _kinds(comparison: Comparison, name: str, estimates: Sequence[str] = ()) -> Pairs:
    """Say which columns are scores that may be optimised, and which errors are reported only."""
    rows, score, lens = comparison.rows, comparison.score, comparison.lens_of_measures
    others = [key for key in dict.fromkeys(k for row in rows for k in row.scores) if key != score]
    measures = list(dict.fromkeys((*estimates, *(key for row in rows for key in row.measures))))
    proper = f"{score} (proper, like {_joined(others)})" if others else score
    unit = "; a CRPS has the unit of the outcomes" * (score == "CRPS")
    optimised = (name, f"{proper}{unit}")
    shown = any(row.measures for row in rows)
    about = f"not proper; lens of ECE: {lens}" if lens else OWN_NUMBERS if shown else "not proper"
    return (optimised, *([("reported only", f"{_joined(measures)} ({about})")] if measures else ()))


def _by_test(rows: Mapping[str, Mapping[tuple[str, str], float]]) -> PValues:
    """P-values of rows by test and lens, under the key, with its lens where it has several."""
    kinds = list(dict.fromkeys(kind for own in rows.values() for kind in own))
    lenses = Counter(test for test, _ in kinds)
    named = {kind: f"p ({', '.join(kind) if lenses[kind[0]] > 1 else kind[0]})" for kind in kinds}
    return {named[kind]: {name: own.get(kind) for name, own in rows.items()} for kind in kinds}


def _verdicts(found: PValues, level: float | None) -> list[tuple[str, str]]:
    """For each hypothesis, the rows for which it is rejected, if a level was given."""
    if level is None:
        return []
    lines = []
    for hypothesis, values in found.items():
        names = [name for name, p in values.items() if p is not None and p <= level]
        words = f"{verdict(bool(names))}{' for ' * bool(names)}{_joined(names)}"
        lines.append((f"at level {number(level)}, {hypothesis}", words))
    return lines


def _all_scores(rows: Sequence[ComparedRow]) -> Columns:
    """Every score and calibration error, a column each."""
    own = [{**row.scores, **row.measures} for row in rows]
    kinds = "scores", "measures"
    names = dict.fromkeys(name for kind in kinds for row in rows for name in getattr(row, kind))
    return {name: cells_of(values.get(name) for values in own) for name in names}


def _adjustment(correction: str | None, count: str) -> list[tuple[str, str]]:
    if correction is None:
        return []
    return [("adjusted", f"{CORRECTIONS.get(correction, correction)}, {count}")]


def _coded(found: Mapping[str, float | None]) -> tuple[str, ...]:
    """P-values with their codes, which take the places of the longest so that numbers align."""
    places = max((len(stars(value)) for value in found.values() if value is not None), default=0)
    gap = " " if places else ""
    return cells_of(found.values(), lambda value: f"{pvalue(value)}{gap}{stars(value):{places}}")


def _joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
