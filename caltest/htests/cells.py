"""Tests of very many rows that are counted in cells where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable
from caltest.htests.asked import Asked, Keys, Plan
from caltest.htests.combine import GroupsCall, in_one_pass
from caltest.htests.runner import Answer, Answering
from caltest.lazy import pl
from caltest.lenses import Lens, resolve_lens
from caltest.lenses.base import each_once
from caltest.measures.gap import gap_of_cells
from caltest.nulls.base import Draws
from caltest.nulls.exact import bind_cells, exact_tests
from caltest.results import GroupsTest, HTest, HTestTable, htest
from caltest.sources import Cells, Counting, count_rows
from caltest.sources.columns import Columns
from caltest.sources.sources import Reader

MOST = 1 << 26  # resampled statistics of all rows of a table: 512 MiB
SEVERAL_LENSES = "events of several lenses are redrawn each by itself: adjusted by Holm's method"


@dataclass(frozen=True)
class Prepared:
    """Rows that will be counted in cells: how they are read, and what is counted."""

    reader: Reader
    counting: Counting

    @staticmethod
    def refuse(asked: Asked) -> None:
        """Raise NotApplicable where something asked for needs the rows."""
        weight = None if asked.given.sample_weight is None else [1.0, 2.0, 1.0, 1.0]
        few = count_rows([0.25, 0.5, 0.5, 0.75], [0, 1, 0, 1], asked.bins, weight)
        for _, measure in asked.measures:
            bind_cells(measure, few)

    @classmethod
    def of(cls, reader: Reader, columns: Columns, asked: Asked) -> Prepared:
        """Check that the lenses of these columns can be counted."""
        usual = "strong" if len(columns.classes) == 2 else "confidence"
        chosen = asked.lenses or [resolve_lens(usual)]  # of segments
        lenses = each_once(m for lens in chosen for m in lens.members_of(columns.classes))
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
        groups = int(table["group"].n_unique()) if columns.by else 0
        if in_one_pass(groups, asked, events=events, weighted=weighted):
            left_out, name = self.reader.left_out.notes(), self.reader.source.name
            call = GroupsCall(asked, self.counting.lenses[0], len(columns.classes), name, left_out)
            alone = asked.measures[0][1].takes("groups")  # each by itself, whatever the others
            parts = self.counting.parts(table) if alone else [self.counting.many(table, 0)]
            del table  # of the size of the data where groups are very many
            return call.disjoint(parts, groups)
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
    keys : (names, mapping) or None
        The columns that groups are made of, if there are some, and their values in each.
    """

    name: str
    classes: Sequence[object]
    lenses: tuple[Lens, ...]
    events: tuple[dict[Any, Cells], ...]
    left_out: tuple[str, ...]
    keys: Keys | None

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
            checks.suspect_counted(mean, rows, events, np.array(self.classes))

    def parts(self, asked: Asked) -> dict[Any, list[tuple[Lens, Any]]]:
        """Return what is tested of each group: the cells of each lens.

        Raises
        ------
        NotApplicable
            If the resampled statistics of all would fill the memory.
        """
        known = {group for cells in self.events for group in cells}
        groups = sorted(known, key=lambda group: (type(group).__name__, group))
        seen = list(zip(self.lenses, self.events, strict=True))
        found = {g: [(lens, cells[g]) for lens, cells in seen if g in cells] for g in groups}
        count = sum(map(len, found.values())) * len(asked.measures)
        size = count * (1 + asked.most_resamples)
        if size > MOST:
            raise NotApplicable(
                f"{count} tests of groups and lenses with B = {asked.n_resamples} hold {size} "
                f"resampled statistics, more than {MOST}",
                "pass a smaller n_resamples, a test such as 'ks', or a column with fewer groups",
            )
        return found

    def answers(self, plans: Sequence[Plan], asked: Asked) -> Iterator[Answer | NotApplicable]:
        """Yield the answer to each plan, in their order, or why there is none."""
        of_cells: dict[int, list[Plan]] = {}
        for plan in plans:
            of_cells.setdefault(id(plan.predictions), []).append(plan)
        ready = {cells: _answers(some, asked) for cells, some in of_cells.items()}
        yield from (next(ready[id(plan.predictions)]) for plan in plans)

    def apart(self, plans: Sequence[Plan]) -> str:
        """Tell of several lenses, whose events are redrawn each by itself."""
        return SEVERAL_LENSES if len({str(plan.lens) for plan in plans}) > 1 else ""


def _answers(plans: Sequence[Plan], asked: Asked) -> Iterator[Answer | NotApplicable]:
    """Yield the answers to the tests of the same cells: they see the same redrawn events."""
    cells: Cells = plans[0].predictions
    bound = [_bound(plan, cells, alone=len(plans) == 1) for plan in plans]
    pairs = [(plan.measure, one) for plan, one in bound if not isinstance(one, NotApplicable)]
    outcomes = iter(exact_tests(pairs, Draws(**asked.draws(plans[0].seed))) if pairs else ())
    for plan, one in bound:
        if isinstance(one, NotApplicable):
            yield one
            continue
        gap = gap_of_cells(cells, "confidence" if plan.lens.is_confidence else "event", cells.event)
        counted = htest.Counted(plan.measure, plan.lens, cells, plan.seed)
        yield Answer(plan, next(outcomes), cells.rows, gap, cells, counted=counted)


def _bound(plan: Plan, cells: Cells, *, alone: bool) -> tuple[Plan, Any]:
    """Bind the measure of a plan, or in a group that is too small the nearest that is defined."""
    weighted = cells.weights is not None
    try:
        return plan.first_defined(
            lambda one: bind_cells(one.measure, cells, alone=alone), weighted=weighted
        )
    except NotApplicable as error:
        return plan, error


def counted_rows(prepared: Prepared, cells: pl.DataFrame, *, grouped: bool) -> CountedRows:
    """Return the cells of a table by group, or of all rows together."""
    counting = prepared.counting
    if counting.columns.by and not grouped:
        counting, cells = counting.total(cells)
    columns, name = counting.columns, prepared.reader.source.name
    if len(columns.probs) == 1 and columns.kind == "text":
        name = f"{name}, event: {columns.classes[1]}"
    events = [counting.many(cells, number) for number in range(len(counting.lenses))]
    values = {name: key for one in events for name, key in zip(one.names, one.values, strict=True)}
    return CountedRows(
        name=name,
        classes=columns.classes,
        lenses=counting.lenses,
        events=tuple(dict(one.each()) for one in events),
        left_out=prepared.reader.left_out.notes(),
        keys=(columns.by, values) if columns.by else None,
    )
