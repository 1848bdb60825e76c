"""Is the error at most a tolerance, or at least: every model is off a little."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from caltest.errors import NotApplicable
from caltest.measures import Measure
from caltest.measures.cumulative.ks import KSError
from caltest.measures.cumulative.near_maximum import NearMaximum, draw_poisson
from caltest.measures.tolerance import Tolerance, unseen_chance
from caltest.nulls.base import Judgement, Null, judged
from caltest.nulls.resampling import resampled_values, resampling_pvalue, tail_beyond_resolution
from caltest.predictions import Predictions


def judge(
    measure: Measure,
    predictions: Predictions,
    *,
    tolerance: Tolerance,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Judgement:
    """Judge a measure by the hypothesis that its error is at most, or at least, a tolerance.

    Rows are independent draws of predictions and labels, unlike in the other nulls, which hold the
    predictions fixed. The laws are limits: normal with the jackknife error for the SKCE and the
    debiased error over bins, Student's for means over blocks, a bootstrap for KS.
    """
    if predictions.sample_weight is not None:
        raise NotApplicable(
            "a tolerance takes no sample weights; use null='exact' without tolerance"
        )
    if isinstance(measure, KSError):
        return _bootstrapped(
            measure, predictions, tolerance, n_resamples=n_resamples, seed=seed, n_jobs=n_jobs
        )
    limit = measure.tolerance_limit(predictions, tolerance, n_jobs)
    return judged(limit)


def _bootstrapped(
    measure: KSError,
    predictions: Predictions,
    tolerance: Tolerance,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Judgement:
    """Judge KS by the bootstrap of its directional derivative, at an error of the tolerance."""
    if measure.scaled:
        raise NotApplicable(
            "the scaled KS of an uncalibrated model grows with n, so that no tolerance suits it; "
            "use scaled=False"
        )
    near = NearMaximum(predictions, tolerance, measure.title)
    n = near.residuals.size
    errors = resampled_values(
        lambda rng, size: draw_poisson(rng, size, n),
        near.resample,
        n,
        n_resamples=n_resamples,
        seed=seed,
        n_jobs=n_jobs,
        pooled=False,
    )
    resampled = tolerance.value + errors
    observed, distribution = tolerance.signed(near.value), tolerance.signed(1.0) * resampled
    bootstrapped = resampling_pvalue(observed, distribution)
    pvalue = tolerance.at_least_unseen(bootstrapped, unseen_chance(tolerance.value, n))
    law = "Poisson bootstrap of the partial sums near the largest"
    if tolerance.equivalence:
        law = "Poisson bootstrap of that of the partial sums near the largest which varies most"
    return Judgement(
        statistic_name=measure.symbol,
        statistic=near.value,
        pvalue=pvalue,
        estimate=near.value,
        law=law,
        parameters={},
        notes=near.notes,
        distribution=resampled,
        tail_pvalue=tail_beyond_resolution(observed, distribution, pvalue),
    )


def at_least_exact(law: Judgement, exact: float) -> Judgement:
    """Return a judgement whose p-value is no less than the exact one of calibration.

    A model with too large an error is not calibrated, so no p-value for the former can be below
    that for the latter. The limit laws do not know it: they take labels that agree by chance, such
    as a few that are all 0, for labels that cannot vary.
    """
    if exact <= law.pvalue:
        return law
    note = f"p = {law.pvalue:.2g} of the limit law is raised to the exact p of calibration"
    return replace(law, pvalue=exact, tail_pvalue=None, notes=(*law.notes, note))


def tolerance_null(tolerance: Tolerance) -> Null:
    """Return the null for a tolerance; it is not one of calibration, so not in the registry."""
    return Null(
        "tolerance",
        "error at most or at least a tolerance",
        partial(judge, tolerance=tolerance),
        resamples=False,
    )
