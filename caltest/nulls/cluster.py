"""The null for rows that depend on each other: residuals whose signs are flipped by cluster."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome, Part
from caltest.measures.residual_sums import ResidualStatistic, residuals
from caltest.nulls.base import Draws, Null, Replicates, resampling_pvalue
from caltest.nulls.exact import exact_test
from caltest.nulls.skewed import SkewedSum, sum_table
from caltest.numerics.joint import log_mean_exp, most_extreme_first, tail_scores
from caltest.numerics.labels import flipped_signs, resample_keys
from caltest.predictions import Predictions
from caltest.types import Floats, Ints
from caltest.units.sums import AT_A_TIME
from caltest.units.units import row_weights

FEW_CLUSTERS = 20
FEW_EVENTS = 50  # of the rarer kind of label; with fewer, sums of clusters are far from symmetric
UNKNOWN = "pass cluster=, or time= and lag="
LEVEL = 0.05
MATTERS = 1.25  # times the p-value: what is raised by more gets a note
INDEPENDENT = (
    "rows of the same {unit} are treated as independent: where they are alike, p is too small; "
    "null='cluster' is for them"
)


@dataclass(frozen=True)
class Clusters:
    """The clusters of the rows that a lens leaves.

    Attributes
    ----------
    codes : (n,) array
        The cluster of each row, from 0 without gaps.
    numbers : (C,) array
        Their numbers among all clusters: a cluster has the same sign under every lens.
    unit : str
        What one of them is.
    """

    codes: Ints
    numbers: Ints
    unit: str

    @classmethod
    def of(cls, predictions: Predictions, remedy: str = UNKNOWN) -> Clusters:
        """Return those of some predictions; there must be two."""
        if predictions.clusters is None:
            raise NotApplicable("it is not known which rows depend on each other", remedy)
        numbers, codes = np.unique(predictions.clusters, return_inverse=True)
        found = cls(codes.astype(np.int64), numbers, predictions.unit)
        if found.count < 2:
            raise NotApplicable(
                f"all rows are of one {found.unit}, and a test needs two that are independent",
                "collect others, or find out which rows are independent",
            )
        return found

    @property
    def count(self) -> int:
        """How many there are."""
        return self.numbers.size

    @cached_property
    def sizes(self) -> Ints:
        """The number of rows of each."""
        return np.bincount(self.codes)

    def signs(self, n_resamples: int, seed: int) -> Iterator[Floats]:
        """Yield signs (b, C), some at a time: all but those that change nothing where few."""
        if self.is_listed(n_resamples):
            every = np.arange(1, 2**self.count)
            yield np.where(every[:, None] >> np.arange(self.count) & 1, -1.0, 1.0)
            return
        keys, step = resample_keys(seed, n_resamples), max(8, AT_A_TIME // self.count)
        for b in range(0, n_resamples, step):
            yield flipped_signs(self.numbers, keys[b : b + step])

    def is_listed(self, n_resamples: int) -> bool:
        """Whether all vectors of signs take the place of random ones."""
        return self.count <= math.log2(n_resamples + 1)

    def words(self) -> str:
        """Return how many there are of what."""
        return f"{self.count} {plural(self.unit)}"

    def notes(self) -> tuple[str, ...]:
        """Return what a reader should know where there are few."""
        if self.count >= FEW_CLUSTERS:
            return ()
        least = 2.0 ** (1 - self.count)
        floor = f"; p cannot be below {least:.2g}" if least > LEVEL / 10 else ""
        text = "are few: flipped signs are exact where sums of clusters are symmetric about 0"
        return (f"{self.words()} {text}{floor}",)


def plural(unit: str) -> str:
    """Return the plural of a cluster or block."""
    first, _, rest = unit.partition(" of ")
    return f"{first}s of {rest}" if rest else f"{first}s"


def dependence_parameters(predictions: Predictions) -> dict[str, object]:
    r"""Return the number of clusters, their sizes, and what dependence does to variances.

    The design effect is :math:`\sum_c |\sum_{i \in c} r_i|^2 / \sum_i |r_i|^2` of the residuals
    r = e_y - p, the factor by which clusters change the variance of their sum; with the number
    of pairs of rows of a cluster it gives the correlation within clusters (Kish 1965, Survey
    sampling, section 5.4).
    """
    clusters, r = Clusters.of(predictions), residuals(predictions)
    sums = np.column_stack([np.bincount(clusters.codes, c, clusters.count) for c in r.T])
    total, squares = float(np.square(sums).sum()), float(np.square(r).sum())
    sizes = clusters.sizes
    kind, _, rest = clusters.unit.partition(" of ")
    least, most = int(sizes.min()), int(sizes.max())
    rows = f"{least} to {most}" if least < most else f"{most}"
    of = rest or f"{rows} row{'' if most == 1 else 's'}"
    found: dict[str, object] = {f"{kind}s": f"{clusters.count} of {of}"}
    if squares > 0 and sizes.max() > 1:
        pairs = float(np.sum(sizes * (sizes - 1.0))) / clusters.codes.size
        found["correlation within"] = float((total / squares - 1.0) / pairs)
        found["design effect"] = total / squares
    return found


def cluster_test(measure: Measure, predictions: Predictions, draws: Draws) -> Outcome:
    r"""Test a measure of rows that may depend on each other within clusters.

    Under the null hypothesis every residual :math:`e_{y_i} - p_i` has mean 0 given its prediction,
    whatever the other rows of its cluster do. So the sums of a cluster, of which the statistic is a
    function, are compared with those with random signs, one for each cluster,

    .. math:: T^* = T(s_1 U_1, \ldots, s_C U_C), \quad p = (1 + \#\{T^* \ge T\}) / (1 + B).

    This is exact where the :math:`U_c` are symmetric about 0, at every number of clusters and for
    any sizes, and for others valid as the number of clusters grows. Where there are no more than B
    + 1 vectors of signs, all of them take the place of random ones. Where few clusters or few
    events are expected, the p-value is no less than that of the exact null, which takes the rows as
    independent: signs know nothing of the events that did not happen. Where the predictions imply
    sums that are skewed, it is compared with those of simulated ones, see `allowing_for_skewness`.

    References
    ----------
    Canay, Romano, Shaikh (2017), Randomization tests under an approximate symmetry assumption,
    Econometrica 85; Cameron, Gelbach, Miller (2008), Bootstrap-based improvements for inference
    with clustered errors, Rev. Econ. Stat. 90; Leucht, Neumann (2013), Dependent wild bootstrap
    for degenerate U- and V-statistics, J. Multivariate Analysis 117.
    """
    others = ", ".join(map(repr, measure.nulls))
    clusters = Clusters.of(predictions, f"{UNKNOWN}; for rows that do not, use {others}")
    statistics = measure.residual_statistics(predictions)
    combined, first = len(statistics) > 1, statistics[0]
    used = [first, first.quadratic] if not combined and first.quadratic else statistics
    values = flipped_values(used, clusters, draws)
    if not np.isfinite(values).all():
        raise NotApplicable(
            "the statistic is not a number for these residuals", "check extreme options"
        )
    scores = values
    if combined:  # how far out each value of each statistic is, -log p
        every = zip(statistics, values, strict=True)
        sides = [tail_scores(v, one.scale, two_sided=one.two_sided) for one, v in every]
        scores = np.stack(sides)
    weight = [one.weight for one in statistics]
    distribution = log_mean_exp(scores, weight) if combined else values[0]
    alternative = "two-sided" if first.two_sided and not combined else "greater"
    bound = measure.bind(predictions)
    replicates = Replicates(distribution, 1.0 if combined else first.scale, alternative)
    way = "all" if clusters.is_listed(draws.n_resamples) else "random"
    pvalue = replicates.pvalue
    if not combined and first.quadratic:
        pvalue = max(pvalue, resampling_pvalue(float(values[1, 0]), values[1, 1:]))
    observed = float(distribution[0])
    outcome = Outcome(
        statistic_name=measure.symbol if combined else first.symbol or measure.symbol,
        statistic=observed,
        pvalue=pvalue,
        estimate=observed if combined else bound.estimate(bound.value()),
        alternative=alternative,
        null_text=f"{way} signs of the residuals of {clusters.words()}",
        parameters={**bound.parameters, **dependence_parameters(predictions)},
        notes=(*bound.notes, *clusters.notes()),
        degenerate=bound.degenerate,
        distribution=distribution[1:],
        n_resamples=distribution.size - 1,
        replicates=replicates,
        parts=_parts(measure.findings(predictions), statistics, values, scores) if combined else (),
    )
    outcome = allowing_for_skewness(outcome, statistics, predictions, clusters, draws)
    if "exact" not in measure.nulls or are_many(predictions, clusters):
        return outcome
    exact = exact_test(measure, predictions, draws)
    floors = {part.key: (part.pvalue, part.adjusted) for part in exact.parts}
    return _raised(outcome, exact.pvalue, floors, "that of independent rows")


def flipped_values(
    statistics: Sequence[ResidualStatistic], clusters: Clusters, draws: Draws
) -> Floats:
    """Return the statistics for the residuals as they are and with flipped signs, (K, B + 1)."""
    flipped = [one.flipped(clusters.codes, clusters.count) for one in statistics]
    blocks = clusters.signs(draws.n_resamples, draws.seed)
    first = np.vstack([np.ones((1, clusters.count)), next(blocks)])
    every = itertools.chain([first], blocks)
    return np.hstack([np.stack([np.asarray(f(signs)) for f in flipped]) for signs in every])


def _parts(
    found: Sequence[Part], statistics: Sequence[ResidualStatistic], values: Floats, scores: Floats
) -> tuple[Part, ...]:
    """Return the statistics that are combined with what the labels show, the most extreme first."""
    order, pvalues, adjusted = most_extreme_first(scores)
    return tuple(
        replace(
            found[k],
            values=values[k],
            two_sided=statistics[k].two_sided,
            pvalue=float(pvalues[k]),
            adjusted=float(adjusted[k]),
        )
        for k in order
    )


def are_many(predictions: Predictions, clusters: Clusters) -> bool:
    r"""Tell whether sums of clusters are many, and of enough events, for signs alone.

    With :math:`v_i = (1 - \sum_k p_{ik}^2) / 2`, which is p (1 - p) of two classes, and their sums
    :math:`v_c` of clusters, 50 events of the rarer kind are :math:`\sum_c v_c \ge 50`, and
    :math:`\sum_c (1 - e^{-v_c})` is about the number of clusters that have one. The rule looks at
    predictions alone, so that it does not depend on the labels.
    """
    spread = 0.5 * (1.0 - np.einsum("ik,ik->i", predictions.probs, predictions.probs))
    sums = np.bincount(clusters.codes, spread, clusters.count)
    return float(sums.sum()) >= FEW_EVENTS and float(-np.expm1(-sums).sum()) >= FEW_CLUSTERS


def allowing_for_skewness(
    outcome: Outcome,
    statistics: Sequence[ResidualStatistic],
    predictions: Predictions,
    clusters: Clusters,
    draws: Draws,
) -> Outcome:
    r"""Return the outcome with p-values that allow for sums of clusters that are skewed.

    A p-value of flipped signs is compared with those of simulated sums, whose moments are those
    that the predictions imply, see `SkewedSum`: of the terms of the statistic where it is one sum,
    else of the residuals in the direction of their sum, or for several statistics of the squared
    error where that is farther out. It is the prepivoting of Beran (1988, J. Am. Stat. Assoc. 83)
    by a model of the sums.
    """
    own = statistics[0].table if len(statistics) == 1 else None
    tables = [sum_table(predictions) if own is None else own]
    if len(statistics) > 1:  # the terms of the squared error, up to a constant of the row
        tables.append(row_weights(predictions)[:, None] * predictions.probs)
    of = partial(SkewedSum.of, clusters=clusters.codes, count=clusters.count)
    B, seed = draws.n_resamples, draws.seed
    found = (of(table, predictions, n_resamples=B, seed=seed) for table in tables)
    farthest = max(found, key=lambda one: abs(one.z))
    raised = partial(farthest.raised, is_own=own is not None)
    floors = {part.key: (raised(part.pvalue), raised(part.adjusted)) for part in outcome.parts}
    pvalue, number = raised(outcome.pvalue), farthest.effective_count
    why = f"{pvalue:.2g}, as their sums are skewed and vary as those of {number:.2g} equal ones"
    return _raised(outcome, pvalue, floors, why)


def _raised(
    outcome: Outcome, pvalue: float, floors: dict[str, tuple[float, float]], why: str
) -> Outcome:
    """Return the outcome with p-values that are no less than others, with a note where they are."""
    changed = [
        replace(
            p, pvalue=max(p.pvalue, floors[p.key][0]), adjusted=max(p.adjusted, floors[p.key][1])
        )
        for p in outcome.parts
    ]
    outcome = replace(outcome, parts=tuple(sorted(changed, key=lambda part: part.adjusted)))
    if pvalue <= outcome.pvalue:
        return outcome
    text = f"p = {outcome.pvalue:.2g} of flipped signs is raised to {why}"
    note = (text,) if pvalue > MATTERS * outcome.pvalue else ()
    return replace(outcome, pvalue=pvalue, notes=(*outcome.notes, *note))


def treated_as_independent(outcome: Outcome, predictions: Predictions) -> Outcome:
    """Return the outcome of another null with a warning, and the design effect."""
    found = dependence_parameters(predictions)
    note = INDEPENDENT.format(unit=predictions.unit)
    return replace(
        outcome, parameters={**outcome.parameters, **found}, notes=(note, *outcome.notes)
    )


NULL = Null(
    "cluster",
    "signs of the residuals flipped by cluster, for rows that depend on each other",
    cluster_test,
    resamples=True,
)
