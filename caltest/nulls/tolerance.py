"""Is the error at most a tolerance, or at least: every model is off a little."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome, outcome_of
from caltest.measures.tolerance import Tolerance, ToleranceBootstrap, draw_poisson, tolerance_of
from caltest.nulls.base import Draws, drawn_batches, resampled_values, resampling_pvalue
from caltest.predictions import Predictions
from caltest.units import check_unweighted


def tolerance_test(
    measure: Measure, predictions: Predictions, draws: Draws, *, tolerance: Tolerance
) -> Outcome:
    """Test the hypothesis that the error of a measure is at most, or at least, a tolerance.

    Rows are independent draws of predictions and labels, unlike in the other nulls, which hold the
    predictions fixed. The distributions are limits: normal with the jackknife error for the SKCE
    and the debiased error over bins, Student's for means over blocks, a bootstrap for KS.
    """
    check_unweighted(predictions, "a tolerance", "leave out tolerance=")
    known = tolerance_of(measure)
    outcome = known.tolerance_test(predictions, tolerance)
    if isinstance(outcome, ToleranceBootstrap):
        # The estimate is compared with its resampled errors, at an error of the tolerance.
        given = outcome
        batches = drawn_batches(partial(draw_poisson, n=given.n), draws.seed, draws.n_resamples)
        errors = resampled_values(batches, given.resample, given.n, pooled=False)
        resampled = tolerance.value + errors
        observed, others = tolerance.signed(given.value), tolerance.signed(1.0) * resampled
        about: dict[str, Any] = {"notes": given.notes, "alternative": tolerance.alternative}
        pvalue, text = resampling_pvalue(observed, others), given.null_text
        found = measure.symbol, given.value, pvalue, text, given.value
        outcome = outcome_of(*found, distribution=resampled, **about)
    if tolerance.equivalence:
        # Too large an error can be unseen where it shows in few events: as few as there are, or
        # fewer, have this probability. Without events among rare ones the estimate hardly varies.
        tail = known.boundary_tail(predictions, tolerance)
        what = "probability of numbers of events like these at the tolerance"
        outcome = at_least_exact(outcome, tail, what)
    return replace(outcome, parameters={"tolerance": tolerance.value, **outcome.parameters})


def at_least_exact(outcome: Outcome, exact: float, what: str = "p-value of calibration") -> Outcome:
    """Return an outcome whose p-value is no less than an exact one, such as that of calibration.

    A model with too large an error is not calibrated, so no p-value for the former can be below
    that for the latter. The limiting distributions do not know it: they take labels that agree by
    chance, such as a few that are all 0, for labels that cannot vary.
    """
    if exact <= outcome.pvalue:
        return outcome
    note = f"p = {outcome.pvalue:.2g} of the limiting distribution is raised to the exact {what}"
    return replace(outcome, pvalue=exact, notes=(*outcome.notes, note))
