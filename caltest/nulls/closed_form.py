"""Laws that have a formula at every n: nothing is resampled and nothing is a limit."""

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
    """Judge a measure by the law that it knows in closed form at every n.

    Such a law holds under assumptions that the measure states: equal probabilities within a grade,
    a default correlation, an inequality that holds for every model.
    """
    check_applicable(measure, "closed-form")
    law = measure.closed_form(predictions, n_jobs)
    check_unweighted(predictions, "closed-form")
    return judged(law)


NULL = Null("closed-form", "law with a formula at every n", judge, resamples=False)
