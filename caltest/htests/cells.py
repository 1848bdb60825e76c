"""Tests of very many rows: counted in cells where they lie, and tested by these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from caltest.errors import NotApplicable
from caltest.htests.asked import Asked, Plan, as_columns, seeds_of_groups
from caltest.htests.groups import GroupsCall, in_one_pass
from caltest.htests.runner import Answer, Answering
from caltest.lenses import Lens, resolve_lens
from caltest.measures.gap import gap_of_cells
from caltest.nulls.cells import KEY, bind_cells, cells_tests
from caltest.results import GroupsTest, HTest, HTestTable
from caltest.results.evidence import Counted
from caltest.scale import Cells, count_rows
from caltest.scale.columns import Columns
from caltest.scale.query import Counting
from caltest.scale.sources import CountedParts, Reader
from caltest.validation.suspicions import suspect_counted

__all__ = ["Asked", "CountedRows", "Prepared", "as_columns", "counted_rows", "tests_of"]

MOST = 1 << 26  # resampled statistics of all rows of a table: 512 MiB
SEVERAL_LENSES = "events of several lenses are redrawn each by itself: adjusted by Holm's method"
Found = Mapping[int, Answer | NotApplicable]


@dataclass(frozen=True)
class Prepared:
    """Rows that will be counted in cells: how they are read, and what is counted."""

    reader: Reader
    counting: Counting

    @staticmethod
    def refuse(asked: Asked) -> None:
        """Raise NotApplicable where something asked for needs the rows."""
        asked.check_arguments()
        weight = None if asked.given.sample_weight is None else [1.0, 2.0, 1.0, 1.0]
        few = count_rows([0.25, 0.5, 0.5, 0.75], [0, 1, 0, 1], asked.bins, weight)
        for _, measure in asked.measures:
            bind_cells(measure, few)

    @classmethod
    def of(cls, reader: Reader, columns: Columns, asked: Asked) -> Prepared:
        """Check that the lenses of these columns can be counted."""
        usual = resolve_lens("strong" if len(columns.classes) == 2 else "confidence")
        chosen = asked.lenses or [usual]  # of segments
        lenses = [m for lens in chosen for m in lens.members_of(columns.classes)]
        counting = Counting(columns, tuple(lenses), asked.bins)
        counting.check()
        return cls(reader, counting)

    def run(self, asked: Asked) -> HTest | HTestTable | GroupsTest:
        """Count the rows of a source in one query, and test the cells.

        Returns
        -------
        HTest, HTestTable or GroupsTest
            A table where tests, lenses or groups are several, a GroupsTest of more than 500 groups.
        """
        table, columns = self.reader.count(self.counting), self.counting.columns
        weighted, events = columns.weight is not None, len(self.counting.lenses)
        groups = table.count_groups() if columns.by else 0
        if in_one_pass(groups, asked, events=events, weighted=weighted):
            call = GroupsCall.of(
                self.reader.source.name, self.counting, table.left_out.notes(), asked
            )
            return call.disjoint(self.counting.many(table.table, 0))
        counted = counted_rows(self, table, grouped=True)
        counted.suspect()
        return counted.run(asked)


@dataclass(frozen=True)
class CountedRows(Answering):
    """Rows that were counted in cells.

    Attributes
    ----------
    name : str
        What was counted, for print.
    classes : sequence
        Names of the classes.
    lenses : tuple of Lens
        Each leaves one event.
    events : tuple of dict
        The cells of each event by group; without groups, by None.
    left_out : tuple of str
        What is left out of the rows, in words.
    grouped : bool
        Whether there are groups.
    """

    name: str
    classes: Sequence[object]
    lenses: tuple[Lens, ...]
    events: tuple[dict[Any, Cells], ...]
    left_out: tuple[str, ...]
    grouped: bool

    @property
    def m(self) -> int:  # type: ignore[override]  # an attribute of others
        """Number of classes."""
        return len(self.classes)

    def under(self, lenses: Sequence[Lens]) -> CountedRows:
        """Return what some of the lenses leave."""
        kept = [k for k, lens in enumerate(self.lenses) if lens in lenses]
        some = tuple(self.lenses[k] for k in kept), tuple(self.events[k] for k in kept)
        return replace(self, lenses=some[0], events=some[1])

    def suspect(self) -> None:
        """Warn where the rows of two classes look like a mistake."""
        if len(self.classes) == 2 and str(self.lenses[0]) == "strong":
            columns = [(one.mean, one.counts, one.hits) for one in self.events[0].values()]
            mean, rows, events = map(np.concatenate, zip(*columns, strict=True))
            suspect_counted(mean, rows, events, np.array(self.classes))

    def plans(self, asked: Asked) -> list[Plan]:
        """Return the tests: by group, test and lens.

        Raises
        ------
        NotApplicable
            If the resampled statistics of all would fill the memory.
        """
        groups = sorted({group for cells in self.events for group in cells}, key=_order)
        seeds = seeds_of_groups(asked.seed, len(groups)) if self.grouped else [asked.seed]
        found = [
            Plan(
                test=key,
                measure=measure,
                null=KEY,
                lens=lens,
                predictions=cells[group],
                seed=seed,
                number=number,
                group=group,
                is_one_of_many=self.grouped or len(self.lenses) > len(asked.lenses),
                note=asked.note,
            )
            for seed, group in zip(seeds, groups, strict=True)
            for number, (key, measure) in enumerate(asked.measures)
            for lens, cells in zip(self.lenses, self.events, strict=True)
            if group in cells
        ]
        size = len(found) * (1 + asked.most_resamples)
        if size > MOST:
            raise NotApplicable(
                f"{len(found)} tests of groups and lenses with B = {asked.n_resamples} hold {size} "
                f"resampled statistics, more than {MOST}",
                "pass a smaller n_resamples, a test such as 'ks', or a column with fewer groups",
            )
        return [replace(plan, among=len(found) // len(asked.measures)) for plan in found]

    def answers(
        self, plans: Sequence[Plan], asked: Asked
    ) -> Iterator[tuple[Plan, Answer | NotApplicable]]:
        """Yield the answer to each plan, in their order, or why there is none."""
        for _, members in groupby(plans, lambda plan: plan.seed):
            some = list(members)
            found: dict[int, Answer | NotApplicable] = {}
            for cells in {id(plan.predictions): plan.predictions for plan in some}.values():
                own = [k for k, plan in enumerate(some) if plan.predictions is cells]
                found |= zip(own, _answers([some[k] for k in own], cells, asked), strict=True)
            yield from ((plan, found[k]) for k, plan in enumerate(some))

    def apart(self, plans: Sequence[Plan]) -> str:
        """Tell of several lenses, whose events are redrawn each by itself."""
        return SEVERAL_LENSES if len({str(plan.lens) for plan in plans}) > 1 else ""


def _order(group: object) -> tuple[str, Any]:
    return (type(group).__name__, group)


def _answers(plans: Sequence[Plan], cells: Cells, asked: Asked) -> Iterator[Answer | NotApplicable]:
    """Yield the answers to the tests of the same cells: they see the same redrawn events."""
    bound = [_bound(plan, cells) for plan in plans]
    pairs = [(plan.measure, one) for plan, one in bound if not isinstance(one, NotApplicable)]
    settings = {"n_resamples": asked.most_resamples, "seed": plans[0].seed, "n_jobs": asked.n_jobs}
    outcomes = iter(cells_tests(pairs, cells, **settings) if pairs else ())
    for plan, one in bound:
        if isinstance(one, NotApplicable):
            yield one
            continue
        kind = "confidence" if plan.lens.is_confidence else "event"
        yield Answer(
            plan,
            next(outcomes),
            cells.rows,
            gap_of_cells(cells, kind, cells.event),
            cells,
            counted=Counted(plan.measure, plan.lens, cells, plan.seed),
        )


def _bound(plan: Plan, cells: Cells) -> tuple[Plan, Any]:
    """Bind the measure of a plan, or in a group that is too small the nearest that is defined."""
    try:
        return plan, bind_cells(plan.measure, cells)
    except NotApplicable as error:
        for nearest in plan.nearest(error.reason, weighted=cells.weights is not None):
            with suppress(NotApplicable):
                return nearest, bind_cells(nearest.measure, cells)
        return plan, error


def tests_of(counted: CountedRows, asked: Asked) -> HTest | HTestTable:
    """Test rows that were counted."""
    return counted.run(asked)


def counted_rows(prepared: Prepared, table: CountedParts, *, grouped: bool) -> CountedRows:
    """Return the cells of a table by group, or of all rows together."""
    counting = prepared.counting
    cells = table.table
    if counting.columns.by and not grouped:
        counting = replace(counting, columns=replace(counting.columns, by=()))
        cells = counting.merged([cells], repeats=True)
    columns, name = counting.columns, prepared.reader.source.name
    if len(columns.probs) == 1 and columns.kind == "text":
        name = f"{name}, event: {columns.classes[1]}"
    return CountedRows(
        name=name,
        classes=columns.classes,
        lenses=counting.lenses,
        events=tuple(counting.split(cells)),
        left_out=table.left_out.notes(),
        grouped=bool(columns.by),
    )
