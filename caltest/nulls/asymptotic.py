"""Limiting distributions for large n."""

from __future__ import annotations

from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome
from caltest.nulls.base import Null, check_applicable, check_unweighted
from caltest.predictions import Predictions


def asymptotic_test(
    measure: Measure,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Outcome:
    """Test a measure by the limiting distribution that it knows; nothing is resampled.

    The linear and block SKCE have a normal limit with the sample standard deviation of their block
    values (ddof = 1), Widmann et al. (2019), lemma 3.
    """
    check_applicable(measure, "asymptotic")
    outcome = measure.limit(predictions, n_jobs)
    check_unweighted(predictions, "asymptotic")
    return outcome


NULL = Null("asymptotic", "limiting distribution for large n", asymptotic_test, resamples=False)
