"""The one runner: plans of tests, answered by rows in memory, cells or chunks, become results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.htests.asked import Asked, Plan
from caltest.htests.combine import adjusted_rows, omnibus, pvalue_of_groups
from caltest.htests.outcome import with_parts
from caltest.results import HTest, HTestTable
from caltest.validation.suspicions import warn_caller

if TYPE_CHECKING:
    from caltest.measures.gap import Gap
    from caltest.measures.outcome import Outcome
    from caltest.predictions import Predictions
    from caltest.results.evidence import Counted, Evidence
    from caltest.scale import Cells

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
    grouped : bool
        Whether each group is tested by itself.
    left_out : tuple of str
        What is left out of the rows, in words; known once they are read.
    tells_tests : bool
        Whether progress is told in tests; elsewhere in rows or parts, as these are read.
    """

    name: str
    m: int
    grouped: bool = False
    left_out: tuple[str, ...] = ()
    tells_tests: bool = False

    def run(self, asked: Asked) -> HTest | HTestTable:
        """Return the results of all that was asked: a table where there are several."""
        rows, left_out = _run_all(self, self.plans(asked), asked)
        several = len(asked.measures) * len(asked.lenses) > 1 or self.grouped
        if not several and not asked.lenses[0].is_family:
            return rows[0][1]
        return _table(self, rows, left_out, asked)

    @abstractmethod
    def plans(self, asked: Asked) -> list[Plan]:
        """Return the tests: by group, test and lens."""

    @abstractmethod
    def answers(
        self, plans: Sequence[Plan], asked: Asked
    ) -> Iterator[tuple[Plan, Answer | NotApplicable]]:
        """Yield the answer to each plan, in their order, or why there is none."""

    def spread(self, plans: Sequence[Plan]) -> str:
        """Say why groups depend on each other; empty where they do not."""
        return ""

    def apart(self, plans: Sequence[Plan]) -> str:
        """Say why the tests do not see the same resamples; empty where they do."""
        return ""


def _run_all(source: Answering, plans: Sequence[Plan], asked: Asked) -> tuple[list[Row], list[str]]:
    """Return the results of all plans, and notes on those that are left out."""
    rows: list[Row] = []
    left_out: list[str] = []
    reason: NotApplicable | None = None  # of one that has weights
    told: set[object] = set()
    for done, (plan, answer) in enumerate(source.answers(plans, asked), start=1):
        if isinstance(answer, NotApplicable):
            is_weightless = isinstance(answer, Weightless)
            reason = reason if is_weightless else answer
            if not (is_weightless or plan.may_be_left_out) or len(left_out) + 1 == len(plans):
                raise reason or answer from None
            left_out.append(_left_out(plan, answer))
            warn_caller(left_out[-1], DegenerateDataWarning)
        else:
            own = {(plan.group, str(plan.lens), text): text for text in answer.outcome.degenerate}
            for text in (text for key, text in own.items() if key not in told):
                warn_caller(text, DegenerateDataWarning)
            told |= own.keys()
            rows.append((answer.plan, _result(source, answer, asked)))
        if source.tells_tests and asked.progress is not None:
            asked.progress(done, len(plans))
    return rows, left_out


def _left_out(plan: Plan, error: NotApplicable) -> str:
    """Say that a class or group is too small for a test."""
    where = f"lens {plan.lens}" if plan.group is None else f"group {plan.group!r}, lens {plan.lens}"
    return f"{plan.test} under {where} is left out of the table: {error}"


def _result(source: Answering, answer: Answer, asked: Asked) -> HTest:
    plan = answer.plan
    kind, claim = plan.null, plan.lens.claim
    if plan.tolerance is not None:
        kind, claim = plan.tolerance.title, plan.tolerance.claim(plan.measure.estimate_symbol)
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
        level=asked.level,
        group=plan.group,
        size=answer.size,
        evidence=answer.evidence,
        counted=answer.counted,
    )
    if source.left_out:
        whole = replace(whole, notes=(*whole.notes, *source.left_out))
    search = {"among": plan.among, "n_resamples": asked.most_resamples, "seed": plan.seed}
    return with_parts(whole, answer.outcome.parts, answer.searched, **search)


def _table(
    source: Answering, found: Sequence[Row], left_out: Sequence[str], asked: Asked
) -> HTestTable:
    plans, rows = [plan for plan, _ in found], tuple(row for _, row in found)
    is_joint = asked.correction == "joint"
    spread = source.spread(plans)
    apart = source.apart(plans) if is_joint else ""
    correction = "holm" if is_joint and (spread or apart) else asked.correction
    together = () if spread else tuple(_omnibus_tests(found, asked))
    adjusted, name = adjusted_rows(rows, correction)
    return HTestTable(
        rows,
        name,
        adjusted,
        level=asked.level,
        notes=tuple(filter(None, (*source.left_out, *left_out, spread, apart))),
        omnibus=together,
        together=pvalue_of_groups(rows, together),
    )


def _omnibus_tests(rows: Sequence[Row], asked: Asked) -> Iterator[HTest]:
    """Yield the test of all groups together for each test and lens that two groups have."""
    together: dict[tuple[int, str], list[Row]] = {}
    for plan, row in rows:
        if plan.group is not None and plan.tolerance is None:
            together.setdefault(plan.together, []).append((plan, row))
    about: dict[str, Any] = {"n_resamples": asked.most_resamples, "seed": asked.seed}
    for members in together.values():
        if len(members) > 1:
            members.sort(key=lambda item: item[0].note)  # what was asked for gives the title
            title = members[0][0].measure.title
            yield omnibus([row for _, row in members], title=title, **about)
