"""What cross-validation finds of a calibrator, and of the procedure that selects one."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.calibrators import Calibrator, Identity
from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.selection import Fold
from caltest.comparison.calibration_tests import CalibrationTests, averaged_pvalue
from caltest.comparison.maps import FittedMap, fit_map, held_out, inner_score
from caltest.comparison.scores import (
    ProperScore,
    mean_and_error,
    mean_score,
    reported,
    row_scores,
    weights_of,
)
from caltest.errors import NotApplicable
from caltest.htests.combine import adjusted_pvalues
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions
from caltest.results import ComparedCalibrator, HTest, TestedPart
from caltest.results.compared_calibrators import REFERENCE, SELECTED

Floats = NDArray[np.float64]

NOT_KEPT = FittedMap(None)


@dataclass(frozen=True, slots=True)
class Setup:
    """What all calibrators share: rows, folds, the score, the tests."""

    predictions: Predictions
    data: CalibrationSet
    pairs: tuple[Fold, ...]
    inner: tuple[tuple[Fold, ...], ...]
    score: ProperScore
    tests_of: CalibrationTests
    measures: Mapping[str, object]
    seeds: tuple[int, ...]

    @property
    def rows(self) -> NDArray[np.intp]:
        """The held-out rows, fold after fold."""
        return np.concatenate([test for _, test in self.pairs])

    @property
    def weight(self) -> Floats:
        """Their weights."""
        return weights_of(self.predictions)[self.rows]


@dataclass(frozen=True, slots=True)
class CrossValidated:
    """What cross-validation found of one calibrator.

    Attributes
    ----------
    parts : tuple of FittedMap
        Predictions of the held-out rows of each fold.
    tests : tuple of tuples of HTest
        The tests of each held-out part; empty where they are not all there.
    scores : dict
        Scores of the held-out rows by name, each an array; empty where a fit failed.
    measures : dict
        Calibration errors of all held-out rows together.
    loss : float or None
        Mean of the score that is optimised.
    whole : tuple of HTest
        The tests of all held-out rows at once, of what is not fitted.
    reason : str
        Why there are no scores.
    notes : tuple of str
        What training rows left undefined, once for each fold.
    remarks : tuple of str
        What a reader of the row should see.
    """

    parts: tuple[FittedMap, ...]
    tests: tuple[tuple[HTest, ...], ...]
    scores: Mapping[str, Floats]
    measures: Mapping[str, float]
    loss: float | None
    whole: tuple[HTest, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def inner_scores(calibrator: Calibrator, setup: Setup) -> tuple[float, ...]:
    """Return the score of a calibrator inside of the training rows of each fold."""
    searches = [
        (calibrator, setup.predictions.subset(train), setup.data.rows(train), inner, setup.score)
        for (train, _), inner in zip(setup.pairs, setup.inner, strict=True)
    ]
    return tuple(map_threads(inner_score, searches, setup.tests_of.n_jobs))


def selection(scores: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """Return the name with the least inner score in each fold, the first of several."""
    names, table = list(scores), np.array(list(scores.values()))
    places = np.where(np.isnan(table), np.inf, table).argmin(axis=0)
    return tuple(names[place] for place in places.tolist())


def evaluate(calibrator: Calibrator, setup: Setup, keep: Collection[int]) -> CrossValidated:
    """Fit a calibrator to every training set and test what it predicts.

    The predictions of the folds in `keep` stay in the outcome; all would take much memory.
    """
    fits = [(calibrator, setup.data, setup.predictions.classes, fold) for fold in setup.pairs]
    outcome = _tested_outcome(list(map_threads(fit_map, fits, setup.tests_of.n_jobs)), setup)
    if isinstance(calibrator, Identity):
        # Without a fit, no label has shaped what is tested: one test of all rows has more power,
        # and has a meaning where parts have too few.
        with suppress(NotApplicable):
            every = setup.predictions.subset(np.sort(setup.rows))
            outcome = replace(outcome, whole=setup.tests_of(every, setup.seeds[0]))
    kept = tuple(part if k in keep else NOT_KEPT for k, part in enumerate(outcome.parts))
    return replace(outcome, parts=kept)


def of_selected(
    outcomes: Mapping[str, CrossValidated], chosen: Sequence[str], setup: Setup
) -> CrossValidated:
    """Collect what was selected in each fold; nothing is fitted or tested again."""
    parts = [outcomes[name].parts[k] for k, name in enumerate(chosen)]
    known = [outcomes[name].tests[k : k + 1] for k, name in enumerate(chosen)]
    tests = tuple(test for one in known for test in one)
    return _tested_outcome(parts, setup, tests if len(tests) == len(parts) else ())


def _tested_outcome(
    parts: Sequence[FittedMap],
    setup: Setup,
    tests: tuple[tuple[HTest, ...], ...] | None = None,
) -> CrossValidated:
    notes = tuple(note for part in parts for note in dict.fromkeys(part.notes))
    failed = [part.reason for part in parts if part.probs is None]
    probs = [part.probs for part in parts if part.probs is not None]
    if failed:
        why = f"not fitted in {len(failed)} of {len(parts)} folds: {failed[0]}"
        return CrossValidated(tuple(parts), (), {}, {}, None, reason=why, notes=notes)
    pooled = held_out(setup.predictions, setup.rows, np.concatenate(probs))
    scores = row_scores(pooled, setup.score)
    remarks = _impossible(pooled)
    if tests is None:
        tests, why = _tested(probs, setup)
        remarks += [why] if why else []
    return CrossValidated(
        parts=tuple(parts),
        tests=tests,
        scores=scores,
        measures=reported(pooled, setup.measures),
        loss=mean_score(scores[setup.score.title], setup.weight),
        notes=notes,
        remarks=tuple(remarks),
    )


def _impossible(pooled: Predictions) -> list[str]:
    """Say where an observed class has probability 0, which makes the log loss infinite."""
    observed = np.take_along_axis(pooled.probs, pooled.labels[:, None], axis=1)[:, 0]
    count = int(np.count_nonzero((observed == 0) & (weights_of(pooled) > 0)))
    if not count:
        return []
    text = f"the observed class has probability 0 in {count} held-out row{'s' * (count > 1)}"
    return [f"{text}, so that the log loss is infinite"]


def _tested(probs: Sequence[Floats], setup: Setup) -> tuple[tuple[tuple[HTest, ...], ...], str]:
    """Test each held-out part, or say why a test has no meaning there."""
    tests = []
    for own, (_, rows), seed in zip(probs, setup.pairs, setup.seeds, strict=True):
        part = held_out(setup.predictions, rows, own)
        try:
            tests.append(setup.tests_of(part, seed))
        except NotApplicable as error:
            return (), f"not tested in the held-out parts: {error}"
    return tuple(tests), ""


def rows_of(
    maps: Mapping[str, Calibrator],
    outcomes: Mapping[str, CrossValidated],
    selected: CrossValidated,
    chosen: tuple[str, ...],
    setup: Setup,
) -> tuple[ComparedCalibrator, ...]:
    """Turn outcomes into rows with adjusted p-values, the procedure of selection last."""
    reference = outcomes[REFERENCE].scores[setup.score.title]
    texts = {name: " ".join(repr(each).split()) for name, each in maps.items()}
    texts[SELECTED] = f"the least {setup.score.title} inside of the training rows"
    everything = {**outcomes, SELECTED: selected}
    tested = _combined(everything, setup)
    return tuple(
        _row(
            name,
            each,
            setup,
            reference,
            calibrator=texts[name],
            tests=tested[name],
            chosen=chosen if name == SELECTED else (),
        )
        for name, each in everything.items()
    )


def _row(
    name: str,
    outcome: CrossValidated,
    setup: Setup,
    reference: Floats,
    **facts: Any,
) -> ComparedCalibrator:
    difference, stderr = None, None
    if outcome.scores:
        with np.errstate(invalid="ignore"):  # both infinite
            differences = outcome.scores[setup.score.title] - reference
        mean, stderr = mean_and_error(differences, setup.weight)
        difference = None if math.isnan(mean) else mean
    return ComparedCalibrator(
        name=name,
        scores={key: mean_score(values, setup.weight) for key, values in outcome.scores.items()},
        measures=outcome.measures,
        difference=difference,
        stderr=stderr,
        reason=outcome.reason,
        **facts,
    )


def _combined(
    outcomes: Mapping[str, CrossValidated], setup: Setup
) -> dict[str, tuple[TestedPart, ...]]:
    """Combine the p-values of the folds, then adjust over calibrators and tests."""
    weight = weights_of(setup.predictions)
    sizes = np.array([weight[test].sum() for _, test in setup.pairs])
    parts = {
        name: [_part((test,), sizes[:1]) for test in outcome.whole]
        or [_part(folds, sizes) for folds in zip(*outcome.tests, strict=True)]
        for name, outcome in outcomes.items()
    }
    flat = [part for own in parts.values() for part in own]
    if not flat:
        return dict.fromkeys(parts, ())
    adjusted, _ = adjusted_pvalues([part.pvalue for part in flat], setup.tests_of.correction)
    final = iter(replace(p, adjusted=a) for p, a in zip(flat, adjusted.tolist(), strict=True))
    return {name: tuple(next(final) for _ in own) for name, own in parts.items()}


def _part(folds: Sequence[HTest], sizes: Floats) -> TestedPart:
    pvalues = tuple(test.pvalue for test in folds)
    combined = averaged_pvalue(pvalues)
    return TestedPart(
        test=folds[0].test,
        lens=folds[0].lens,
        estimate_name=folds[0].estimate_name,
        estimate=float(np.average([test.estimate for test in folds], weights=sizes)),
        pvalue=combined,
        adjusted=combined,
        fold_pvalues=pvalues,
    )
