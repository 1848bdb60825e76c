"""What a null is: it turns the value of a measure into a p-value; resampling in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.bound import Bound, BoundMeasure
from caltest.measures.outcome import Outcome, positive
from caltest.numerics.joint import tail_scores, tie_tolerance
from caltest.numerics.labels import resample_keys
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions
from caltest.types import Floats, Hashes, Labels
from caltest.units import check_unweighted

Draw = Callable[[np.random.Generator, int], Labels]
Evaluate = Callable[[Labels], Floats]
Batch = Callable[[int], Iterator[Labels]]  # the rows of a batch, some at a time
BATCH = 64  # resamples a seed; changing it changes every seeded p-value
LARGEST_BATCH = 16 * BATCH  # of labels redrawn by keys, where rows are few
SMALL = 1 << 18  # labels of such a batch
AT_A_TIME = 1 << 20  # labels drawn and evaluated at a time
SMALLEST = 1e-300  # probability of a score
POOL = 1 << 28  # labels held at a time where a measure wants all resamples together
NOT_A_NUMBER = (
    "the statistic is not a number for these predictions or for redrawn labels",
    "check extreme options such as a tiny bandwidth",
)


class Draws(NamedTuple):
    """How resamples are drawn: how many, and from which seed.

    Very many rows `may_count` in cells, whose numbers are redrawn where the test is `alone`: no
    other is to see the same labels.
    """

    n_resamples: int
    seed: int
    may_count: bool = False
    alone: bool = True


@dataclass(frozen=True)
class Null:
    """A null with its key, one-line title and method.

    Attributes
    ----------
    run : callable
        `run(measure, predictions, draws) -> Outcome`.
    resamples : bool
        Whether the number of resamples and the seed matter.
    """

    key: str
    title: str
    run: Callable[[Measure, Predictions, Draws], Outcome]
    resamples: bool

    def test(self, measure: Measure, predictions: Predictions, **draws: Any) -> Outcome:
        """Test a measure; the options are those of `Draws`."""
        return self.run(measure, predictions, Draws(**draws))


def check_applicable(measure: Measure, key: str) -> None:
    """Raise NotApplicable, with the alternatives, where the null has no meaning for the measure."""
    if key not in measure.nulls:
        some = "one of " if len(measure.nulls) > 1 else ""
        raise NotApplicable(
            f"null {key!r} has no meaning for {measure.description}",
            f"use {some}{', '.join(map(repr, measure.nulls))}",
        )


def batch_seeds(seed: int, n_resamples: int) -> list[tuple[np.random.SeedSequence, int]]:
    """Return a seed and a number of resamples for each batch."""
    sizes = [min(BATCH, n_resamples - done) for done in range(0, n_resamples, BATCH)]
    return list(zip(np.random.SeedSequence(seed).spawn(len(sizes)), sizes, strict=True))


def drawn_values(
    batch: Callable[[np.random.Generator, int], Floats | list[Any]],
    draws: Draws,
    n_jobs: int | None = None,
) -> Floats:
    """Return what `batch(rng, size)` gives for `size` resamples, of all batches together."""
    seeds = batch_seeds(draws.seed, draws.n_resamples)
    rngs = ((np.random.default_rng(child), size) for child, size in seeds)
    return np.concatenate(list(map_threads(batch, rngs, n_jobs)))


def drawn_batches(draw: Draw, seed: int, n_resamples: int) -> list[Batch]:
    """Return batches of what `draw(rng, size)` gives, `size` rows of n labels or counts."""

    def rows(child: np.random.SeedSequence, size: int, at_a_time: int) -> Iterator[Labels]:
        rng = np.random.default_rng(child)
        return (draw(rng, min(at_a_time, size - done)) for done in range(0, size, at_a_time))

    return [partial(rows, *batch) for batch in batch_seeds(seed, n_resamples)]


def redrawn_batches(
    bound: BoundMeasure, seed: int, n_resamples: int, start: int = 0, size: int = BATCH
) -> list[Batch]:
    """Return batches of what a bound measure observes, redrawn from the predictions."""

    def rows(keys: Hashes, at_a_time: int) -> Iterator[Labels]:
        together = max(at_a_time, bound.keys_together)
        for i in range(0, keys.size, together):
            drawn = bound.redraw(keys[i : i + together])
            yield from (drawn[j : j + at_a_time] for j in range(0, len(drawn), at_a_time))

    keys = resample_keys(seed, n_resamples)[start:]
    return [partial(rows, keys[i : i + size]) for i in range(0, keys.size, size)]


def resampled_values(batches: list[Batch], evaluate: Evaluate, n: int, *, pooled: bool) -> Floats:
    """Return the statistic for each resample of n labels or counts.

    `evaluate(rows)` gives a value for each, or several, (K, B). A pooled statistic gets
    many rows in one call and runs its own threads; for others the batches are spread over threads.
    The rows do not depend on how they are spread.
    """

    def values_of(batch: Batch) -> Floats:
        rows = batch(max(8, AT_A_TIME // n))
        return np.concatenate([evaluate(some) for some in rows], axis=-1)

    tasks = [(batch,) for batch in batches]
    if not pooled:
        return np.concatenate(list(map_threads(values_of, tasks)), axis=-1)
    step = max(1, POOL // (n * BATCH))
    values = []
    for i in range(0, len(tasks), step):
        some = tasks[i : i + step]
        pool = map_threads(lambda batch: np.concatenate(list(batch(BATCH))), some)
        values.append(evaluate(np.concatenate(list(pool))))
    return np.concatenate(values, axis=-1)


def redrawn_values(bound: BoundMeasure, draws: Draws) -> Floats:
    """Return the value of a bound measure for labels redrawn from the predictions, (B,)."""
    return bound.combine(redrawn_statistics(bound, draws))


def redrawn_statistics(
    bound: BoundMeasure,
    draws: Draws,
    start: int = 0,
    evaluate: Evaluate | None = None,
    *,
    with_observed: bool = False,
) -> Floats:
    """Return what the value combines for labels redrawn from the predictions, (B,) or (K, B).

    Parameters
    ----------
    bound : BoundMeasure
        The measure, which says how labels are redrawn.
    draws : Draws
        The number of resamples and the seed.
    start : int
        Leaves out that many of the resamples, which an earlier call has given.
    evaluate : callable, optional
        What is evaluated instead of its statistics.
    with_observed : bool
        Whether the first is that of the observed labels, by the same code, so that ties are ties.
    """
    n, own = bound.width, bound.statistics if evaluate is None else evaluate
    at_once, seen = bound.of_keys() if evaluate is None else None, bound.observed[np.newaxis]
    if at_once is not None:
        keys = resample_keys(draws.seed, draws.n_resamples)[start:]
        tasks = [(keys[i : i + BATCH],) for i in range(0, keys.size, BATCH)]
        first = [own(seen)] if with_observed else []
        return np.concatenate([*first, *map_threads(at_once, tasks)])
    size = max(BATCH, min(LARGEST_BATCH, SMALL // n))
    batches = redrawn_batches(bound, draws.seed, draws.n_resamples, start, size)
    if with_observed:
        batches.insert(0, lambda _: iter([seen]))
    return resampled_values(batches, own, n, pooled=bound.pooled)


@dataclass(frozen=True, eq=False)
class Replicates:
    """The values of a statistic for the observed and for the resampled data, (B + 1,).

    Under a null hypothesis that makes the data exchangeable with their resamples, so are the
    p-values and the tail scores here, and those of several statistics of the same resamples
    together: what combines those of several groups is compared with its own resamples.

    Attributes
    ----------
    values : (B + 1,) array
        The values as they are compared, that of the observed data first.
    scale : float
        Size of the terms of the statistic: ties are measured by it.
    alternative : str
        Which values speak against H0, "greater" or "two-sided".
    weights : (B + 1,) array, optional
        The probabilities of the values where they are all that are possible, 0 of the observed one,
        which is among the others; by default all count alike.
    law : Replicates, optional
        All values that are possible with their probabilities, where they are known.
    statistics : (B + 1,) array, optional
        The values of a law as they are, before they were made comparable.
    """

    values: Floats
    scale: float
    alternative: str
    weights: Floats | None = None
    law: Replicates | None = None
    statistics: Floats | None = None

    @property
    def pvalue(self) -> float:
        """The p-value of the observed data."""
        if np.isnan(self.values).any():
            raise NotApplicable(*NOT_A_NUMBER)
        return positive(float(self.pvalues(self.values[:1])[0]))

    def pvalues(self, statistics: Floats | None = None) -> Floats:
        """Return P(T* >= T) for each T, by default each value; two-sided, twice the smaller tail.

        Values within 100 eps of the scale of the statistic are ties, and ties count as extreme.
        """
        order = np.argsort(self.values)
        values, each = self.values[order], self.values if statistics is None else statistics
        weights = np.ones(values.size) if self.weights is None else self.weights[order]
        tolerance = tie_tolerance(each, self.scale)
        first = np.searchsorted(values, each - tolerance, side="left")
        upper = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        upper = np.where(first == 0, 1.0, upper[first] / upper[0])
        if self.alternative == "greater":
            return np.asarray(np.minimum(1.0, upper))
        last = np.searchsorted(values, each + tolerance, side="right")
        lower = np.append(0.0, np.cumsum(weights))
        lower = np.where(last == values.size, 1.0, lower[last] / lower[-1])
        return np.asarray(np.minimum(1.0, 2.0 * np.minimum(upper, lower)))

    def scores(self) -> Floats:
        """Return how far out each value is among all of them, beyond the resolution of ranks.

        Where all that are possible are known, it is -log p.
        """
        if self.law is not None:
            return np.asarray(-np.log(np.maximum(self.law.pvalues(self.values), SMALLEST)))
        return tail_scores(self.values, self.scale, two_sided=self.alternative == "two-sided")


def described(measure: Measure, bound: Bound, value: float) -> dict[str, Any]:
    """Return what an outcome says of a measure with that value, besides its distribution."""
    return {
        "statistic_name": measure.symbol,
        "statistic": value,
        "estimate": bound.estimate(value),
        "scale": bound.scale if measure.declared_tests() else 0.0,  # a caller's value stays
        "alternative": measure.alternative,
        **bound.described(),
    }


def resampled_outcome(measure: Measure, bound: Bound, values: Floats, **more: Any) -> Outcome:
    """Compare the value of what was observed, the first of (B + 1,), with the resampled ones."""
    replicates = Replicates(bound.comparable(values), bound.scale, measure.alternative)
    return Outcome(
        pvalue=replicates.pvalue,
        distribution=values[1:],
        replicates=replicates,
        **described(measure, bound, float(values[0])) | more,
    )


def resampling_pvalue(
    observed: float, resampled: Floats, scale: float = 1.0, alternative: str = "greater"
) -> float:
    """Return (1 + #{T* >= T}) / (1 + B); two-sided, twice the smaller of both tails.

    Values within 100 eps of the scale of the statistic are ties, and ties count as extreme.
    """
    return Replicates(np.append(observed, resampled), scale, alternative).pvalue


def formula_test(
    measure: Measure, predictions: Predictions, draws: Draws, *, key: str, formula: str
) -> Outcome:
    r"""Test a measure by a distribution that it knows; nothing is resampled.

    - "asymptotic": its limiting distribution. The linear and block SKCE have a normal limit with
      the sample standard deviation of their block values (ddof = 1), Widmann et al. (2019), lemma
      3; the unbiased SKCE has a Pearson curve with its variance and skewness.
    - "closed-form": its distribution at every n, under assumptions that the measure states: equal
      probabilities within a grade, a default correlation, an inequality that holds for every model.
    - "distribution-free": an upper bound on the p-value, for the SKCE and its square roots. With
      :math:`B = 2^{1 + 1/p - 1/q} K_{p;q} \ge |h_{ij}|`, the smallest that can be computed exactly,
      and t the estimate (0 where it is negative):

      - biased: :math:`\exp(-\max(0, \sqrt{n t / B} - 1)^2 / 2)`;
      - unbiased: :math:`\exp(-\lfloor n/2 \rfloor t^2 / (2 B^2))`;
      - blocks of b: :math:`\lfloor n/b \rfloor \lfloor b/2 \rfloor` in place of
        :math:`\lfloor n/2 \rfloor`;
      - KCE and MMCE: t is their square, the biased SKCE of their kernel.

      It is valid at every n, for every model, and very conservative.

    References
    ----------
    Widmann et al. (2019), lemma 2.
    """
    check_applicable(measure, key)
    outcome: Outcome = getattr(measure, formula)(predictions)
    check_unweighted(predictions, f"null {key!r}", "use null='exact'")
    return outcome


def formula_null(key: str, title: str, formula: str) -> Null:
    """Return the null of a formula that a measure has, the name of its member."""
    return Null(key, title, partial(formula_test, key=key, formula=formula), resamples=False)


ASYMPTOTIC = formula_null("asymptotic", "limiting distribution for large n", "limit")
CLOSED_FORM = formula_null("closed-form", "a formula without a limit in n", "closed_form")
DISTRIBUTION_FREE = formula_null(
    "distribution-free",
    "concentration inequality for the SKCE and its roots; valid at every n, very conservative",
    "concentration_bound",
)
