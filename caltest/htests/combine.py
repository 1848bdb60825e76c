"""Several rows: adjusted p-values, and the test of all groups together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest.nulls.base import Replicates
from caltest.numerics.joint import TIES, step_down
from caltest.results import HTest
from caltest.types import Floats

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
        "joint", or a method of `adjusted_pvalues`. Where a row has another null than the exact one,
        Holm's method takes the place of "joint".
    """
    pvalues = [row.pvalue for row in rows]
    replicates = [row.replicates for row in rows if row.null in JOINT and row.replicates]
    sizes = {(row.null, one.values.size) for row, one in zip(rows, replicates, strict=False)}
    if correction != "joint" or len(replicates) < len(rows) or len(sizes) > 1:
        return adjusted_pvalues(pvalues, correction)
    adjusted = step_down(np.stack([one.scores() for one in replicates]))
    return np.maximum(pvalues, adjusted), "joint"


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
        scaled = p[order] * np.arange(p.size, 0, -1)
        out[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
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
    - elsewhere, and where p-values of clusters are those of independent rows, with the chi^2
      distribution with two degrees of freedom a group, which is conservative where the p-values
      are.

    References
    ----------
    Fisher (1932), Statistical methods for research workers, section 21.1; Pesarin, Salmaso (2010),
    Permutation tests for complex data, section 4.2 (combination of dependent tests).
    """
    first, drawn = rows[0], dict[str, Any]()
    pvalues = np.array([row.pvalue for row in rows])
    replicates = [row.replicates for row in rows if row.replicates is not None]
    if len(replicates) == len(rows) and not _are_raised(rows):
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
    return test_of_all(first, "Fisher's X^2", statistic, pvalue, text, **about)


def fisher(pvalues: Floats) -> tuple[float, float, str]:
    """Return Fisher's combination of independent p-values, its p-value, and its distribution."""
    from scipy.special import chdtrc

    statistic = -2.0 * float(np.log(np.maximum(pvalues, LEAST)).sum())
    df = 2 * pvalues.size
    law = f"chi^2 distribution with {df} degrees of freedom"
    return statistic, float(chdtrc(df, statistic)), law


def test_of_all(
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


test_of_all.__test__ = False  # type: ignore[attr-defined]  # no test of pytest


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
