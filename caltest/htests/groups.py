"""Very many groups, of rows or of cells: tested in one pass, not one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from caltest.htests.asked import Asked
from caltest.htests.combine import adjusted_pvalues, fisher, test_of_all
from caltest.lenses import Lens
from caltest.measures.cells import in_words
from caltest.measures.gap import gap_of_cells, limits_of_groups
from caltest.measures.of_units import BoundGroups
from caltest.numerics.crossings import Totals, dispersions
from caltest.numerics.labels import resample_keys, row_hashes
from caltest.results import GroupsTest, HTest
from caltest.results.table import ARRAYS
from caltest.sources import ManyCells

FROM = 501  # groups that are tested in one pass
AT_LEAST = 100  # resamples for each group, so that adjusted p-values can be small
AT_MOST = 2_000_000  # resamples, where p-values are by redrawn labels
SHARES = (0.1, 0.7, 0.2)  # of the level: Fisher's test, Simes', and that of the dispersion
TIES = 1e-12  # of a sum, relative to its size


@dataclass(frozen=True)
class GroupsCall:
    """One test of very many groups.

    Attributes
    ----------
    asked : Asked
        What `test_calibration` was asked.
    lens : Lens
        One that leaves one event.
    m : int
        The number of classes before the lens.
    data_name : str
        What is tested.
    notes : tuple of str
        What is known before.
    """

    asked: Asked
    lens: Lens
    m: int
    data_name: str
    notes: tuple[str, ...] = ()

    def disjoint(self, many: ManyCells) -> GroupsTest:
        r"""Test each of very many groups that share no row, and all of them together.

        Groups are independent of each other given the predictions, so that Holm's adjustment of
        their p-values loses next to nothing against a joint one. The p-value of all groups is the
        smallest of three, each divided by its share of the level:

        - 0.7 for that of Simes (1986), :math:`\min_k G p_{(k)} / k`, valid for independent
          p-values, and small where some groups are far off;
        - 0.2 for that of the dispersion :math:`\sum_g (O_g - E_g)^2 / V_g` of observed and
          expected numbers of events among redrawn ones, exact, and small where the average of many
          groups is a little off, however few rows they have;
        - 0.1 for Fisher's combination of the p-values, valid for independent ones, and small where
          many groups are a little off in whatever the test sees.

        References
        ----------
        Simes (1986), An improved Bonferroni procedure for multiple tests of significance,
        Biometrika 73; Holm (1979), A simple sequentially rejective multiple test procedure, Scand.
        J. Statist. 6.
        """
        found, _ = self._result(many)
        p, drawn = found.pvalues, {"n_resamples": self.asked.n_resamples, "seed": self.asked.seed}
        fisher_statistic, fisher_p, law = fisher(p)
        simes = min(1.0, float((np.sort(p) * (p.size / np.arange(1, p.size + 1))).min()))
        tests: tuple[tuple[str, float, float, str, dict[str, Any]], ...] = (
            ("Fisher's X^2", fisher_statistic, fisher_p, f"Fisher's of the p-values, {law}", {}),
            ("Simes' p", simes, simes, "Simes' of the p-values", {}),
            ("(O - E)^2 / V", *self._spread(many), "numbers of events redrawn", drawn),
        )
        about: dict[str, Any] = {"groups": p.size, "n": found.n}
        every, whole = [], 1.0
        for (name, value, pvalue, text, more), share in zip(tests, SHARES, strict=True):
            told = f"{text}; it has {share:g} of the level"
            every.append(test_of_all(found.row, name, value, pvalue, told, **about, **more))
            whole = min(whole, pvalue / share)
        return replace(found, together=whole, omnibus=tuple(every))

    def overlapping(self, margins: Iterable[ManyCells]) -> GroupsTest:
        """Test each of very many segments, of which several may hold a row.

        The p-value of all is the least one, times their number: it holds whatever the dependence.

        Parameters
        ----------
        margins : iterable of ManyCells
            Segments that do not overlap, at a time, of the same columns; all rows are the first.
        """
        parts, error = [], 0.0
        for many in margins:
            found, bound = self._result(many)
            parts.append(found)
            error = max(error, bound.error or 0.0)
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(one, name) for one in parts]) for name in ARRAYS
        }
        adjusted, _ = adjusted_pvalues(arrays["pvalues"].tolist(), "holm")
        least = float(adjusted.min())
        row, cells = parts[0].row, sum(int(str(one.row.parameters["cells"])) for one in parts)
        counted = {"cells": cells, "error by cells": in_words(error)}
        text = "the least p-value of a segment, times their number"
        about: dict[str, Any] = {"groups": adjusted.size, "n": row.n}
        return replace(
            parts[0],
            **arrays | {"adjusted": adjusted},
            values=tuple(key for one in parts for key in one.values),
            together=least,
            omnibus=(test_of_all(row, "adjusted p", least, least, text, **about),),
            row=replace(row, parameters={**row.parameters, **counted}),
            overlap=True,
        )

    def _spread(self, many: ManyCells) -> tuple[float, float]:
        """Test the dispersion of the numbers of events of the groups: statistic and p-value."""
        B, seed = self.asked.n_resamples or 0, self.asked.seed
        varied = many.variance > 0
        excess = np.square(many.events - many.expected)[varied] / many.variance[varied]
        observed, groups = float(excess.sum()), row_hashes(np.arange(len(many)))
        cells, mean = many.cells, many.cells.mean
        totals = Totals(
            start=many.start,
            n=cells.n,
            expected=cells.expected,
            mean=many.expected,
            variance=many.variance,
            third=many.sums(cells.variance * (1.0 - 2.0 * mean)),
            fourth=many.sums(cells.variance * (1.0 - 6.0 * mean * (1.0 - mean))),
        )
        redrawn = dispersions(totals, resample_keys(seed, B), groups)
        extreme = np.count_nonzero(redrawn >= observed * (1.0 - TIES))
        return observed, (1 + extreme) / (1 + B)

    def _result(self, many: ManyCells) -> tuple[GroupsTest, BoundGroups]:
        asked, lens = self.asked, self.lens
        key, measure = asked.measures[0]
        wanted = max(asked.n_resamples or 0, min(AT_LEAST * len(many), AT_MOST))
        draws = {**asked.draws(asked.seed), "n_resamples": wanted}
        bound = measure.bind_groups(many)
        pvalues, values = bound.pvalues(**draws), bound.values()
        cells, notes, nearest = many.cells, list[str](), measure.few_rows()
        never, surely = cells.most == 0.0, cells.least == 1.0
        wrong = int(cells.events[never].sum() + (cells.n - cells.events)[surely].sum())
        if wrong:
            notes.append(
                f"{wrong} labels have probability 0: that alone contradicts the predictions"
            )
        blind = np.count_nonzero(bound.blind)
        if blind and nearest == measure:
            cannot = "the statistic cannot vary: p = 1, unless a label is impossible"
            notes.append(f"in {blind:,} groups {cannot}")
        elif blind:
            few = nearest.bind_groups(many.some(bound.blind))
            values, pvalues = values.copy(), pvalues.copy()
            pvalues[bound.blind], values[bound.blind] = few.pvalues(**draws), few.values()
            few_rows = f"{blind:,} groups have too few rows"
            notes.append(f"{few_rows}: tested by the {nearest.description}")
        low, high = limits_of_groups(many)
        adjusted, name = adjusted_pvalues(pvalues, asked.correction)  # type: ignore[arg-type]
        counted = {"cells": len(cells), "error by cells": in_words(bound.error, bound.caution)}
        n, kind = many.n, "confidence" if lens.is_confidence else "event"
        row = HTest(
            test=key,
            method=f"Exact test of calibration: {measure.title}",
            statistic_name=measure.symbol,
            statistic=float(values[0]),
            pvalue=float(pvalues[0]),
            estimate_name=measure.symbol,
            estimate=float(values[0]),
            null="exact",
            alternative="greater",
            null_text=bound.null_text,
            n=int(n[0]),
            m=self.m,
            lens=str(lens),
            claim=lens.claim,
            data_name=self.data_name,
            parameters={**bound.parameters, **(counted if many.rows is None else {})},
            seed=asked.seed,
            level=asked.level,
            size=gap_of_cells(cells.between(*many.start[:2].tolist()), kind, cells.event),
        )
        found = GroupsTest(
            correction=None if name == "none" else name,
            adjusted=adjusted,
            level=asked.level,
            notes=(*self.notes, *notes),
            by=many.columns,
            values=many.values,
            sizes=n,
            events=many.events,
            predicted=many.expected / n,
            low=low,
            high=high,
            deviation=np.sqrt(many.variance) / n,
            statistics=values,
            pvalues=pvalues,
            library=asked.given.library,
            row=row,
            together=1.0,
        )
        return found, bound


def in_one_pass(groups: int, asked: Asked, *, events: int, weighted: bool) -> bool:
    """Tell whether groups are tested in one pass, not one after the other: very many of them.

    Others go on one after the other: those of weighted rows, of an adaptive number of resamples, of
    several tests or lenses, of one that leaves several events, and of tests that are not exact.

    Parameters
    ----------
    groups : int
        How many.
    asked : Asked
        What was asked for.
    events : int
        How many events the lenses leave.
    weighted : bool
        Whether rows have weights.
    """
    if groups < FROM or events > 1 or weighted or len(asked.measures) > 1:
        return False
    measure = asked.measures[0][1]
    is_exact = (asked.null or measure.nulls[0]) == "exact" and asked.tolerance is None
    return is_exact and asked.n_resamples is not None and measure.offers("bind_groups")
