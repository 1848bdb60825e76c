"""Whether a test rejects a simulated data set, without more resamples than the answer needs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.htests.run import Plan, run_plan
from caltest.measures import BoundMeasure
from caltest.nulls.base import AT_A_TIME, BATCH, NOT_A_NUMBER, POOL, redrawn_batches
from caltest.nulls.exact import enumerate_labels
from caltest.numerics.joint import tie_tolerance

Floats = NDArray[np.float64]


class Decision(NamedTuple):
    """Whether a data set was rejected, and the calibration error that was seen."""

    rejected: bool
    estimate: float


def decide(plan: Plan, *, level: float, n_resamples: int) -> Decision:
    """Run one test; the decision is that of `test_calibration` with the same seed."""
    if plan.null == "exact" and plan.tolerance is None:
        seen = plan.lens(plan.predictions)
        bound = plan.measure.bind(seen, 1)
        listed = enumerate_labels(bound, plan.measure.alternative, n_resamples + 1, 1)
        if listed is not None:
            return Decision(listed.pvalue <= level, bound.estimate(listed.statistic))
        return _curtailed(plan, bound, level=level, n_resamples=n_resamples)
    _, outcome = run_plan(plan, n_resamples=n_resamples, n_jobs=1)
    return Decision(outcome.pvalue <= level, outcome.estimate)


def _curtailed(plan: Plan, bound: BoundMeasure, *, level: float, n_resamples: int) -> Decision:
    """Draw labels in the batches of the exact null until the decision is certain.

    The p-value counts the redrawn statistics that are as extreme as the observed one; once there
    are too many, or too few even if all that are left were, drawing the rest changes nothing.
    """
    two_sided = plan.measure.alternative == "two-sided"
    most = most_extreme(level, n_resamples, 2 if two_sided else 1)
    value = observed = math.nan
    upper = lower = done = 0
    for values in _values(bound, plan.seed, n_resamples):
        compared = bound.comparable(values)
        if not done:  # the first is that of the labels that were observed
            value, observed, compared = float(values[0]), float(compared[0]), compared[1:]
            tolerance = float(tie_tolerance(observed, bound.scale))
        if np.isnan(compared).any() or np.isnan(observed):
            raise NotApplicable(*NOT_A_NUMBER)
        upper += int(np.count_nonzero(compared >= observed - tolerance))
        lower += int(np.count_nonzero(compared <= observed + tolerance))
        done += compared.size
        hits = min(upper, lower) if two_sided else upper
        if hits > most or hits + n_resamples - done <= most:
            break
    return Decision(hits <= most, bound.estimate(value))


def _values(bound: BoundMeasure, seed: int, n_resamples: int) -> Iterator[Floats]:
    """Yield the statistic of the observed and the first redrawn labels, then that of others.

    A pooled measure has work to do in each call, so that it gets many batches after the first.
    """
    batches = redrawn_batches(bound, seed, n_resamples)
    n = bound.predictions.n
    most = max(1, POOL // (n * BATCH)) if bound.pooled else 1
    firsts = [0, *range(1, len(batches), most), len(batches)]
    for first, last in pairwise(firsts):
        at_a_time = max(8, AT_A_TIME // n)  # few where there are many labels
        drawn = chain.from_iterable(batch(at_a_time) for batch in batches[first:last])
        labels = chain([bound.observed[np.newaxis]], drawn) if first == 0 else drawn
        calls = [np.concatenate(list(labels))] if bound.pooled else labels
        yield np.concatenate([bound.values(rows, 1) for rows in calls])


def most_extreme(level: float, n_resamples: int, sides: int) -> int:
    """Return how many redrawn statistics may be as extreme where a test rejects; -1 for none."""
    pvalues = sides * (1 + np.arange(n_resamples + 1)) / (1 + n_resamples)
    return int(np.searchsorted(pvalues, level, side="right")) - 1
