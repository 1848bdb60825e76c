"""Nulls that resample rows: consistency resampling, and the bootstrap of the unbiased SKCE."""

from __future__ import annotations

from functools import partial

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome, outcome_of
from caltest.nulls import base
from caltest.predictions import Predictions
from caltest.types import Events, Floats
from caltest.units import check_unweighted

REPEATED = (
    "consistency resampling repeats predictions, which can make calibrated models fail "
    "(ECE with many bins); the exact null does not"
)
ROWS_FOR_BOOTSTRAP = 100
FEW_ROWS_NOTE = (
    f"the bootstrap is for large n: below n = {ROWS_FOR_BOOTSTRAP} it can reject calibrated models "
    "too often; "
    "the exact null does not"
)


BOOTSTRAPPED = "multinomial bootstrap of the degenerate U-statistic"


def consistency_test(measure: Measure, predictions: Predictions, draws: base.Draws) -> Outcome:
    """Test a measure by consistency resampling.

    Each resample draws n predictions with replacement and labels from them; all that depends on the
    predictions (bins, bandwidth) is done anew. Rows of weight 0 are none.

    References
    ----------
    Broecker, Smith (2007), Increasing the reliability of reliability diagrams;
    Vaicenavicius et al. (2019), Evaluating model calibration in classification, section 5.
    """
    base.check_applicable(measure, "consistency")
    predictions = predictions.drawn_from
    bound = measure.bind(predictions)

    def batch(rng: np.random.Generator, size: int) -> list[float]:
        values = []
        for _ in range(size):
            drawn = predictions.subset(rng.integers(0, predictions.n, predictions.n))
            try:
                again = measure.bind(drawn)
            except NotApplicable as error:
                reason = f"a resample of the predictions is degenerate ({error.reason})"
                raise NotApplicable(reason, "use null='exact'") from error
            key = rng.integers(np.iinfo(np.uint64).max, size=1, dtype=np.uint64)
            values.append(float(again.values(again.redraw(key))[0]))
        return values

    values = np.append(bound.values(bound.observed[np.newaxis]), base.drawn_values(batch, draws))
    text = "predictions drawn with replacement, labels redrawn from them"
    notes = (*bound.notes, REPEATED)
    return base.resampled_outcome(measure, bound, values, null_text=text, notes=notes)


def bootstrap_test(measure: Measure, predictions: Predictions, draws: base.Draws) -> Outcome:
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
    base.check_applicable(measure, "bootstrap")
    check_unweighted(predictions, "null 'bootstrap'", "use null='exact'")
    pairs = measure.degenerate_ustatistic(predictions)
    n = predictions.n
    diagonal = pairs.diagonal()
    rows = pairs.row_sums() + diagonal

    def statistics(counts: Events) -> Floats:
        c = counts.astype(float)
        quadratic = 2.0 * pairs.weighted_sums(counts) + (c * (c - 1.0)) @ diagonal
        return np.asarray((n / (n - 1) * quadratic - 2.0 * c @ rows) / n**2)

    batches = base.drawn_batches(partial(_multinomial_counts, n), draws.seed, draws.n_resamples)
    resampled = base.resampled_values(batches, statistics, n, pooled=pairs.pooled)
    total = float(rows.sum())
    estimate = (total - float(diagonal.sum())) / (n * (n - 1))
    observed = n / (n - 1) * estimate - total / n**2
    replicates = base.Replicates(np.append(observed, resampled), pairs.scale, "greater")
    few = (FEW_ROWS_NOTE,) if n < ROWS_FOR_BOOTSTRAP else ()
    about = pairs.described() | {"null_text": BOOTSTRAPPED, "notes": (*pairs.notes, *few)}
    about |= {"distribution": resampled, "replicates": replicates, "scale": pairs.scale}
    return outcome_of("T", observed, replicates.pvalue, estimate=estimate, **about)


def _multinomial_counts(n: int, rng: np.random.Generator, size: int) -> Events:
    """Count how often each of n observations is drawn in n draws; a count fits one byte.

    Up to n = 255 by its definition, beyond because P(count > 255) is below 1e-500.
    """
    out = np.empty((size, n), np.uint8)
    for row in out:
        row[:] = np.bincount(rng.integers(0, n, n), minlength=n)
    return out


CONSISTENCY = base.Null(
    "consistency",
    "predictions drawn with replacement, then labels; as in the papers, may be anti-conservative",
    consistency_test,
    resamples=True,
)
BOOTSTRAP = base.Null(
    "bootstrap",
    "multinomial bootstrap, for the unbiased SKCE; large n",
    bootstrap_test,
    resamples=True,
)
