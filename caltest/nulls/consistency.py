"""Consistency resampling: predictions drawn with replacement, then labels from them."""

from __future__ import annotations

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome
from caltest.nulls.base import (
    Null,
    Replicates,
    batch_seeds,
    bound_pvalue,
    check_applicable,
)
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions
from caltest.types import Floats

WARNING = (
    "consistency resampling repeats predictions, which can make calibrated models fail "
    "(ECE with many bins); the exact null does not"
)


def consistency_test(
    measure: Measure,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Outcome:
    """Test a measure by consistency resampling.

    Each resample draws n predictions with replacement and labels from them; all that depends on the
    predictions (bins, bandwidth) is done anew.

    References
    ----------
    Broecker, Smith (2007), Increasing the reliability of reliability diagrams;
    Vaicenavicius et al. (2019), Evaluating model calibration in classification, section 5.
    """
    check_applicable(measure, "consistency")
    bound = measure.bind(predictions, n_jobs)

    def batch_values(child: np.random.SeedSequence, size: int) -> Floats:
        rng = np.random.default_rng(child)
        return np.array([_resampled_value(measure, predictions, rng) for _ in range(size)])

    batches = batch_seeds(seed, n_resamples)
    resampled = np.concatenate(list(map_threads(batch_values, batches, n_jobs)))
    observed = float(bound.values(bound.observed[np.newaxis], n_jobs)[0])
    pvalue = bound_pvalue(bound, observed, resampled, measure.alternative)
    return Outcome(
        statistic_name=measure.symbol,
        statistic=observed,
        pvalue=pvalue,
        estimate=bound.estimate(observed),
        alternative=measure.alternative,
        null_text="predictions drawn with replacement, labels redrawn from them",
        parameters=bound.parameters,
        notes=(*bound.notes, WARNING),
        degenerate=bound.degenerate,
        distribution=resampled,
        replicates=Replicates.of(bound, observed, resampled, measure.alternative),
    )


def _resampled_value(measure: Measure, predictions: Predictions, rng: np.random.Generator) -> float:
    drawn = predictions.subset(rng.integers(0, predictions.n, predictions.n))
    try:
        bound = measure.bind(drawn, 1)
    except NotApplicable as error:
        reason = f"a resample of the predictions is degenerate ({error.reason})"
        raise NotApplicable(reason, "use null='exact'") from error
    key = rng.integers(np.iinfo(np.uint64).max, size=1, dtype=np.uint64)
    return float(bound.values(bound.redraw(key), 1)[0])


NULL = Null(
    "consistency",
    "predictions drawn with replacement, then labels; as in the papers, may be anti-conservative",
    consistency_test,
    resamples=True,
)
