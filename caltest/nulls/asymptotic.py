"""Limit laws for large n."""

from __future__ import annotations

from caltest.measures import Measure
from caltest.nulls.base import Judgement, Null, check_applicable, check_unweighted, judged
from caltest.predictions import Predictions


def judge(
    measure: Measure,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Judgement:
    """Judge a measure by the limit law that it knows; nothing is resampled.

    The linear and block SKCE have a normal limit with the sample standard deviation of their block
    values (ddof = 1), Widmann et al. (2019), lemma 3.
    """
    check_applicable(measure, "asymptotic")
    limit = measure.limit(predictions, n_jobs)
    check_unweighted(predictions, "asymptotic")
    return judged(limit)


NULL = Null("asymptotic", "limit law for large n", judge, resamples=False)
