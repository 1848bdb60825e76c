"""Null distributions that have a formula at every n: nothing is resampled, nothing is a limit."""

from __future__ import annotations

from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome
from caltest.nulls.base import Null, check_applicable, check_unweighted
from caltest.predictions import Predictions


def closed_form_test(
    measure: Measure,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Outcome:
    """Test a measure by the null distribution that it knows in closed form at every n.

    Such a distribution holds under assumptions that the measure states: equal probabilities within
    a grade, a default correlation, an inequality that holds for every model.
    """
    check_applicable(measure, "closed-form")
    outcome = measure.closed_form(predictions, n_jobs)
    check_unweighted(predictions, "closed-form")
    return outcome


NULL = Null("closed-form", "a formula that holds at every n", closed_form_test, resamples=False)
