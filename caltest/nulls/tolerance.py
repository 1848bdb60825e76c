"""Is the error at most a tolerance, or at least: every model is off a little."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome, outcome_of
from caltest.measures.tolerance import (
    ROWS_FOR_LIMIT,
    Tolerance,
    ToleranceBootstrap,
    draw_poisson,
    few_rows_notes,
    has_few_events,
    tolerance_of,
)
from caltest.nulls.base import Draws, drawn_batches, resampled_values, resampling_pvalue
from caltest.nulls.exact import exact_test
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
        about: dict[str, Any] = {"alternative": tolerance.alternative}
        about["notes"] = few_rows_notes(given.n)
        pvalue, text = resampling_pvalue(observed, others), given.null_text
        found = measure.symbol, given.value, pvalue, text, given.value
        outcome = outcome_of(*found, distribution=resampled, **about)
    few = has_few_events(predictions)
    if tolerance.equivalence:
        # Too large an error can be unseen where it shows in few events: as few as there are, or
        # fewer, have this probability. Without events among rare ones the estimate hardly varies.
        tail = known.boundary_tail(predictions, tolerance)
        what = "probability of numbers of events like these at the tolerance"
        outcome = at_least(outcome, tail, what)
    elif few or predictions.n < ROWS_FOR_LIMIT or known.tolerance_method == "bootstrap":
        # Too many sums may be as large as the maximum for the limit of KS, with any number of rows.
        tail, drawn = noise_tail(measure, predictions, draws, tolerance.value if few else 0.0)
        distance = "probability of redrawn labels that are off by the distance from the tolerance"
        outcome = at_least(outcome, tail, distance if few else "p-value of calibration")
        by_labels = drawn is not None and outcome.distribution is None
        text = f"{outcome.null_text}, at least that of redrawn labels"
        text = text if by_labels else outcome.null_text
        outcome = replace(outcome, n_resamples=drawn, null_text=text)
    return replace(outcome, parameters={"tolerance": tolerance.value, **outcome.parameters})


def noise_tail(
    measure: Measure, predictions: Predictions, draws: Draws, tolerance: float
) -> tuple[float, int | None]:
    r"""Return how likely labels redrawn from the predictions are as far off as beyond a tolerance.

    Also how many were redrawn, which limits how small it can be: None where all are listed.

    Few events do not show how much an error varies, but those redrawn do. A norm T of mean
    deviations is at most that of the error and that of the noise, so that noise of at least
    :math:`T - \tau` brought it beyond a tolerance that holds: a squared error beyond
    :math:`(\sqrt T - \sqrt\tau)^2`. With a tolerance of 0 it is the p-value of calibration.
    """
    power = 2.0 if tolerance_of(measure).tolerance_method == "limit" else 1.0
    edge = tolerance if measure.unrooted is not measure else tolerance ** (1.0 / power)
    found: Any = exact_test(measure.unrooted, predictions, draws).replicates
    values = found.values[:1]
    beyond = np.maximum(np.maximum(values, 0.0) ** (1.0 / power) - edge, 0.0) ** power
    law, drawn = (found, draws.n_resamples) if found.law is None else (found.law, None)
    return float(law.pvalues(np.minimum(values, beyond))[0]), drawn


def at_least(outcome: Outcome, tail: float, what: str) -> Outcome:
    """Return an outcome whose p-value is no less than an exact probability."""
    if tail <= outcome.pvalue:
        return outcome
    note = f"p = {outcome.pvalue:.2g} of the limiting distribution is raised to the exact {what}"
    return replace(outcome, pvalue=tail, notes=(*outcome.notes, note))
