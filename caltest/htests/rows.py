"""Tests of rows in memory: each plan by its null, and the nearest one where it is not defined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from caltest import validation
from caltest.errors import NotApplicable
from caltest.htests.asked import Asked, Plan, seeds_of_groups
from caltest.htests.groups import groups_in_memory
from caltest.htests.runner import Answer, Answering, Weightless
from caltest.lenses.base import induced
from caltest.measures import Measure
from caltest.measures.gap import Gap, event_rows, gap_of
from caltest.measures.outcome import Outcome
from caltest.nulls import REGISTRY as NULLS
from caltest.nulls.adaptive import LEVEL, adaptive_null
from caltest.nulls.cluster import treated_as_independent
from caltest.nulls.tolerance import at_least_exact, tolerance_null
from caltest.predictions import Predictions
from caltest.results import HTest, HTestTable
from caltest.results.evidence import Evidence

SPREAD = (
    "clusters have rows in several groups, which depend on each other: the groups are not tested "
    "together"
)


class RowsInMemory(Answering):
    """Predictions that can be tested.

    Parameters
    ----------
    predictions : Predictions
        The rows.
    grouped : bool
        Whether each of their groups is tested by itself.
    """

    tells_tests = True

    def __init__(self, predictions: Predictions, *, grouped: bool) -> None:
        self.predictions, self.grouped = predictions, grouped
        self.name, self.m = predictions.source, predictions.m

    def run(self, asked: Asked) -> HTest | HTestTable:
        """Return the results of all that was asked; of very many groups tested in one pass."""
        many = groups_in_memory(self.predictions, asked) if self.grouped else None
        return super().run(asked) if many is None else many

    def plans(self, asked: Asked) -> list[Plan]:
        """Return the tests: by group, test and lens."""
        if asked.null is not None:
            validation.check_choice(asked.null, NULLS, "null")
        groups = self.predictions.by_group() if self.grouped else {None: self.predictions}
        seeds = seeds_of_groups(asked.seed, len(groups)) if self.grouped else [asked.seed]
        clear_at = (asked.level or LEVEL) if asked.n_resamples is None else None
        found = [
            Plan(
                test=key,
                measure=measure,
                null="tolerance" if asked.tolerance else asked.null or _default_null(measure, part),
                lens=member,
                predictions=part,
                seed=seed,
                number=number,
                group=group,
                is_one_of_many=self.grouped or lens.is_family,
                note=asked.note,
                tolerance=asked.tolerance,
                clear_at=clear_at,
            )
            for seed, (group, part) in zip(seeds, groups.items(), strict=True)
            for number, (key, measure) in enumerate(asked.measures)
            for lens in asked.lenses
            for member in lens.members(part)
        ]
        return [replace(plan, among=len(found) // len(asked.measures)) for plan in found]

    def answers(
        self, plans: Sequence[Plan], asked: Asked
    ) -> Iterator[tuple[Plan, Answer | NotApplicable]]:
        """Yield the answer to each plan, in their order, or why there is none."""
        for plan in plans:
            try:
                yield plan, _answer(plan, asked)
            except NotApplicable as error:
                yield plan, error

    def spread(self, plans: Sequence[Plan]) -> str:
        """Tell of clusters with rows in two groups, which then depend on each other."""
        parts = {plan.group: plan.predictions.clusters for plan in plans} if self.grouped else {}
        found = [np.unique(codes) for codes in parts.values() if codes is not None]
        sizes = sum(codes.size for codes in found)
        return SPREAD if found and np.unique(np.concatenate(found)).size < sizes else ""


def _default_null(measure: Measure, predictions: Predictions) -> str:
    return "cluster" if predictions.has_dependence else measure.nulls[0]


def _answer(plan: Plan, asked: Asked) -> Answer:
    """Run a plan; in a group that is too small for it, the nearest one that is defined."""
    _check_weights(plan)
    settings = {"n_resamples": asked.most_resamples, "n_jobs": asked.n_jobs}
    try:
        seen, outcome = run_plan(plan, **settings)
    except NotApplicable as error:
        weighted = plan.predictions.sample_weight is not None
        for nearest in plan.nearest(error.reason, weighted=weighted):
            with suppress(NotApplicable):
                seen, outcome = run_plan(nearest, **settings)
                plan = nearest
                break
        else:
            raise
    evidence = Evidence(plan.measure, plan.lens, plan.predictions, plan.seed)
    return Answer(plan, outcome, seen.n, _size(plan, seen), seen, evidence)


def _check_weights(plan: Plan) -> None:
    """Raise Weightless where all weights of the rows that the lens leaves are 0."""
    weight = plan.predictions.sample_weight
    if weight is not None and not weight.all():
        seen = plan.lens(plan.predictions).sample_weight
        if seen is not None and not seen.any():
            raise Weightless("all rows have the weight 0", "give some a positive weight")


def run_plan(plan: Plan, *, n_resamples: int, n_jobs: int | None) -> tuple[Predictions, Outcome]:
    """Run a plan; return the predictions as the lens shows them, and the outcome."""
    redraws = plan.tolerance is not None or NULLS[plan.null].resamples
    seen = induced(plan.lens, plan.predictions) if redraws else plan.lens(plan.predictions)
    settings = {"n_resamples": n_resamples, "seed": plan.seed, "n_jobs": n_jobs}
    if plan.tolerance is None:
        null = NULLS[plan.null]
        null = null if plan.clear_at is None else adaptive_null(null, plan.clear_at)
        outcome = null.test(plan.measure, seen, **settings)
        if seen.has_dependence and plan.null != "cluster":
            outcome = treated_as_independent(outcome, seen)
        return seen, outcome
    if seen.has_dependence:
        from caltest.intervals.cluster import cluster_tolerance_test

        return seen, cluster_tolerance_test(
            plan.measure, seen, tolerance=plan.tolerance, **settings
        )
    outcome = tolerance_null(plan.tolerance).test(plan.measure, seen, **settings)
    if not plan.tolerance.equivalence and plan.measure.is_raised_to_exact(seen.n):
        exact = NULLS["exact"].test(plan.measure, seen, **settings).pvalue
        outcome = at_least_exact(outcome, exact)
    return seen, outcome


def _size(plan: Plan, seen: Predictions) -> Gap:
    if seen.m > 2 or plan.lens.is_confidence:
        return gap_of(event_rows(seen), "confidence", "right")
    return gap_of(event_rows(seen), "event", str(seen.classes[1]))
