"""P-values of statistics that are functions of a sum of independent terms, one for each row."""

from __future__ import annotations

import math
from collections.abc import Callable

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome, RowTerms
from caltest.nulls.base import NOT_A_NUMBER, check_applicable
from caltest.numerics.tilting import Terms, lattice_span
from caltest.predictions import Predictions

Tail = Callable[[Terms, float, float], float]  # P(S >= x) of terms, x and the span of their lattice


def sum_test(
    key: str,
    measure: Measure,
    predictions: Predictions,
    *,
    tail: Tail,
    words: Callable[[float], str],
    notes: Callable[[Terms, float, float], tuple[str, ...]] = lambda *_: (),
    n_jobs: int | None,
) -> Outcome:
    """Test a measure by the tails of the sum that it is a function of.

    Parameters
    ----------
    key : str
        That of the null.
    measure : Measure
        The measure, which offers its terms by `row_terms`.
    predictions : Predictions
        The predictions and labels.
    tail : callable
        `tail(terms, x, span)`: P(S >= x) of a sum of terms on a lattice, or with span 0 on none.
    words : callable
        The null distribution in words, for a span.
    notes : callable
        Of the terms, x and the span: what a reader of the p-value should know.
    n_jobs : int, optional
        Threads of what depends on the predictions alone.
    """
    check_applicable(measure, key)
    bound = measure.bind(predictions, n_jobs)
    statistic = bound.value(n_jobs)
    rows = measure.row_terms(predictions)
    terms = Terms.of(rows.table, bound.predictions.probs)
    if math.isnan(statistic):
        raise NotApplicable(*NOT_A_NUMBER)
    span = lattice_span(terms)
    return Outcome(
        statistic_name=measure.symbol,
        statistic=statistic,
        pvalue=_pvalue(terms, rows, measure.alternative, span, tail),
        estimate=bound.estimate(statistic),
        alternative=measure.alternative,
        null_text=words(span),
        parameters=bound.parameters,
        notes=(*bound.notes, *notes(terms, rows.observed, span)),
        degenerate=bound.degenerate,
    )


def _pvalue(terms: Terms, rows: RowTerms, alternative: str, span: float, tail: Tail) -> float:
    x = rows.observed
    if rows.by_likelihood:
        return _as_unlikely(terms, x, span, tail)
    if alternative == "greater":
        return tail(terms, x, span)
    terms, x = (terms, x) if x > terms.mean else (terms.negative, -x)
    beyond = tail(terms, x, span)
    # Both tails hold the probability of x itself: the other can be smaller near the mean alone.
    return (
        2.0 * beyond
        if beyond < 0.4
        else min(1.0, 2.0 * beyond, 2.0 * tail(terms.negative, -x, span))
    )


def _as_unlikely(terms: Terms, x: float, span: float, tail: Tail) -> float:
    """Return the probability of sums whose deviance is at least that of x, on both sides."""
    if abs(x - terms.mean) <= terms.slack or span == 0:
        return float(abs(x - terms.mean) <= terms.slack)
    if x < terms.mean:
        return _as_unlikely(terms.negative, -x, span, tail)
    deviance = terms.deviance(x)
    other = _other_side(terms.negative, deviance, span) if math.isfinite(deviance) else None
    beyond = 0.0 if other is None else tail(terms.negative, other, span)
    return min(1.0, tail(terms, x, span) + beyond)


def _other_side(terms: Terms, deviance: float, span: float) -> float | None:
    """Return the smallest value above the mean with at least that deviance; None for none.

    The deviance is convex, so that Newton's method comes down to the value from above.
    """
    least = deviance * (1.0 - 1e-9)
    if terms.deviance(terms.largest) < least:
        return None
    start = -terms.negative.largest
    low, high = math.floor((terms.mean - start) / span), round((terms.largest - start) / span)
    guess = (terms.mean + terms.sd * math.sqrt(deviance) - start) / span
    while high - low > 1:
        middle = min(max(math.ceil(guess), low + 1), high - 1)
        value, theta = terms.deviance_and_tilt(start + middle * span)
        low, high = (low, middle) if value >= least else (middle, high)
        guess = middle + (least - value) / (2.0 * theta * span) if theta > 0 else high
    return start + high * span
