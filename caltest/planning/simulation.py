"""Simulated studies: data sets of n rows, each tested, with seeds of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from caltest.errors import NotApplicable
from caltest.htests import asked, runner
from caltest.lenses import Lens
from caltest.measures import BoundMeasure, Measure
from caltest.measures.tolerance import Tolerance
from caltest.nulls.base import AT_A_TIME, BATCH, NOT_A_NUMBER, POOL, redrawn_batches
from caltest.nulls.exact import enumerate_labels
from caltest.numerics.joint import tie_tolerance
from caltest.numerics.loops import map_threads
from caltest.planning.results import PowerRow, joined
from caltest.planning.truths import ForecastDistribution, LabelDistribution, PredictionDistribution
from caltest.predictions.rows import Rows
from caltest.types import Floats

BLOCK = 8  # data sets a task
WORD = 2**32
POWER, SEARCH, EFFECT = 0, 1, 2  # what draws share a key of the seeds


Progress = Callable[[int], None] | None


class StudyTest(NamedTuple):
    """A test that every data set gets: its key, its measure and the key of its null."""

    key: str
    measure: Measure
    null: str


@dataclass(frozen=True)
class Study:
    """Everything but the number of rows, checked.

    Attributes
    ----------
    tolerance : Tolerance or None
        Where H0 is on the size of the error.
    """

    distribution: PredictionDistribution | ForecastDistribution
    truth: LabelDistribution
    tests: Sequence[StudyTest]
    lens: Lens
    tolerance: Tolerance | None
    level: float
    n_resamples: int
    seed: int
    n_jobs: int | None

    def data_set(self, n: int, key: tuple[int, int]) -> tuple[Rows, int]:
        """Return one data set of n rows and the seed of its tests; they depend on the key only."""
        child = np.random.SeedSequence(self.seed, spawn_key=(key[0], n, key[1]))
        rng = np.random.default_rng(child)
        return self.distribution.sample(rng, n, self.truth), int(rng.integers(WORD))

    def rng(self, key: int) -> np.random.Generator:
        """Return a generator for draws that are no data sets."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(key,)))


def simulate(
    study: Study, n: int, sets: range, *, stage: int = POWER, progress: Progress = None
) -> list[PowerRow]:
    """Simulate the data sets with these numbers and return a row for each test.

    Parameters
    ----------
    study : Study
        What is simulated.
    n : int
        Rows of a data set.
    sets : range
        Numbers of the data sets; each has a seed of its own.
    stage : int
        Data sets of another stage are other data sets.
    progress : callable, optional
        Called with the number of data sets done.

    Returns
    -------
    list of PowerRow
        In the order of the tests.

    Raises
    ------
    NotApplicable
        If a test is not defined for any of the data sets; found out before any is simulated.
    """
    for test in study.tests:  # each by itself until a data set has it, mostly the first
        reason = ""
        for number in sets:
            tally = _tested(study, test, *study.data_set(n, (stage, number)))
            if not tally.not_applicable:
                break
            reason = reason or tally.reason
        else:
            raise NotApplicable(f"no data set of n = {n} can be tested by {test.key}: {reason}")

    def run(numbers: range) -> list[list[PowerRow]]:
        drawn = (study.data_set(n, (stage, number)) for number in numbers)
        return [[_tested(study, test, *one) for test in study.tests] for one in drawn]

    blocks = [(sets[i : i + BLOCK],) for i in range(0, len(sets), BLOCK)]
    done: list[list[PowerRow]] = []
    for tested in map_threads(run, blocks, study.n_jobs):
        done += tested
        if progress is not None:
            progress(len(done))
    return list(map(joined, zip(*done, strict=True)))


def _tested(study: Study, test: StudyTest, data: Rows, seed: int) -> PowerRow:
    """Return what a test found in one data set."""
    plan = asked.Plan(*test, study.lens, data, seed, 0, tolerance=study.tolerance)
    found: dict[str, Any] = {"test": test.key, "null": test.null, "n": data.n, "n_datasets": 1}
    found["estimate_name"] = test.measure.estimate_symbol
    try:
        rejected, estimate = decide(plan, level=study.level, n_resamples=study.n_resamples)
    except NotApplicable as error:
        own: dict[str, Any] = {"not_applicable": 1, "reason": str(error)}
        return PowerRow(**found, **own, rejections=0, estimate=math.nan)
    infinite = int(not math.isfinite(estimate))
    estimate = math.nan if infinite else estimate
    return PowerRow(**found, rejections=int(rejected), estimate=estimate, infinite=infinite)


# ---- the decision of one test on one data set ----------------------------------------------------


def decide(plan: asked.Plan, *, level: float, n_resamples: int) -> tuple[bool, float]:
    """Run one test; return whether it rejects, as `test_calibration` does, and the estimate."""
    if plan.null == "exact" and plan.tolerance is None:
        bound = plan.measure.bind(plan.lens(plan.predictions))
        listed = enumerate_labels(bound, plan.measure.alternative, n_resamples + 1)
        if listed is not None:
            return listed.pvalue <= level, bound.estimate(bound.value())
        return _curtailed(plan, bound, level=level, n_resamples=n_resamples)
    _, outcome = runner.run_plan(plan, n_resamples=n_resamples)
    return outcome.pvalue <= level, outcome.estimate


def _curtailed(
    plan: asked.Plan, bound: BoundMeasure, *, level: float, n_resamples: int
) -> tuple[bool, float]:
    """Draw labels in the batches of the exact null until the decision is certain.

    The p-value counts the redrawn statistics that are as extreme as the observed one; once there
    are too many, or too few even if all that are left were, drawing the rest changes nothing.
    """
    two_sided = plan.measure.alternative == "two-sided"
    most = most_extreme(level, n_resamples, 2 if two_sided else 1)
    value = observed = math.nan
    upper = lower = done = 0
    for values in _values(bound, plan.seed, n_resamples):
        compared = bound.comparable(values)
        if not done:  # the first is that of the labels that were observed
            value, observed, compared = float(values[0]), float(compared[0]), compared[1:]
            tolerance = float(tie_tolerance(observed, bound.scale))
        if np.isnan(compared).any() or np.isnan(observed):
            raise NotApplicable(*NOT_A_NUMBER)
        upper += int(np.count_nonzero(compared >= observed - tolerance))
        lower += int(np.count_nonzero(compared <= observed + tolerance))
        done += compared.size
        hits = min(upper, lower) if two_sided else upper
        if hits > most or hits + n_resamples - done <= most:
            break
    return hits <= most, bound.estimate(value)


def _values(bound: BoundMeasure, seed: int, n_resamples: int) -> Iterator[Floats]:
    """Yield the statistic of the observed and the first redrawn labels, then that of others.

    A pooled measure has work to do in each call, so that it gets many batches after the first.
    """
    batches = redrawn_batches(bound, seed, n_resamples)
    n = bound.predictions.n
    most = max(1, POOL // (n * BATCH)) if bound.pooled else 1
    for first, last in pairwise([0, *range(1, len(batches), most), len(batches)]):
        at_a_time = max(8, AT_A_TIME // n)  # few where there are many labels
        drawn = chain.from_iterable(batch(at_a_time) for batch in batches[first:last])
        labels = chain([bound.observed[np.newaxis]], drawn) if first == 0 else drawn
        calls = [np.concatenate(list(labels))] if bound.pooled else labels
        yield np.concatenate([bound.values(rows) for rows in calls])


def most_extreme(level: float, n_resamples: int, sides: int) -> int:
    """Return how many redrawn statistics may be as extreme where a test rejects; -1 for none."""
    pvalues = sides * (1 + np.arange(n_resamples + 1)) / (1 + n_resamples)
    return int(np.searchsorted(pvalues, level, side="right")) - 1
