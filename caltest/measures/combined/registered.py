"""Any registered measure as a component of the combined test, under any single lens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.lenses import Lens, resolve_lens
from caltest.measures.base import REGISTRY, Labels, Measure
from caltest.measures.combined.component import Codes, Component, Context
from caltest.measures.combined.findings import Finding
from caltest.measures.residual_sums import ResidualStatistic

Floats = NDArray[np.float64]


class OfMeasure(Component):
    """The value of a measure under a lens."""

    def __init__(
        self, context: Context, test: str | Measure, lens: str | Lens, n_jobs: int | None
    ) -> None:
        super().__init__(context)
        self.measure = test if isinstance(test, Measure) else measure_of(test)
        if "exact" not in self.measure.nulls:
            raise NotApplicable(
                f"{self.measure.description} has no exact null", "name another component"
            )
        seen = resolve_lens(lens)
        if seen.is_family:
            raise NotApplicable(f"the lens {seen} stands for several lenses", "name one of them")
        predictions = context.predictions
        self.bound = self.measure.bind(seen(predictions), n_jobs)
        # What the lens makes of each label of each row.
        rows = np.arange(predictions.n)
        self.table = None
        if str(seen) != "strong":
            tables = [
                seen(predictions.relabelled(np.full(rows.size, k))).labels
                for k in range(predictions.m)
            ]
            self.table = np.column_stack(tables).astype(np.uint16)
        # On the instance, since it depends on the measure and the lens.
        self.__dict__.update(
            key=test if isinstance(test, str) else self.measure.key,
            title=self.measure.title,
            lens=str(seen),
            two_sided=self.measure.alternative == "two-sided",
        )

    def _own(self, labels: Labels) -> Labels:
        """Return the labels (B, n) as the measure sees them."""
        if self.context.order is not None:
            labels = labels[:, np.argsort(self.context.order)]
        if self.table is not None:
            labels = self.table[np.arange(len(self.table)), labels]
        if self.bound.order is not None:
            labels = labels[:, self.bound.order]
        return np.ascontiguousarray(labels).astype(self.bound.observed.dtype)

    def values(self, labels: Labels) -> Floats:
        return self.bound.comparable(self.bound.values(self._own(labels), 1))

    def residual_statistic(self) -> ResidualStatistic:
        (found,) = self.measure.residual_statistics(self.bound.predictions)
        return found

    def reordered(self) -> ResidualStatistic:
        """Return that of the measure, whose rows are in the order of the predictions."""
        found = self.residual_statistic()
        found.key, found.title = self.key, self.title
        return found

    def finding(self, labels: Codes) -> Finding:
        value = float(self.bound.values(self._own(self.context.rows(labels)), 1)[0])
        estimate, name = self.bound.estimate(value), self.measure.estimate_symbol
        return Finding(f"{name} = {estimate:.4g}", estimate, name, in_words=False)


def measure_of(key: str) -> Measure:
    """Return the measure of the test with a key."""
    for kind in REGISTRY.values():
        fixed = kind.declared_tests().get(key)
        if fixed is not None:
            return kind(**fixed)
    raise KeyError(key)
