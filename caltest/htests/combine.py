"""Several rows: adjusted p-values, and the test of all groups together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from caltest.errors import NotApplicable
from caltest.htests.asked import Asked, Plan
from caltest.lenses import Lens
from caltest.measures.bound import in_words
from caltest.measures.gap import gap_of_cells, limits_of_groups
from caltest.nulls.base import Draws, Replicates
from caltest.nulls.cluster import shared_signs
from caltest.numerics.crossings import GroupTotals, dispersions
from caltest.numerics.joint import TIES, step_down
from caltest.numerics.labels import resample_keys, row_hashes
from caltest.results import GroupsTest, HTest
from caltest.sources import ManyCells
from caltest.types import AnyArray, Floats, Hashes

LEAST = 1e-300  # a p-value that is 0, of labels that are impossible
JOINT = ("exact", "cluster")  # nulls that give all rows of a table the same resamples


def adjusted_rows(rows: Sequence[HTest], correction: str | None) -> tuple[Floats, str]:
    """Return the adjusted p-values of tests of the same predictions, and the name of the method.

    Parameters
    ----------
    rows : sequence of HTest
        The tests; those of the exact null have the same redrawn labels, those of clusters the same
        signs.
    correction : str or None
        "joint", or a method of `adjusted_pvalues`. Where a row has another null than these, Holm's
        method takes the place of "joint". Where a p-value of clusters is larger than that of signs,
        as of skewed sums, what is adjusted by these grows as much.
    """
    pvalues = np.array([row.pvalue for row in rows])
    replicates = [row.replicates for row in rows if row.null in JOINT and row.replicates]
    sizes = {(row.null, one.values.size) for row, one in zip(rows, replicates, strict=False)}
    if correction != "joint" or len(replicates) < len(rows) or len(sizes) > 1:
        return adjusted_pvalues(pvalues.tolist(), correction)
    adjusted = step_down(np.stack([one.scores() for one in replicates]))
    if rows[0].null == "exact":
        return np.maximum(pvalues, adjusted), "joint"
    raised, order = pvalues / [one.pvalue for one in replicates], np.argsort(pvalues, kind="stable")
    adjusted = np.maximum(pvalues, np.minimum(adjusted * np.maximum(raised, 1.0), 1.0))
    adjusted[order] = np.maximum.accumulate(adjusted[order])
    return adjusted, "joint"


def with_shared_signs(
    found: Sequence[tuple[Plan, HTest]], *, n_resamples: int, seed: int
) -> list[HTest]:
    r"""Return exact tests of groups that share clusters as if they had been resampled together.

    The p-value of each test stays what it is. Their joint distribution is that of signs of
    residuals, flipped by cluster for all groups together, which keep the covariance of the sums of
    residuals of a cluster over all groups, whatever its dependence: the resamples of a test become
    -log p among its values with flipped signs, and what was observed the smaller of -log p among
    these and by its own null, since signs of few events are far from symmetric. Empty where there
    are few clusters, or a test has another null or no version for signs.
    """
    rows = []
    for plan, row in found:
        if row.null != "exact" or row.replicates is None or row.replicates.weights is not None:
            return []
        try:
            seen = plan.lens(plan.predictions)
            flipped = shared_signs(plan.measure, seen, Draws(n_resamples, seed))
        except NotApplicable:
            return []
        values = flipped.scores()
        values[0] = min(values[0], row.replicates.scores()[0])
        scores = Replicates(values, 1.0, "greater")
        rows.append(replace(row, null="cluster", pvalue=scores.pvalue, replicates=scores))
    return rows


def adjusted_pvalues(pvalues: Sequence[float], correction: str | None) -> tuple[Floats, str]:
    """Return the adjusted p-values and the name of the method.

    Parameters
    ----------
    pvalues : sequence of float
        One of each row.
    correction : str or None
        A method of `statsmodels.stats.multitest.multipletests`; None or "none" leaves them, and
        "joint", which needs more than p-values, is Holm's.
    """
    method = {None: "none", "joint": "holm"}.get(correction, correction or "none")
    if method == "none":
        return np.array(pvalues), method
    if method == "holm":
        p = np.array(pvalues, dtype=float)
        order, out = np.argsort(p), np.empty_like(p)
        out[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
        return out, method
    from statsmodels.stats.multitest import multipletests

    with np.errstate(divide="ignore"):  # Sidak's methods take log(1 - p) of p = 1
        return np.asarray(multipletests(pvalues, method=method)[1]), method


def omnibus(rows: Sequence[HTest], *, n_resamples: int, seed: int) -> HTest:
    r"""Test that the predictions are calibrated in every one of several independent groups.

    With the p-values :math:`p_g` of the groups, Fisher's :math:`X^2 = -2 \sum_g \log p_g` is
    compared

    - where every group has resampled statistics, with the same combination of their p-values: the
      p-value :math:`p_{gb}` of the b-th of the statistics of group g is its rank among the observed
      and all B resampled ones, and :math:`p = (1 + \#\{X^2_b \ge X^2\}) / (1 + B)`. Groups are
      resampled independently of each other, so under the null hypothesis the vectors
      :math:`(p_{1b}, p_{2b}, \ldots)`, the observed one among them, are exchangeable, and p is
      valid at every n as that of each group is;
    - elsewhere, where a group has so few clusters that all their signs are listed, and where
      p-values of clusters are those of independent rows, with the chi^2 distribution with two
      degrees of freedom a group, which is conservative where the p-values are.

    References
    ----------
    Fisher (1932), Statistical methods for research workers, section 21.1; Pesarin, Salmaso (2010),
    Permutation tests for complex data, section 4.2 (combination of dependent tests).
    """
    first, drawn = rows[0], dict[str, Any]()
    pvalues = np.array([row.pvalue for row in rows])
    replicates = [row.replicates for row in rows if row.replicates is not None]
    alike = len({one.values.size for one in replicates}) == 1  # unless all signs of one are listed
    if len(replicates) == len(rows) and alike and not _are_raised(rows):
        # The observed p-values are the first.
        combined = np.sum([-2.0 * np.log(one.pvalues()) for one in replicates], axis=0)
        statistic, resampled = float(combined[0]), combined[1:]
        extreme = np.count_nonzero(resampled >= statistic * (1.0 - TIES))
        pvalue = (1 + extreme) / (1 + resampled.size)
        distribution = "with null distribution from the resamples"
        drawn = {"null_distribution": resampled, "n_resamples": n_resamples, "seed": seed}
    else:
        statistic, pvalue, distribution = fisher(pvalues)
    text = f"Fisher's combination of the p-values of the groups, {distribution}"
    about: dict[str, Any] = {"groups": len(rows), "n": sum(row.n for row in rows), **drawn}
    return result_of_all(first, "Fisher's X^2", statistic, pvalue, text, **about)


def fisher(pvalues: Floats) -> tuple[float, float, str]:
    """Return Fisher's combination of independent p-values, its p-value, and its distribution."""
    from scipy.special import chdtrc

    statistic = -2.0 * float(np.log(np.maximum(pvalues, LEAST)).sum())
    df = 2 * pvalues.size
    law = f"chi^2 distribution with {df} degrees of freedom"
    return statistic, float(chdtrc(df, statistic)), law


def result_of_all(
    first: HTest, name: str, statistic: float, pvalue: float, text: str, *, groups: int, **more: Any
) -> HTest:
    """Return the test that the predictions are calibrated in all groups, of which one is given.

    Parameters
    ----------
    first : HTest
        The test of one.
    name, statistic, pvalue : str, float, and float
        The statistic of all of them.
    text : str
        What its null distribution is.
    groups : int
        How many there are.
    **more
        Fields of the result that are not those of the one group.
    """
    return HTest(
        test=first.test,
        method=f"Test of calibration in all groups: {first.method.partition(': ')[2]}",
        statistic_name=name,
        statistic=statistic,
        pvalue=pvalue,
        estimate_name=name,
        estimate=statistic,
        null=first.null,
        alternative="greater",
        null_text=text,
        m=first.m,
        lens=first.lens,
        claim=f"in every group: {first.claim}",
        data_name=first.data_name,
        parameters={"groups": groups},
        level=first.level,
        **more,
    )


def pvalue_of_groups(rows: Sequence[HTest], together: Sequence[HTest]) -> float | None:
    r"""Return the p-value of all groups: of Fisher's tests and the smallest p-value, the rarer.

    With the ranks :math:`p_{kb}` of Fisher's statistics and that of the largest tail score of a
    group among the observed and all B resampled ones, :math:`t_b` is the smallest of them, and
    :math:`p = \#\{t_b \le t_0\} / (1 + B)`: many groups that are a little off are seen by the one,
    a single group by the other. The vectors are exchangeable as those of `omnibus` are. None where
    groups have p-values that are not ranks.
    """
    replicates = [row.replicates for row in rows if row.replicates is not None]
    resampled = [test.null_distribution for test in together if test.null_distribution is not None]
    sizes = {one.values.size for one in replicates}
    whole = len(replicates) == len(rows) and len(resampled) == len(together) > 0
    if not whole or len(sizes) > 1 or _are_raised(rows):
        return None
    farthest = np.max([one.scores() for one in replicates], axis=0)
    pairs = zip(together, resampled, strict=True)
    sums = [np.append(test.statistic, values) for test, values in pairs]
    ranks = [Replicates(values, 1.0, "greater").pvalues() for values in (farthest, *sums)]
    return Replicates(-np.min(ranks, axis=0), 1.0, "greater").pvalue


def _are_raised(rows: Sequence[HTest]) -> bool:
    """Tell whether a p-value is not the rank of its statistic, but that of independent rows."""
    return any(
        row.null == "cluster"
        and row.replicates is not None
        and row.pvalue > row.replicates.pvalues()[0] * (1.0 + TIES)
        for row in rows
    )


# ---- very many groups, of rows or of cells: tested in one pass, not one by one -------------------

FROM = 501  # groups that are tested in one pass
AT_LEAST = 100  # resamples for each group, so that adjusted p-values can be small
AT_MOST = 2_000_000  # resamples, where p-values are by redrawn labels
SHARES = (0.1, 0.7, 0.2)  # of the level: Fisher's test, Simes', and that of the dispersion
ROUNDING = 1e-12  # of a sum, relative to its size


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

    def disjoint(self, parts: Iterable[ManyCells], groups: int) -> GroupsTest:
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

        Parameters
        ----------
        parts : iterable of ManyCells
            Some of the groups at a time, in their order.
        groups : int
            How many there are.

        References
        ----------
        Simes (1986), An improved Bonferroni procedure for multiple tests of significance,
        Biometrika 73; Holm (1979), A simple sequentially rejective multiple test procedure, Scand.
        J. Statist. 6.
        """
        drawn = {"n_resamples": self.asked.n_resamples, "seed": self.asked.seed}
        spread = Dispersion(resample_keys(self.asked.seed, self.asked.n_resamples or 0))
        found = self._result(map(spread.seen, parts), groups)
        p = found.pvalues
        fisher_statistic, fisher_p, law = fisher(p)
        simes = min(1.0, float((np.sort(p) * (p.size / np.arange(1, p.size + 1))).min()))
        tests: tuple[tuple[str, float, float, str, dict[str, Any]], ...] = (
            ("Fisher's X^2", fisher_statistic, fisher_p, f"Fisher's of the p-values, {law}", {}),
            ("Simes' p", simes, simes, "Simes' of the p-values", {}),
            ("(O - E)^2 / V", spread.observed, spread.pvalue, "numbers of events redrawn", drawn),
        )
        about: dict[str, Any] = {"groups": p.size, "n": found.n}
        every, whole = [], 1.0
        for (name, value, pvalue, text, more), share in zip(tests, SHARES, strict=True):
            described = f"{text}; it has {share:g} of the level"
            every.append(result_of_all(found.row, name, value, pvalue, described, **about, **more))
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
        found = self._result(margins, overlap=True)
        least = float(found.adjusted.min())
        text = "the least p-value of a segment, times their number"
        about: dict[str, Any] = {"groups": len(found), "n": found.row.n}
        every = result_of_all(found.row, "adjusted p", least, least, text, **about)
        return replace(found, together=least, omnibus=(every,))

    def _result(
        self, parts: Iterable[ManyCells], groups: int = 1, *, overlap: bool = False
    ) -> GroupsTest:
        asked, measure = self.asked, self.asked.measures[0][1]
        most = max(asked.n_resamples or 0, min(AT_LEAST * groups, AT_MOST))
        draws = {**asked.draws(asked.seed), "n_resamples": most}
        tested = [self._tested(many, draws) for many in parts]
        first, notes, nearest = tested[0], list(self.notes), measure.few_rows()
        arrays = {key: np.concatenate([one.arrays[key] for one in tested]) for key in first.arrays}
        if wrong := sum(one.impossible for one in tested[: 1 if overlap else None]):
            labels = "1 label has" if wrong == 1 else f"{wrong} labels have"
            notes.append(f"{labels} probability 0: that alone contradicts the predictions")
        blind = sum(one.blind for one in tested)
        if blind and nearest == measure:
            cannot = "the statistic cannot vary: p = 1, unless a label is impossible"
            notes.append(f"in {blind:,} group{'s' * (blind > 1)} {cannot}")
        elif blind:
            few_rows = f"{blind:,} group{' has' if blind == 1 else 's have'} too few rows"
            notes.append(f"{few_rows}: tested by the {nearest.description}")
        row = first.row
        if first.cells:
            errors = [one.error for one in tested if one.error is not None]
            worst = max(errors) if len(errors) == len(tested) else None
            cells = sum(one.cells for one in tested)
            counted = {"cells": cells, "error by cells": in_words(worst, first.caution)}
            row = replace(row, parameters={**row.parameters, **counted})
        adjusted, name = adjusted_pvalues(arrays["pvalues"], asked.correction)  # type: ignore[arg-type]
        return GroupsTest(
            **arrays,  # type: ignore[arg-type]
            correction=None if name == "none" else name,
            adjusted=adjusted,
            level=asked.level,
            notes=tuple(notes),
            by=first.columns,
            values=tuple(key for one in tested for key in one.values),
            library=asked.given.library,
            row=row,
            together=1.0,
            overlap=overlap,
        )

    def _tested(self, many: ManyCells, draws: Mapping[str, Any]) -> TestedGroups:
        asked, lens, cells = self.asked, self.lens, many.cells
        key, measure = asked.measures[0]
        bound = measure.bind_groups(many)
        pvalues, values = bound.pvalues(**draws), bound.values()
        blind, nearest = bound.blind, measure.few_rows()
        if blind.any() and nearest != measure:
            few = nearest.bind_groups(many.some(blind))
            values, pvalues = values.copy(), pvalues.copy()
            pvalues[blind], values[blind] = few.pvalues(**draws), few.values()
        never, surely = cells.most == 0.0, cells.least == 1.0
        low, high = limits_of_groups(many)
        kind = "confidence" if lens.is_confidence else "event"
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
            n=int(many.n[0]),
            m=self.m,
            lens=str(lens),
            claim=lens.claim,
            data_name=self.data_name,
            parameters=bound.parameters,
            seed=asked.seed,
            level=asked.level,
            size=gap_of_cells(cells.between(*many.start[:2].tolist()), kind, cells.event),
        )
        arrays = {
            "sizes": many.n,
            "events": many.events,
            "predicted": many.expected / many.n,
            "low": low,
            "high": high,
            "deviation": np.sqrt(many.variance) / many.n,
            "statistics": values,
            "pvalues": pvalues,
        }
        return TestedGroups(
            row=row,
            arrays=arrays,
            columns=many.columns,
            values=many.values,
            cells=len(cells) if many.rows is None else 0,
            error=bound.error,
            caution=bound.caution,
            impossible=int(cells.events[never].sum() + (cells.n - cells.events)[surely].sum()),
            blind=int(np.count_nonzero(blind)),
        )


class TestedGroups(NamedTuple):
    """Some of very many groups, tested.

    Attributes
    ----------
    row : HTest
        The test of the first.
    arrays : Mapping
        A number a group, by its name in a `GroupsTest`.
    columns, values : tuple
        The columns that groups are made of, and what they hold in each.
    cells : int
        In how many cells they are counted; 0 where rows are in memory.
    error, caution : float or None, and str
        How far statistics may be from those of the rows, or why that is not known.
    impossible, blind : int
        Labels of probability 0, and groups in which the statistic cannot vary.
    """

    row: HTest
    arrays: Mapping[str, AnyArray]
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    cells: int
    error: float | None
    caution: str
    impossible: int
    blind: int


class Dispersion:
    """The dispersion of the numbers of events of groups, some of which are added at a time.

    Parameters
    ----------
    keys : (B,) array
        Of the resamples.
    """

    def __init__(self, keys: Hashes) -> None:
        self.keys, self.groups, self.observed, self.redrawn = keys, 0, 0.0, np.zeros(keys.size)

    def seen(self, many: ManyCells) -> ManyCells:
        """Add some groups, and return them."""
        varied = many.variance > 0
        excess = np.square(many.events - many.expected)[varied] / many.variance[varied]
        cells, mean = many.cells, many.cells.mean
        totals = GroupTotals(
            start=many.start,
            n=cells.n,
            expected=cells.expected,
            mean=many.expected,
            variance=many.variance,
            third=many.sums(cells.variance * (1.0 - 2.0 * mean)),
            fourth=many.sums(cells.variance * (1.0 - 6.0 * mean * (1.0 - mean))),
        )
        groups = row_hashes(np.arange(self.groups, self.groups + len(many)))
        self.redrawn += dispersions(totals, self.keys, groups)
        self.observed, self.groups = self.observed + float(excess.sum()), self.groups + len(many)
        return many

    @property
    def pvalue(self) -> float:
        """That of the groups that were added."""
        extreme = np.count_nonzero(self.redrawn >= self.observed * (1.0 - ROUNDING))
        return (1 + extreme) / (1 + self.keys.size)


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
