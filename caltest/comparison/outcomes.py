"""What cross-validation finds of a calibrator, how that is tested, and what is selected by it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from caltest import checks
from caltest.calibrators.ensemble import Fold
from caltest.comparison import maps as all_maps
from caltest.comparison import scores
from caltest.comparison.maps import AnyCalibrator, AnySet, FittedMap
from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.htests import test_calibration
from caltest.htests.combine import adjusted_pvalues, fisher
from caltest.htests.run import MeasureOptions, as_list, check_told_apart
from caltest.lenses import Lens, resolve_lens
from caltest.measures import Measure
from caltest.measures.own import measure_of
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions, Rows
from caltest.predictions.options import RowOptions
from caltest.results import ComparedCalibrator, HTest, TestedPart, comparison
from caltest.types import Codes, Floats, Order

NOT_KEPT = FittedMap(None)
# What a correction is where there are p-values alone, see `adjusted_pvalues`.
OF_PVALUES: Mapping[str | None, str | None] = {"none": None, "joint": "holm"}
ByFolds = Mapping[tuple[int, ...], tuple[HTest, ...]]
Maps = Mapping[str, AnyCalibrator]


class ComparedOptions(RowOptions, MeasureOptions, total=False):
    """Data options of a comparison, and options of its tests of calibration."""

    test: str | Measure | Sequence[str | Measure] | None
    lens: str | Lens | Sequence[str | Lens]
    null: str | None
    correction: str | None
    level: float | None
    n_resamples: int
    n_jobs: int | None


@dataclass(frozen=True, slots=True)
class CalibrationTests:
    """The tests that every row of a comparison gets, as `asked` of `test_calibration`."""

    n_resamples: int
    n_jobs: int | None = None
    correction: str | None = "holm"
    level: float | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, Any]:
        """What a result says of them."""
        return {name: getattr(self, name) for name in ("n_resamples", "correction", "level")}

    def __call__(self, predictions: Rows, seed: int) -> tuple[HTest, ...]:
        """Run the tests; what the data leave undefined stands in the notes of the results."""
        with warnings.catch_warnings(action="ignore", category=DegenerateDataWarning):
            asked: dict[str, Any] = {"rng": seed, "correction": None, **self.asked}
            asked |= {"n_resamples": self.n_resamples, "n_jobs": self.n_jobs, "level": self.level}
            result = test_calibration(None, predictions, **asked)
        return result.tests


def make_calibration_tests(
    *,
    test: object = None,
    lens: object = "strong",
    null: str | None = None,
    correction: str | None = "holm",
    level: float | None = None,
    n_resamples: int = 999,
    n_jobs: int | None = None,
    **options: Any,
) -> CalibrationTests:
    """Check what `test_calibration` takes; a family of lenses is refused."""
    parts = {name: options.pop(name, None) for name in ("by", "segments")}
    checks.check_unused("in a comparison, which is of all rows", **parts)
    lenses = as_list(lens, "lens", resolve_lens)
    for one in lenses:
        checks.check_not_family(one.is_family, one)
    checks.check_correction(correction)
    tests = None if test is None else tuple(as_list(test, "test", measure_of))  # None: the default
    check_told_apart([one.key if isinstance(one, Measure) else one for one in tests or ()])
    return CalibrationTests(
        n_resamples=checks.check_fixed_resamples(n_resamples, "comparisons"),
        n_jobs=checks.check_jobs(n_jobs),
        correction=OF_PVALUES.get(correction, correction),
        level=None if level is None else checks.check_level(level),
        asked={"test": tests, "lens": tuple(lenses), "null": null, **options},
    )


@dataclass(frozen=True, slots=True)
class Setup:
    """What all calibrators share: rows, folds, the score, the tests."""

    predictions: Any
    data: AnySet
    pairs: tuple[Fold, ...]
    inner: tuple[tuple[Fold, ...], ...]
    score: scores.ProperScore
    tests_of: CalibrationTests
    measures: Mapping[str, object]
    seed: int
    fold_seeds: tuple[int, ...]

    @property
    def rows(self) -> Order:
        """The held-out rows, fold after fold."""
        return np.concatenate([test for _, test in self.pairs])

    @property
    def n_fit(self) -> int:
        """The number of training rows of a fold, the least where they differ."""
        return min(train.size for train, _ in self.pairs)

    @property
    def weight(self) -> Floats:
        """Their weights."""
        return np.asarray(self.predictions.weights[self.rows])

    @property
    def units(self) -> Codes:
        """Their clusters, or numbers."""
        return scores.units_of(self.predictions.subset(self.rows), self.weight)

    def scored(self, parts: Sequence[FittedMap]) -> dict[str, Floats]:
        """Return the scores of the held-out rows of all folds, by name."""
        found = [
            scores.row_scores(all_maps.to_score(self.predictions, test, part.predicted), self.score)
            for (_, test), part in zip(self.pairs, parts, strict=True)
        ]
        return {name: np.concatenate([one[name] for one in found]) for name in found[0]}

    def pooled(self, parts: Sequence[FittedMap]) -> Predictions:
        """Return the held-out rows of all folds with what the maps predict for them."""
        found = np.concatenate([part.predicted for part in parts])
        return cast("Predictions", self.predictions.subset(self.rows).with_predicted(found))

    def fitted(self, calibrator: AnyCalibrator) -> list[FittedMap]:
        """Fit a calibrator to every training set."""
        fits = [(calibrator, self.data, self.predictions.classes, fold) for fold in self.pairs]
        return list(map_threads(all_maps.fit_map, fits, self.tests_of.n_jobs))


@dataclass(frozen=True, slots=True)
class CrossValidated:
    """What cross-validation found of one calibrator.

    Attributes
    ----------
    parts : tuple of FittedMap
        Predictions of the held-out rows of each fold.
    tests : dict
        By the places of folds whose maps agree, the tests of their held-out rows, one for each test
        and lens; empty where they are not all there.
    scores : dict
        Scores of the held-out rows by name, each an array; empty where a fit failed.
    measures : dict
        Calibration errors of all held-out rows together.
    loss : float or None
        Mean of the score that is optimised.
    reason : str
        Why there are no scores.
    notes : tuple of str
        What training rows left undefined, once for each fold.
    remarks : tuple of str
        What a reader of the row should see.
    """

    parts: tuple[FittedMap, ...]
    tests: ByFolds
    scores: Mapping[str, Floats]
    measures: Mapping[str, float]
    loss: float | None
    reason: str = ""
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def judged(self, setup: Setup) -> tuple[float, int]:
        """Return the loss, and of forecasts the number of outcomes that are ruled out."""
        ruled = 0 if setup.predictions.m else scores.ruled_out(self.scores, setup.weight)
        return np.inf if self.loss is None else self.loss, ruled


Outcomes = Mapping[str, CrossValidated]  # by the names of the maps


def inner_scores(calibrator: AnyCalibrator, setup: Setup) -> tuple[tuple[float, int], ...]:
    """Return the score of a calibrator inside of the training rows of each fold; see there."""
    searches = [
        (calibrator, setup.predictions.subset(train), setup.data.rows(train), inner, setup.score)
        for (train, _), inner in zip(setup.pairs, setup.inner, strict=True)
    ]
    return tuple(map_threads(all_maps.inner_score, searches, setup.tests_of.n_jobs))


def selection(inner: Mapping[str, Sequence[tuple[float, int]]]) -> tuple[str, ...]:
    """Return the name with the least score in each place, the first of several.

    No map is taken that rules out more of the outcomes than the first, the model as it is.
    """
    names, (scored, ruled) = list(inner), np.moveaxis(np.array(list(inner.values())), -1, 0)
    unfit = np.isnan(scored) | (ruled > ruled[0])
    return tuple(names[place] for place in np.where(unfit, np.inf, scored).argmin(axis=0).tolist())


def evaluate(calibrator: AnyCalibrator, setup: Setup, keep: Collection[int]) -> CrossValidated:
    """Fit a calibrator to every training set and test what it predicts.

    The predictions of the folds in `keep` stay in the outcome; all would take much memory.
    """
    outcome = _outcome(setup.fitted(calibrator), setup, {})
    kept = tuple(part if k in keep else NOT_KEPT for k, part in enumerate(outcome.parts))
    return replace(outcome, parts=kept)


def held_out_scores(calibrator: AnyCalibrator, setup: Setup) -> dict[str, Floats]:
    """Return the scores of the held-out rows by name; empty where rows leave a fit undefined."""
    parts = setup.fitted(calibrator)
    if any(part.predicted is None or part.notes for part in parts):
        return {}
    return setup.scored(parts)


def of_selected(outcomes: Outcomes, chosen: Sequence[str], setup: Setup) -> CrossValidated:
    """Collect what was selected in each fold; nothing is fitted again, nor tested twice."""
    parts = [outcomes[name].parts[k] for k, name in enumerate(chosen)]
    known = {
        folds: tests
        for name in dict.fromkeys(chosen)
        for folds, tests in outcomes[name].tests.items()
        if {chosen[k] for k in folds} == {name}
    }
    return _outcome(parts, setup, known)


def _outcome(parts: Sequence[FittedMap], setup: Setup, known: ByFolds) -> CrossValidated:
    notes = tuple(note for part in parts for note in dict.fromkeys(part.notes))
    failed = [part.reason for part in parts if part.predicted is None]
    if failed:
        why = f"not fitted in {len(failed)} of {len(parts)} folds: {failed[0]}"
        return CrossValidated(tuple(parts), {}, {}, {}, None, reason=why, notes=notes)
    losses, predictions = setup.scored(parts), setup.predictions
    remarks, tests = [], {}
    for title, values in losses.items():
        if count := int(np.count_nonzero(np.isinf(values) & (setup.weight > 0))):
            text = f"{predictions.ruled_out} in {count} held-out row{'s' * (count > 1)}"
            remarks.append(f"{text}, so that the {title} is infinite")
    try:  # the rows of folds whose maps agree together
        for folds in folds_that_agree(parts):
            rows, first = np.concatenate([setup.pairs[k][1] for k in folds]), parts[folds[0]]
            order = np.argsort(rows, kind="stable")  # that of the data
            if len(folds) == 1:
                own = first.predicted[order]
            else:
                own = cast("Any", first.fitted).calibrate(setup.data.rows(rows[order]).inputs)
            # Of all folds together the seed is that of the caller.
            seed = setup.seed if len(folds) == len(setup.pairs) else setup.fold_seeds[folds[0]]
            part = predictions.subset(rows[order]).with_predicted(own)
            tests[folds] = known.get(folds) or setup.tests_of(part, seed)
    except NotApplicable as error:
        tests = {}
        remarks.append(f"not tested in the held-out parts: {error}")
    return CrossValidated(
        parts=tuple(parts),
        tests=tests,
        scores=losses,
        measures=scores.reported(setup.pooled(parts), setup.measures) if predictions.m else {},
        loss=scores.mean_score(losses[setup.score.title], setup.weight),
        notes=notes,
        remarks=tuple(remarks),
    )


def folds_that_agree(parts: Sequence[FittedMap]) -> list[tuple[int, ...]]:
    """Return the places of the folds, those together whose maps predict the same."""
    groups: dict[int, tuple[int, ...]] = {}  # by the first of each
    for k, part in enumerate(parts):
        first = next((first for first in groups if parts[first].agrees(part)), k)
        groups[first] = (*groups.get(first, ()), k)
    return list(groups.values())


def rows_of(
    maps: Maps, outcomes: Outcomes, setup: Setup, chosen: tuple[str, ...] = ()
) -> Iterator[ComparedCalibrator]:
    """Yield rows of outcomes with adjusted p-values; `chosen` is what the selection chose."""
    reference = outcomes[comparison.REFERENCE].scores[setup.score.title]
    texts = {name: " ".join(repr(each).split()) for name, each in maps.items()}
    texts[comparison.SELECTED] = f"the least {setup.score.title} inside of the training rows"
    tested, weight, units = _combined(outcomes, setup), setup.weight, setup.units
    for name, outcome in outcomes.items():
        difference, stderr, own = None, None, outcome.scores
        if own:
            with np.errstate(invalid="ignore"):  # both infinite
                differences = own[setup.score.title] - reference
            mean, stderr = scores.mean_and_error(differences, weight, units)
            difference = None if np.isnan(mean) else mean
        yield ComparedCalibrator(
            name=name,
            scores={key: scores.mean_score(values, weight) for key, values in own.items()},
            measures=outcome.measures,
            difference=difference,
            stderr=stderr,
            reason=outcome.reason,
            calibrator=texts[name],
            tests=tested[name],
            chosen=chosen if name == comparison.SELECTED else (),
        )


def _combined(outcomes: Outcomes, setup: Setup) -> dict[str, tuple[TestedPart, ...]]:
    """Combine the p-values of the folds, then adjust over calibrators and tests."""
    sizes = np.array([setup.predictions.weights[test].sum() for _, test in setup.pairs])
    parts: dict[str, list[TestedPart]] = {}
    for name, outcome in outcomes.items():
        weights = [float(sizes[list(folds)].sum()) for folds in outcome.tests]
        parts[name] = []
        for tests in zip(*outcome.tests.values(), strict=True):
            about = {key: getattr(tests[0], key) for key in ("test", "lens", "estimate_name")}
            about["estimate"] = float(np.average([one.estimate for one in tests], weights=weights))
            about["fold_pvalues"] = tuple(test.pvalue for test in tests)
            p = fisher_pvalue(about["fold_pvalues"])
            parts[name].append(TestedPart(**about, pvalue=p, adjusted=p))
    flat = [part for own in parts.values() for part in own]
    if not flat:
        return dict.fromkeys(parts, ())
    adjusted, _ = adjusted_pvalues([part.pvalue for part in flat], setup.tests_of.correction)
    final = iter(replace(p, adjusted=a) for p, a in zip(flat, adjusted.tolist(), strict=True))
    return {name: tuple(next(final) for _ in own) for name, own in parts.items()}


def fisher_pvalue(pvalues: Sequence[float]) -> float:
    r"""Combine p-values by Fisher's method; one by itself stays as it is.

    .. math:: X^2 = -2 \sum_{k=1}^K \log p_k \sim \chi^2_{2K},

    where the p-values are independent and uniform; uniform or larger ones make it conservative.

    Parameters
    ----------
    pvalues : sequence of float
        In [0, 1], at least one.

    Returns
    -------
    float
        A p-value of the hypothesis that all of theirs hold.

    References
    ----------
    Fisher (1932), Statistical methods for research workers, section 21.1.

    Examples
    --------
    >>> fisher_pvalue([0.04])
    0.04
    >>> round(fisher_pvalue([0.05, 0.05]), 4)
    0.0175
    """
    if len(pvalues) == 1:
        return float(pvalues[0])
    return max(fisher(np.asarray(pvalues))[1], float(np.finfo(np.float64).tiny))
