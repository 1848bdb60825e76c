"""The one runner: plans of tests, answered by rows in memory, cells or chunks, become results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from caltest import checks
from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.htests import combine
from caltest.htests.asked import Asked, Keys, Plan
from caltest.htests.difference import difference_of
from caltest.htests.places import NAMED, find_places
from caltest.lenses import Lens
from caltest.lenses.base import each_once, induced, shown_by
from caltest.measures import Measure, Outcome, Part
from caltest.measures.gap import Gap, event_rows, gap_of
from caltest.nulls import REGISTRY as NULLS
from caltest.nulls.base import Draws
from caltest.nulls.cluster import treated_as_independent
from caltest.nulls.exact import LEVEL, adaptive_null
from caltest.nulls.tolerance import tolerance_test
from caltest.predictions import Predictions
from caltest.results import HTest, HTestTable, wording
from caltest.results.htest import Counted, Evidence
from caltest.sources import Cells, ManyCells

MOST = 9999  # resamples of the test of a difference, where their number is adaptive
MENTIONED = 0.1  # largest adjusted p-value of what a component found that is said with the answer
REST = (
    "in the components the predicted class is the largest of the ranks and the rest, and the "
    "confidence is its probability"
)
SPREAD = (
    "clusters have rows in several groups, which depend on each other: the groups are not tested "
    "together"
)
SIGNED = (
    "clusters have rows in several groups: adjusted p-values hold whatever their dependence, and "
    "the test of all groups flips signs of residuals by cluster for all groups together"
)
Row = tuple[Plan, HTest]


class Weightless(NotApplicable):
    """None of the rows that a lens leaves counts."""


@dataclass(frozen=True)
class Answer:
    """The outcome of a plan, and what the test saw.

    Attributes
    ----------
    plan : Plan
        What was run: that which was planned, or the nearest that is defined.
    outcome : Outcome
        Its numbers.
    n : int
        How many rows the test saw.
    size : Gap
        Mean prediction and observed share.
    searched : Predictions, Cells or None
        Where places are searched for; None where no rows are kept.
    evidence, counted : optional
        What the result keeps for later questions.
    """

    plan: Plan
    outcome: Outcome
    n: int
    size: Gap
    searched: Predictions | Cells | None = None
    evidence: Evidence | None = None
    counted: Counted | None = None


class Answering(ABC):
    """Rows that can be tested: in memory, counted in cells, or read by chunks.

    Attributes
    ----------
    name : str
        What is tested, for print.
    m : int
        Number of classes.
    keys : (names, mapping) or None
        The columns that groups are made of, each of which is tested by itself, and their values in
        a group by its name, where these are not the name.
    left_out : tuple of str
        What is left out of the rows, in words; known once they are read.
    tells_tests : bool
        Whether progress is counted in tests; elsewhere in rows or parts, as these are read.
    """

    name: str
    m: int
    keys: Keys | None = None
    left_out: tuple[str, ...] = ()
    tells_tests: bool = False

    def run(self, asked: Asked) -> HTest | HTestTable:
        """Return the results of all that was asked: a table where there are several."""
        plans = self.plans(asked)
        rows: list[Row] = []
        left_out: dict[str, list[str]] = {}  # which tests, by why
        reason: NotApplicable | None = None  # of one that has weights
        known: set[object] = set()
        degenerate: dict[tuple[int, int], list[str]] = {}  # texts, by test and their number in it
        answers = zip(plans, self.answers(plans, asked), strict=True)
        for done, (plan, answer) in enumerate(answers, start=1):
            if isinstance(answer, NotApplicable):
                is_weightless = isinstance(answer, Weightless)
                reason = reason if is_weightless else answer
                able = len(asked.measures) > 1 or plan.measure.offers("residual_statistics")
                nulls = (*plan.measure.nulls, *(["cluster"] if able else []))
                has_meaning = plan.tolerance or plan.null in nulls
                is_optional = is_weightless or (plan.is_one_of_many and has_meaning)
                if not is_optional or sum(map(len, left_out.values())) + 1 == len(plans):
                    raise reason or answer from None
                left_out.setdefault(str(answer), []).append(f"{plan.test} under {plan.where}")
            else:
                for number, text in enumerate(answer.outcome.degenerate):
                    if (key := (plan.group, str(plan.lens), text)) not in known:
                        where = f"{plan.where}: " * plan.is_one_of_many
                        degenerate.setdefault((plan.number, number), []).append(where + text)
                    known.add(key)
                rows.append((answer.plan, _result(self, answer, asked)))
            if self.tells_tests and asked.progress is not None:
                asked.progress(done, len(plans))
        absent = [
            f"{'; '.join(own)} {'are' if len(own) > 1 else 'is'} left out of the table: {text}"
            for text, own in left_out.items()
        ]
        for first, *others in filter(None, (absent, *degenerate.values())):
            also = f" (and {len(others)} more: see the notes)" if others else ""
            checks.warn_caller(first + also, DegenerateDataWarning)
        several = len(asked.measures) * len(asked.lenses) > 1 or self.keys
        if not several and not asked.lenses[0].is_family:
            return rows[0][1]
        return _table(self, rows, absent, asked)

    def plans(self, asked: Asked) -> list[Plan]:
        """Return the tests: by group, test and lens."""
        parts = self.parts(asked)
        seeds = [asked.seed]
        if self.keys:
            children = np.random.SeedSequence(asked.seed).spawn(len(parts))
            seeds = [int(child.generate_state(1)[0]) for child in children]
        return [
            Plan(
                test=key,
                measure=measure,
                null=self.null_of(measure, part, asked),
                lens=lens,
                predictions=part,
                seed=seed,
                number=number,
                group=group,
                is_one_of_many=bool(self.keys) or lens not in asked.lenses,
                note=asked.note,
                tolerance=asked.tolerance,
                clear_at=(asked.level or LEVEL) if asked.n_resamples is None else None,
                may_count=asked.may_count,
                alone=len(asked.measures) * len(seen) == 1,
                among=sum(map(len, parts.values())),
            )
            for seed, (group, seen) in zip(seeds, parts.items(), strict=True)
            for number, (key, measure) in enumerate(asked.measures)
            for lens, part in seen
        ]

    def null_of(self, measure: Measure, part: Any, asked: Asked) -> str:
        """Return the null of a measure: the exact one, where rows are not in memory."""
        return "exact"

    def claim_of(self, plan: Plan) -> str:
        """Return the null hypothesis in words."""
        return plan.lens.claim

    @abstractmethod
    def parts(self, asked: Asked) -> dict[Any, list[tuple[Lens, Any]]]:
        """Return what is tested of each group, or of None: a lens, and what the test is given."""

    @abstractmethod
    def answers(self, plans: Sequence[Plan], asked: Asked) -> Iterator[Answer | NotApplicable]:
        """Yield the answer to each plan, in their order, or why there is none."""

    def spread(self, plans: Sequence[Plan]) -> str:
        """Say why groups depend on each other; empty where they do not."""
        return ""

    def apart(self, plans: Sequence[Plan]) -> str:
        """Say why the tests do not see the same resamples; empty where they do."""
        return ""


def _result(source: Answering, answer: Answer, asked: Asked) -> HTest:
    plan = answer.plan
    kind, claim = plan.null, source.claim_of(plan)
    if plan.tolerance is not None:
        kind, claim = plan.tolerance.title, plan.tolerance.claim(plan.measure.estimate_symbol)
    weight, name = getattr(plan.predictions, "sample_weight", None), asked.given.sample_weight
    remarks = [*source.left_out]
    mass = getattr(plan.predictions, "mass", weight)  # of censored rows, without their weights
    if weight is not None and (mass is weight or np.ptp(weight) > 0):
        rows = f", and count as {weight.sum() ** 2 / (weight @ weight):,.0f} of equal weight"
        whose = f" ({name})" if isinstance(name, str) else ""
        if (mass != weight).any():
            whose = " for those that were censored"
        remarks.append(f"{wording.WEIGHTED}{whose}{rows if plan.group is None else ''}")
    parts: Sequence[Part] = answer.outcome.parts
    if plan.lens.has_rest and answer.size.kind == "confidence":
        # Not what the model predicts.
        parts = [replace(part, in_words=False) for part in parts]
        remarks += [REST] if parts else []
    whole = HTest.from_outcome(
        answer.outcome,
        test=plan.test,
        method=f"{kind.capitalize()} test of calibration: {plan.measure.title}",
        estimate_name=plan.measure.estimate_symbol,
        null=plan.null,
        n=answer.n,
        m=source.m,
        lens=str(plan.lens),
        claim=claim,
        data_name=source.name,
        n_resamples=asked.most_resamples,
        seed=plan.seed,
        note=plan.note,
        remarks=remarks,
        level=asked.level,
        group=plan.group,
        size=answer.size,
        evidence=answer.evidence,
        counted=answer.counted,
    )
    if not parts:
        return whole
    places: tuple[Gap, ...] = ()
    if answer.searched is not None and whole.pvalue <= (asked.level or NAMED):
        about: dict[str, Any] = {"lens": whole.lens, "group": plan.group, "level": asked.level}
        about |= {"n_resamples": asked.most_resamples, "seed": plan.seed, "among": plan.among}
        about["predicts"] = not plan.lens.has_rest
        places = find_places(answer.searched, **about)
    clear = [part for part in parts if part.adjusted <= MENTIONED and (part.in_words or places)]
    found = replace(whole, components=_components(whole, parts), places=places)
    if not clear:
        return found
    is_said = clear[0].in_words
    return replace(found, finding=clear[0].finding if is_said else wording.wrong_in_words(found))


def _table(
    source: Answering, found: Sequence[Row], left_out: Sequence[str], asked: Asked
) -> HTestTable:
    plans, rows = [plan for plan, _ in found], tuple(row for _, row in found)
    is_joint = asked.correction == "joint"
    spread = source.spread(plans)
    draws = {"n_resamples": asked.most_resamples, "seed": asked.seed}
    shared = combine.with_shared_signs(found, **draws) if spread and is_joint else []
    resampled, note = shared or rows, SIGNED if shared else spread
    apart = source.apart(plans) if is_joint else ""
    correction = "holm" if is_joint and (spread or apart) else asked.correction
    spread = "" if shared else spread
    together: list[HTest] = []
    members: dict[tuple[int, str], list[Row]] = {}
    for plan, row in zip(plans, resampled, strict=True) if not spread else ():
        if plan.group is not None and plan.tolerance is None:
            members.setdefault((plan.number, str(plan.lens)), []).append((plan, row))
    for some in members.values():
        if len(some) > 1:
            some.sort(key=lambda item: item[0].note)  # what was asked for gives the title
            together.append(combine.omnibus([row for _, row in some], **draws))
    adjusted, name = combine.adjusted_rows(rows, correction)
    told = dict.fromkeys(plan.measure.note_of_groups for plan in plans if together)
    draws["n_resamples"] = min(asked.most_resamples, MOST)
    is_tested = bool(source.keys) and asked.tolerance is None
    names, keys = source.keys or ((), {})
    return HTestTable(
        rows,
        name,
        adjusted,
        library=asked.given.library,
        level=asked.level,
        notes=tuple(filter(None, (*source.left_out, *left_out, note, apart, *told))),
        omnibus=tuple(together),
        together=combine.pvalue_of_groups(rows, together),
        difference=difference_of(rows, level=asked.level, **draws) if is_tested else None,
        by=names or None,
        values=tuple(keys.get(row.group, (row.group,)) for row in rows) if names else None,
    )


def _components(whole: HTest, parts: Sequence[Part]) -> HTestTable:
    """Return the statistics that a test combines as results, in their order."""
    rows = [
        replace(
            whole,
            test=part.key,
            method=f"Component of the {whole.test} test: {part.title}",
            statistic_name=part.title,
            statistic=float(part.values[0]),
            pvalue=part.pvalue,
            estimate_name=part.estimate_name,
            estimate=part.estimate,
            alternative="two-sided" if part.two_sided else "greater",
            lens=part.lens if whole.lens == "strong" else whole.lens,
            parameters={"finding": part.finding},
            n_resamples=whole.n_resamples and part.values.size - 1,
            stopping=None,
            null_distribution=part.values[1:],
            notes=(),
            evidence=None,
            replicates=None,
        )
        for part in parts
    ]
    adjusted = np.array([part.adjusted for part in parts])
    library = whole.evidence.predictions.library if whole.evidence else "polars"
    return HTestTable(tuple(rows), "joint", adjusted, level=whole.level, library=library)


# ---- rows in memory -----------------------------------------------------------------------------


class RowsInMemory(Answering):
    """Predictions that can be tested.

    Parameters
    ----------
    predictions : Predictions or Forecasts
        The rows.
    keys : (names, mapping) or None
        Those of their groups, where each is tested by itself.
    """

    tells_tests = True

    def __init__(self, predictions: Any, keys: Keys | None) -> None:
        self.predictions, self.keys = predictions, keys
        self.name, self.m = predictions.source, predictions.m

    def run(self, asked: Asked) -> HTest | HTestTable:
        """Return the results of all that was asked; of very many groups in one pass."""
        data, lens, asks_one = self.predictions, asked.lenses[0], len(asked.lenses) == 1
        one_event = lens.is_confidence or (data.m == 2 and str(lens) == "strong")
        if self.keys and data.groups is not None and one_event and asks_one:
            groups, weighted = np.unique(data.groups).size, data.is_weighted
            passes = combine.in_one_pass(groups, asked, events=1, weighted=weighted)
            if passes and not data.has_dependence:
                many = ManyCells.of_rows(lens(data), *self.keys, asked.bins)
                call = combine.GroupsCall(asked, lens, data.m, data.source)
                result = call.disjoint([many], len(many))
                if asked.progress is not None:
                    asked.progress(len(many), len(many))
                return result
        return super().run(asked)

    def parts(self, asked: Asked) -> dict[Any, list[tuple[Lens, Any]]]:
        """Return what is tested of each group: the predictions before the lens."""
        if asked.null is not None:
            checks.check_choice(asked.null, NULLS, "null")
        for lens in asked.lenses:
            lens.claim_of(self.predictions)
        groups = self.predictions.by_group() if self.keys else {None: self.predictions}
        return {
            group: [
                (member, part)
                for member in each_once(m for lens in asked.lenses for m in lens.members(part))
            ]
            for group, part in groups.items()
        }

    def null_of(self, measure: Measure, part: Any, asked: Asked) -> str:
        """Return the null of a measure: by default that of clusters where rows have some."""
        if asked.tolerance is not None:
            return "tolerance"
        if part.censoring is not None and asked.null not in (None, "cluster"):
            reason = f"the null {asked.null!r} does not know which rows are censored"
            raise NotApplicable(reason, "leave out null=")
        return asked.null or ("cluster" if part.has_dependence else measure.nulls[0])

    def claim_of(self, plan: Plan) -> str:
        return plan.lens.claim_of(plan.predictions)

    def answers(self, plans: Sequence[Plan], asked: Asked) -> Iterator[Answer | NotApplicable]:
        """Yield the answer to each plan, in their order, or why there is none."""
        for plan in plans:
            try:
                yield _answer(plan, asked)
            except NotApplicable as error:
                yield error

    def spread(self, plans: Sequence[Plan]) -> str:
        """Tell of clusters with rows in two groups, which then depend on each other."""
        parts = {plan.group: plan.predictions.clusters for plan in plans} if self.keys else {}
        found = [np.unique(codes) for codes in parts.values() if codes is not None]
        sizes = sum(codes.size for codes in found)
        return SPREAD if found and np.unique(np.concatenate(found)).size < sizes else ""


def _answer(plan: Plan, asked: Asked) -> Answer:
    """Run a plan; in a group that is too small for it, the nearest one that is defined."""
    weight = plan.predictions.sample_weight
    if weight is not None and not weight.all():
        shown = shown_by(plan.lens, plan.predictions).sample_weight
        if shown is not None and not shown.any():
            raise Weightless("all rows have the weight 0", "give some a positive weight")
    run = partial(run_plan, n_resamples=asked.most_resamples)
    plan, (seen, outcome) = plan.first_defined(run, weighted=weight is not None)
    evidence = Evidence(plan.measure, plan.lens, plan.predictions, plan.seed)
    sized, *about = plan.lens.size_of(seen)
    size, searched = gap_of(event_rows(sized), *about), seen if seen.m else None
    return Answer(plan, outcome, seen.n, plan.measure.sized(size), searched, evidence)


def run_plan(plan: Plan, *, n_resamples: int) -> tuple[Predictions, Outcome]:
    """Run a plan; return the predictions as the lens shows them, and the outcome."""
    redraws = plan.tolerance is not None or NULLS[plan.null].resamples
    seen = (induced if redraws else shown_by)(plan.lens, plan.predictions).drawn_from
    plan.measure.check_of(seen, plan.note, needed="tolerance" if plan.tolerance else "")
    settings: dict[str, Any] = {"n_resamples": n_resamples, "seed": plan.seed}
    counting = {"may_count": plan.may_count, "alone": plan.alone}
    if plan.tolerance is None:
        null = NULLS[plan.null]
        null = null if plan.clear_at is None else adaptive_null(null, plan.clear_at)
        outcome = null.test(plan.measure, seen, **settings, **counting)
        if seen.has_dependence and plan.null != "cluster":
            outcome = treated_as_independent(outcome, seen)
        return seen, outcome
    if seen.has_dependence:
        from caltest.intervals.cluster import cluster_tolerance_test

        settings["tolerance"] = plan.tolerance
        return seen, cluster_tolerance_test(plan.measure, seen, **settings)
    return seen, tolerance_test(plan.measure, seen, Draws(**settings), tolerance=plan.tolerance)
