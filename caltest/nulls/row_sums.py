"""P-values of statistics that are functions of a sum of independent terms, one for each row."""

from __future__ import annotations

import math
from collections.abc import Callable

from caltest.errors import NotApplicable
from caltest.measures.base import Measure, Outcome, RowTerms
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
    n_jobs: int | None,
) -> Outcome:
    """Test a measure by the tails of the sum that it is a function of.

    Parameters
    ----------
    key : str
        That of the null.
    measure, predictions
        What is tested.
    tail : callable
        `tail(terms, x, span)`: P(S >= x) of a sum of terms on a lattice, or with span 0 on none.
    words : callable
        The null distribution in words, for a span.
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
        notes=bound.notes,
        degenerate=bound.degenerate,
    )


def _pvalue(terms: Terms, rows: RowTerms, alternative: str, span: float, tail: Tail) -> float:
    x = rows.observed
    if rows.by_likelihood:
        return _as_unlikely(terms, x, span, tail)
    upper = tail(terms, x, span)
    if alternative == "greater":
        return upper
    return min(1.0, 2.0 * min(upper, tail(terms.negative, -x, span)))


def _as_unlikely(terms: Terms, x: float, span: float, tail: Tail) -> float:
    """Return the probability of sums whose deviance is at least that of x, on both sides."""
    if abs(x - terms.mean) <= terms.slack or span == 0:
        return float(abs(x - terms.mean) <= terms.slack)
    if x < terms.mean:
        return _as_unlikely(terms.negative, -x, span, tail)
    other = _other_side(terms.negative, terms.deviance(x), span)
    beyond = 0.0 if other is None else tail(terms.negative, other, span)
    return min(1.0, tail(terms, x, span) + beyond)


def _other_side(terms: Terms, deviance: float, span: float) -> float | None:
    """Return the smallest value above the mean with at least that deviance; None for none."""
    least = deviance * (1.0 - 1e-9)
    if terms.deviance(terms.largest) < least:
        return None
    reach = round((terms.largest + terms.negative.largest) / span)
    low = int((terms.mean + terms.negative.largest) // span)  # at or below the mean
    high = reach
    while high - low > 1:
        middle = (low + high) // 2
        enough = terms.deviance(middle * span - terms.negative.largest) >= least
        low, high = (low, middle) if enough else (middle, high)
    return high * span - terms.negative.largest
