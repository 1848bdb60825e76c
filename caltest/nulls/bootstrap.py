"""Bootstrap of the degenerate U-statistic, for the unbiased SKCE."""

from __future__ import annotations

from functools import partial

import numpy as np

from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome
from caltest.nulls.base import (
    Null,
    Replicates,
    check_applicable,
    check_unweighted,
    drawn_batches,
    resampled_values,
    resampling_pvalue,
)
from caltest.predictions import Predictions
from caltest.types import Events, Floats

ROWS_FOR_BOOTSTRAP = 100
FEW_ROWS_NOTE = (
    f"the bootstrap is for large n: below n = {ROWS_FOR_BOOTSTRAP} it can reject calibrated models "
    "too often; "
    "the exact null does not"
)


def bootstrap_test(
    measure: Measure,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Outcome:
    r"""Test the unbiased SKCE by the bootstrap of Arcones and Gine.

    With multinomial counts C, the statistic
    :math:`T = \frac{n}{n-1} \widehat{SKCE}_{uq} - \widehat{SKCE}_b` is compared with

    .. math:: T' = n^{-2} \sum_i C_i \sum_j \left(\frac{n}{n-1} (C_j - 1[i = j]) - 2\right) h_{ij}.

    Valid for large n only; at small n it is conservative or anti-conservative.

    References
    ----------
    Arcones, Gine (1992), On the bootstrap of U and V statistics; Widmann et al. (2019), section 6
    and appendix G.
    """
    check_applicable(measure, "bootstrap")
    check_unweighted(predictions, "bootstrap")
    pairs = measure.degenerate_ustatistic(predictions, n_jobs)
    n = predictions.n
    diagonal = pairs.diagonal()
    rows = pairs.row_sums(n_jobs) + diagonal

    def statistics(counts: Events, jobs: int | None) -> Floats:
        c = counts.astype(float)
        quadratic = 2.0 * pairs.weighted_sums(counts, jobs) + (c * (c - 1.0)) @ diagonal
        return np.asarray((n / (n - 1) * quadratic - 2.0 * c @ rows) / n**2)

    batches = drawn_batches(partial(_multinomial_counts, n), seed, n_resamples)
    resampled = resampled_values(batches, statistics, n, n_jobs=n_jobs, pooled=pairs.pooled)
    estimate, observed = _estimate_and_statistic(n, float(rows.sum()), float(diagonal.sum()))
    pvalue = resampling_pvalue(observed, resampled, pairs.scale)
    return Outcome(
        statistic_name="T",
        statistic=observed,
        pvalue=pvalue,
        estimate=estimate,
        alternative="greater",
        null_text="multinomial bootstrap of the degenerate U-statistic",
        parameters=pairs.parameters,
        notes=pairs.notes if n >= ROWS_FOR_BOOTSTRAP else (*pairs.notes, FEW_ROWS_NOTE),
        degenerate=pairs.degenerate,
        distribution=resampled,
        replicates=Replicates(np.append(observed, resampled), pairs.scale, "greater"),
    )


def _estimate_and_statistic(n: int, total: float, diagonal: float) -> tuple[float, float]:
    unbiased = (total - diagonal) / (n * (n - 1))
    return unbiased, n / (n - 1) * unbiased - total / n**2


def _multinomial_counts(n: int, rng: np.random.Generator, size: int) -> Events:
    """Count how often each of n observations is drawn in n draws; a count fits one byte.

    Up to n = 255 by its definition, beyond because P(count > 255) is below 1e-500.
    """
    out = np.empty((size, n), np.uint8)
    for row in out:
        row[:] = np.bincount(rng.integers(0, n, n), minlength=n)
    return out


NULL = Null(
    "bootstrap",
    "multinomial bootstrap, for the unbiased SKCE; large n",
    bootstrap_test,
    resamples=True,
)
