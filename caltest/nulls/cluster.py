"""The null for rows that depend on each other: residuals whose signs are flipped by cluster."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome, Part
from caltest.measures.residual_sums import AT_A_TIME, ResidualStatistic
from caltest.nulls.base import Draws, Null, Replicates, resampling_pvalue
from caltest.nulls.exact import exact_test
from caltest.numerics.joint import log_mean_exp, most_extreme_first, tail_scores
from caltest.numerics.labels import flipped_signs, resample_keys
from caltest.predictions import Predictions
from caltest.predictions.rows import Deviations, Rows
from caltest.types import Floats, Ints
from caltest.units import row_weights

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
    censoring : Censoring, optional
        Where the weights of rows were estimated of all of them: rows have multipliers, not signs.
    """

    codes: Ints
    numbers: Ints
    unit: str
    censoring: Any = None

    @classmethod
    def of(cls, predictions: Predictions, remedy: str = UNKNOWN) -> Clusters:
        """Return those of some predictions; there must be two."""
        if predictions.clusters is None:
            raise NotApplicable("it is not known which rows depend on each other", remedy)
        numbers, codes = np.unique(predictions.clusters, return_inverse=True)
        found = cls(codes.astype(np.int64), numbers, predictions.unit, predictions.censoring)
        if found.count < 2:
            one = "there is one row" if predictions.n == 1 else f"all rows are of one {found.unit}"
            raise NotApplicable(
                f"{one}, and a test needs two that are independent",
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
        else:
            yield from self.random_signs(n_resamples, seed)

    def random_signs(self, n_resamples: int, seed: int) -> Iterator[Floats]:
        """Yield random signs (b, C), some at a time; a cluster has the same ones in all rows."""
        keys, step = resample_keys(seed, n_resamples), max(8, AT_A_TIME // self.count)
        for b in range(0, n_resamples, step):
            yield flipped_signs(self.numbers, keys[b : b + step])

    def is_listed(self, n_resamples: int) -> bool:
        """Whether all vectors of signs take the place of random ones."""
        return self.count <= math.log2(n_resamples + 1)

    def words(self) -> str:
        """Return how many there are of what."""
        return f"{self.count:,} {plural(self.unit)}"

    def notes(self, rule: str) -> tuple[str, ...]:
        """Return what a reader should know of a rule where there are few."""
        return (f"{self.words()} are few: {rule}",) if self.count < FEW_CLUSTERS else ()

    def notes_of_signs(self, *, two_sided: bool) -> tuple[str, ...]:
        """Return the same of signs; of two sides, a vector and its opposite are as far out."""
        least = 2.0 ** (two_sided - self.count)
        floor = f"; p cannot be below {least:.2g}" if least > LEVEL / 10 else ""
        return self.notes(
            f"flipped signs are exact where sums of clusters are symmetric about 0{floor}"
        )


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
    clusters, r = Clusters.of(predictions), predictions.residuals
    sums = np.column_stack([np.bincount(clusters.codes, c, clusters.count) for c in r.T])
    total, squares = float(np.square(sums).sum()), float(np.square(r).sum())
    sizes = clusters.sizes
    kind, _, rest = clusters.unit.partition(" of ")
    least, most = int(sizes.min()), int(sizes.max())
    rows = f"{least} to {most}" if least < most else f"{most}"
    of = rest or f"{rows} row{'' if most == 1 else 's'}"
    found = dict(predictions.described)
    if most > 1 or not found:
        found[f"{kind}s"] = f"{clusters.count} of {of}"
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
    independent, or of redrawn events where times are censored: signs know nothing of the events
    that did not happen. Where the predictions imply sums that are skewed, it is compared with those
    of simulated ones, see `allowing_for_skewness`.

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
    bound = measure.bind(predictions)
    parts: tuple[Part, ...] = ()
    replicates, scores = replicates_of(statistics, values)
    if combined:
        parts = _parts(measure.findings(predictions), statistics, values, scores)
    way = "all" if clusters.is_listed(draws.n_resamples) else "random"
    pvalue = replicates.pvalue
    if not combined and first.quadratic:
        pvalue = max(pvalue, resampling_pvalue(float(values[1, 0]), values[1, 1:]))
    observed = float(replicates.values[0])
    outcome = Outcome(
        statistic_name=measure.symbol if combined else first.symbol or measure.symbol,
        statistic=observed,
        pvalue=pvalue,
        estimate=observed if combined else bound.estimate(bound.value()),
        scale=replicates.scale,
        alternative=replicates.alternative,
        null_text=f"{way} signs of the residuals of {clusters.words()}",
        parameters={**bound.parameters, **dependence_parameters(predictions)},
        notes=(*bound.notes, *clusters.notes_of_signs(two_sided=not combined)),
        degenerate=bound.degenerate,
        distribution=replicates.values[1:],
        n_resamples=replicates.values.size - 1,
        replicates=replicates,
        parts=parts,
    )
    outcome = allowing_for_skewness(outcome, statistics, predictions, clusters, draws)
    if "exact" not in measure.nulls or are_many(predictions, clusters):
        return outcome
    if predictions.censoring is None:
        exact = exact_test(measure, predictions, draws)
        floors = {part.key: (part.pvalue, part.adjusted) for part in exact.parts}
        return _raised(outcome, exact.pvalue, floors, "that of independent rows")
    p, happened = predictions.probs[:, 1], predictions.labels == 1
    factors = predictions.censoring.redrawn(p, happened, draws.n_resamples, draws.seed)
    redrawn, scores = replicates_of(statistics, _values(statistics, np.arange(p.size), factors))
    order, pvalues, adjusted = most_extreme_first(scores)
    floors = {statistics[k].key: (float(pvalues[k]), float(adjusted[k])) for k in order}
    return _raised(outcome, redrawn.pvalue, floors, "that of redrawn events of independent rows")


def flipped_values(
    statistics: Sequence[ResidualStatistic],
    clusters: Clusters,
    draws: Draws,
    *,
    shared: bool = False,
) -> Floats:
    """Return the statistics for the residuals as they are and with flipped signs, (K, B + 1).

    With `shared` a cluster has the same signs as in any other rows of the call, however few it is.
    """
    codes = clusters.codes
    blocks = (clusters.random_signs if shared else clusters.signs)(draws.n_resamples, draws.seed)
    if (censoring := clusters.censoring) is not None:
        blocks = (censoring.multipliers(signs.take(clusters.codes, axis=1)) for signs in blocks)
        codes = np.arange(codes.size)
    return _values(statistics, codes, blocks)


def _values(
    statistics: Sequence[ResidualStatistic], codes: Ints, blocks: Iterable[Floats]
) -> Floats:
    """Return the statistics of residuals as they are and times factors (b, C) of each cluster."""
    count = int(codes.max()) + 1
    flipped, ones = [one.flipped(codes, count) for one in statistics], [np.ones((1, count))]
    found = [np.stack([np.asarray(f(x)) for f in flipped]) for x in itertools.chain(ones, blocks)]
    if not all(np.isfinite(values).all() for values in found):
        raise NotApplicable(
            "the statistic is not a number for these residuals", "check extreme options"
        )
    return np.hstack(found)


def replicates_of(
    statistics: Sequence[ResidualStatistic], values: Floats
) -> tuple[Replicates, Floats]:
    """Return the statistic, or what combines several, and how far out each is, -log p."""
    first = statistics[0]
    if len(statistics) == 1:
        side = "two-sided" if first.two_sided else "greater"
        return Replicates(values[0], first.scale, side), values[:1]
    every = zip(statistics, values, strict=True)
    scores = np.stack([tail_scores(v, s.scale, two_sided=s.two_sided) for s, v in every])
    combined = log_mean_exp(scores, [one.weight for one in statistics])
    return Replicates(combined, 1.0, "greater"), scores


def shared_signs(measure: Measure, predictions: Predictions, draws: Draws) -> Replicates:
    """Return the measure with signs of clusters that are those of other rows of the clusters."""
    clusters = Clusters.of(predictions)
    if clusters.count < FEW_CLUSTERS:
        raise NotApplicable(f"{clusters.words()} are too few for signs to tell how groups depend")
    statistics = measure.residual_statistics(predictions)
    return replicates_of(statistics, flipped_values(statistics, clusters, draws, shared=True))[0]


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


def are_many(predictions: Rows, clusters: Clusters) -> bool:
    r"""Tell whether sums of clusters are many, and of enough events, for signs alone.

    With :math:`v_i = (1 - \sum_k p_{ik}^2) / 2`, which is p (1 - p) of two classes, and their sums
    :math:`v_c` of clusters, 50 events of the rarer kind are :math:`\sum_c v_c \ge 50`, and
    :math:`\sum_c (1 - e^{-v_c})` is about the number of clusters that have one. The rule looks at
    predictions alone, so that it does not depend on the labels. Of forecasts of numbers the event
    is that the outcome is below the median.
    """
    probs = predictions.label_probs
    probs = np.full((predictions.n, 2), 0.5) if probs is None else probs
    spread = 0.5 * (1.0 - np.einsum("ik,ik->i", probs, probs))
    if predictions.censoring is not None:  # rows of known status, as many as of equal weights
        weight = row_weights(predictions)
        spread *= weight * (weight @ spread) / max(float(np.square(weight) @ spread), 1e-300)
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
    or of several in the direction in which they are farthest out, else of the residuals in the
    direction of their sum, or for several statistics of the squared error where that is farther
    out. It is the prepivoting of Beran (1988, J. Am. Stat. Assoc. 83) by a model of the sums.
    """
    own, along, several = statistics[0].deviations, statistics[0].along, len(statistics) > 1
    some = predictions.deviations[: 1 + several] if several or own is None else [own]
    if along is not None and not several:
        some = [along(clusters.codes, clusters.count)]
    found = (SkewedSum.of(one, clusters, draws) for one in some)
    farthest = max(found, key=lambda one: abs(one.z))
    raised = partial(farthest.raised, is_own=some[0] is own)
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


FEWEST, MOST = 199, 999  # simulated sums: as many as resamples within these limits
APART = 200  # clusters of the largest variance; the others are taken together in as many groups
SYMMETRIC = 0.05  # skewness of a sum that changes a size of 5 % by less than 0.1 %
ROUNDING, LEAST_VARIANCE = 1e-9, 1e-100  # relative; of a row
NORMAL, MOST_SKEWED = 1e-3, 1e6  # skewness: as good as normal, and as a burst


@dataclass(frozen=True)
class SkewedSum:
    """The sums of clusters that the predictions imply, in one direction of the labels.

    Attributes
    ----------
    noise, burst : (2, C) array
        Variance and third central moment of the sum of each cluster: of what its rows have each by
        itself, and of what they share.
    z : float
        The sum that was observed, of all clusters, over its cluster-robust error.
    doubt : float
        From 0 to 1: how far their skewness is that of bursts, which few clusters may not show.
    seed, n_trials : int
        Of the simulated sums.
    """

    noise: Floats
    burst: Floats
    z: float
    doubt: float
    seed: int
    n_trials: int

    @classmethod
    def of(cls, deviations: Deviations, clusters: Clusters, draws: Draws) -> SkewedSum:
        r"""Return those of what each row adds.

        With variances :math:`a_i^2` of the rows by their predictions and a correlation
        :math:`\rho` of the rows of a cluster, a sum has the variance
        :math:`\sum_i a_i^2 + \rho \sum_{i \ne j} a_i a_j`. The third moment is that of a
        beta-binomial number of events, whose triples share :math:`2 \rho^2 / (1 + \rho)`. The
        correlation is that of the terms that were observed, and up to two standard errors more:
        where no burst of events happened, they look independent. With :math:`\gamma` the skewness
        of the sum at one standard error more and :math:`\gamma_0` that of independent rows, there
        are twice the doubt :math:`d = \min(1, 2 (\gamma^2 - \gamma_0^2)^{1/2})`. A share
        :math:`1 - d^2` of the mean of the terms is no sign of correlation: it is what a wrong model
        has.
        """
        seed, n_trials = draws.seed, min(max(draws.n_resamples, FEWEST), MOST)
        variance, third, own = deviations
        # An event that rare does not happen, and powers of smaller variances are 0.
        enlarged = LEAST_VARIANCE / np.clip(variance, 1e-300, LEAST_VARIANCE)
        variance, third = variance * enlarged, third * enlarged
        size = np.sqrt(variance)
        skewness = np.divide(third, size**3, out=np.zeros_like(size), where=size**3 > 0)
        columns = (own, variance, size, third, variance * skewness, size * skewness)
        by_cluster = [np.bincount(clusters.codes, x, clusters.count) for x in columns]
        sums, one, length, alone, twice, shape = by_cluster
        z = float(sums.sum() / max(np.sqrt(np.square(sums).sum()), 1e-300))
        pairs, whole = np.square(length) - one, np.square(length) * shape
        twice *= length

        def moments(rho: float) -> tuple[Floats, Floats]:
            triple = 2.0 * rho**2 / (1.0 + rho)
            parts = (1 - 3 * rho + 2 * triple) * alone + 3 * (rho - triple) * twice
            return one + rho * pairs, parts + triple * whole

        def made(rho: float, doubt: float = 0.0) -> SkewedSum:
            v, t = moments(rho)
            noise = np.stack([one, alone]).astype(np.float64) * (1.0 - rho)
            return cls(noise, np.stack([v, t]) - noise, z, doubt, seed, n_trials)

        total = float(pairs.sum())
        if total <= ROUNDING * float(one.sum()):  # no two rows in a cluster
            return made(0.0)

        def estimated(mean: float, errors: float, doubt: float = 0.0) -> SkewedSum:
            apart = np.square(sums - mean * length).sum() - np.square(own - mean * size).sum()
            rho = float(apart) / total
            v, t = moments(min(max(rho, 0.0), 1.0))
            fourth = np.divide(np.square(t), v, out=np.zeros_like(v), where=v > 0)
            error = float(np.sqrt(np.sum(2.0 * np.square(v) + fourth))) / total
            return made(min(max(rho + errors * error, 0.0), 1.0), doubt)

        added = estimated(0.0, 1.0).skewness ** 2 - made(0.0).skewness ** 2
        doubt = min(1.0, 2.0 * math.sqrt(max(added, 0.0)))
        return estimated((1.0 - doubt**2) * float(sums.sum() / length.sum()), 2.0 * doubt, doubt)

    @property
    def moments(self) -> Floats:
        """The variance and the third central moment of the sum of each cluster, (2, C)."""
        return self.noise + self.burst

    @property
    def skewness(self) -> float:
        """That of the sum of all clusters."""
        variance, third = self.moments.sum(axis=1).tolist()
        return third / variance**1.5 if variance > 0 else 0.0

    @property
    def effective_count(self) -> float:
        """How many clusters of equal variance vary as much in their squares."""
        variance = self.moments[0]
        total = float(variance.sum())
        return total**2 / float(np.square(variance).sum()) if total > 0 else 0.0

    @cached_property
    def trials(self) -> tuple[Floats, Floats]:
        """The p-values of flipped signs of simulated sums on the observed and on the other side.

        The noise of a cluster has a shifted gamma distribution; what its rows share takes one of
        two values: a burst of events comes or not. Both in ascending order.
        """
        (v, t), (burst, third) = self._grouped()
        rng, shape = np.random.default_rng(self.seed), (self.n_trials, v.size)
        skewness = skewness_of(v, t)
        size = 4.0 / np.square(skewness)
        sums = (rng.standard_gamma(size, shape) - size) * (0.5 * skewness * np.sqrt(v))
        skewness = skewness_of(burst, third)
        rise = 0.5 * (1.0 - skewness / np.sqrt(4.0 + np.square(skewness)))
        high, low = np.sqrt(burst * (1.0 - rise) / rise), -np.sqrt(burst * rise / (1.0 - rise))
        sums += np.where(rng.random(shape) < rise, high, low)
        signs = flipped_signs(np.arange(v.size), resample_keys(self.seed, self.n_trials))
        whole = sums.sum(axis=1)
        extreme = np.abs(sums @ signs.T) >= np.abs(whole)[:, None] * (1.0 - ROUNDING)
        pvalues = (1.0 + extreme.sum(axis=1)) / (1.0 + self.n_trials)
        is_same = whole * self.z >= 0
        return np.sort(pvalues[is_same]), np.sort(pvalues[~is_same])

    def _grouped(self) -> Floats:
        """Return the moments (2, 2, .) of the clusters, of small ones together where many."""
        order = np.argsort(-self.moments[0], kind="stable")
        group = np.arange(order.size)
        group[APART:] = APART + group[: max(order.size - APART, 0)] % APART
        parts = [np.bincount(group, x[order]) for x in (*self.noise, *self.burst)]
        return np.stack(parts).astype(np.float64).reshape(2, 2, -1)

    def raised(self, pvalue: float, *, is_own: bool) -> float:
        """Return the share of trials with such a p-value, if that is larger.

        With doubt, up to twice the share on the side of the observed sum takes its place: a rate of
        bursts that is wrong moves one side. The p-value of another statistic than the sum is up to
        half as large in skewed tails.
        """
        if self.skewness * np.sign(self.z) > -SYMMETRIC:
            return pvalue  # on the side of the long tail flipped signs are careful
        ratio = 1.0 if is_own else 1.0 + min(1.0, 2.0 * abs(self.skewness))
        most, twice = ratio * pvalue + ROUNDING, self.doubt**2
        same, other = (np.searchsorted(side, most, side="right") for side in self.trials)
        few = (1.0 + twice) * float(1 + same) + (1.0 - twice) * float(other)
        return min(1.0, max(pvalue, few / (1 + self.n_trials)))


def skewness_of(variance: Floats, third: Floats) -> Floats:
    """Return third / variance^(3/2), neither 0, which is as good as normal, nor infinite."""
    scale = np.maximum(variance, 1e-300) ** 1.5
    found = np.divide(third, scale, out=np.zeros_like(third), where=scale > 0)
    found = np.clip(found, -MOST_SKEWED, MOST_SKEWED)
    return np.asarray(np.where(np.abs(found) > NORMAL, found, NORMAL))
