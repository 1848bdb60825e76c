"""The exact null: predictions held fixed, labels redrawn from them."""

from __future__ import annotations

from functools import partial

import numpy as np

from caltest.measures.base import BoundMeasure, Measure, Outcome
from caltest.nulls.base import Null, check_applicable
from caltest.nulls.enumeration import Enumeration, enumerate_labels
from caltest.nulls.resampling import (
    bound_pvalue,
    replicates,
    resampled_values,
    tail_beyond_resolution,
)
from caltest.predictions import Predictions


def exact_test(
    measure: Measure,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Outcome:
    r"""Test a measure by labels redrawn from the predictions, :math:`y^*_i \sim Cat(p_i)`.

    Under the null hypothesis this is the distribution of the labels given the predictions, so
    :math:`p = (1 + \#\{T^* \ge T\}) / (1 + B)` is valid at every sample size, for every measure.
    Where the predictions allow no more than B + 1 label vectors, all of them take the place of
    random ones, with their probabilities: :math:`p = P(T^* \ge T)`.

    Labels are redrawn for binned measures too, not the counts of the bins: a count is a sum of
    unequal Bernoullis, which a binomial distribution would make too variable.

    Returns
    -------
    Outcome
        The p-value is at least 1 / (1 + B), or the probability of the observed labels.

    References
    ----------
    Phipson, Smyth (2010), Permutation p-values should never be zero; Widmann et al. (2019),
    section 6 has the consistency resampling that this conditions on the predictions.
    """
    check_applicable(measure, "exact")
    bound = measure.bind(predictions, n_jobs)
    listed = enumerate_labels(bound, measure.alternative, n_resamples + 1, n_jobs)
    if listed is not None:
        return _enumerated(measure, bound, listed, n_resamples=n_resamples, seed=seed)
    resampled = resampled_values(
        bound.redraw,
        bound.values,
        predictions.n,
        n_resamples=n_resamples,
        seed=seed,
        n_jobs=n_jobs,
        pooled=bound.pooled,
    )
    # The same code path for observed and redrawn labels, so that ties are ties.
    observed = float(bound.values(bound.observed[np.newaxis], n_jobs)[0])
    pvalue = bound_pvalue(bound, observed, resampled, measure.alternative)
    return Outcome(
        statistic_name=measure.symbol,
        statistic=observed,
        pvalue=pvalue,
        estimate=bound.estimate(observed),
        alternative=measure.alternative,
        null_text="labels redrawn from the predictions",
        parameters=bound.parameters,
        notes=bound.notes,
        degenerate=bound.degenerate,
        distribution=resampled,
        tail_pvalue=tail_beyond_resolution(observed, resampled, pvalue),
        replicates=replicates(bound, observed, resampled, measure.alternative),
    )


def _enumerated(
    measure: Measure, bound: BoundMeasure, listed: Enumeration, *, n_resamples: int, seed: int
) -> Outcome:
    count = listed.values.size
    vectors = f"all {count} label vectors" if count > 1 else "the only label vector"
    return Outcome(
        statistic_name=measure.symbol,
        statistic=listed.statistic,
        pvalue=listed.pvalue,
        estimate=bound.estimate(listed.statistic),
        alternative=measure.alternative,
        null_text=f"{vectors} that the predictions allow",
        parameters=bound.parameters,
        notes=bound.notes,
        degenerate=bound.degenerate,
        replicates=partial(listed.drawn_pvalues, seed, n_resamples),
    )


NULL = Null(
    "exact", "labels redrawn from the predictions; valid at every n", exact_test, resamples=True
)
