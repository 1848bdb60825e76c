"""P-values of functions of a sum of independent terms, one for each row, without resamples."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome
from caltest.nulls.base import NOT_A_NUMBER, Draws, Null, check_applicable, described
from caltest.numerics import tilting
from caltest.numerics.tilting import LONGEST, Terms
from caltest.predictions import Predictions

Tail = Callable[[Terms, float, float], float]  # P(S >= x) of terms, x and the span of their lattice
Words = Callable[[Terms, float, float], tuple[str, tuple[str, ...]]]  # of the same, with notes

ROUGH = 0.2  # share of one row in the variance from which on errors of 10 % and more occur
EXACT = "exact distribution of the number of events (Poisson-binomial)"
FEW = 12.0  # rows with another label than the most probable, below which they occur too


def sum_test(
    measure: Measure, predictions: Predictions, draws: Draws, *, key: str, tail: Tail, words: Words
) -> Outcome:
    """Test a measure by the tails of the sum that it is a function of."""
    check_applicable(measure, key)
    bound = measure.bind(predictions)
    statistic = bound.value()
    rows = measure.row_terms(predictions)
    terms = Terms.of(rows.table, bound.predictions.probs)
    if math.isnan(statistic):
        raise NotApplicable(*NOT_A_NUMBER)
    span = tilting.lattice_span(terms)
    x = rows.observed
    text, notes = words(terms, x, span)
    own = {"null_text": text, "notes": (*bound.notes, *notes)}
    if rows.by_likelihood:
        pvalue = _as_unlikely(terms, x, span, tail)
    elif measure.alternative == "greater":
        pvalue = tail(terms, x, span)
    else:
        terms, x = (terms, x) if x > terms.mean else (terms.negative, -x)
        pvalue = 2.0 * tail(terms, x, span)
        # Both tails hold the probability of x itself: the other can be smaller near the mean alone.
        if pvalue >= 0.8:
            pvalue = min(1.0, pvalue, 2.0 * tail(terms.negative, -x, span))
    return Outcome(pvalue=pvalue, **described(measure, bound, statistic) | own)


def _as_unlikely(terms: Terms, x: float, span: float, tail: Tail) -> float:
    """Return the probability of sums whose deviance is at least that of x, on both sides."""
    if abs(x - terms.mean) <= terms.slack or span == 0:
        return float(abs(x - terms.mean) <= terms.slack)
    if x < terms.mean:
        return _as_unlikely(terms.negative, -x, span, tail)
    deviance, _ = terms.deviance(x)
    other = _other_side(terms.negative, deviance, span) if math.isfinite(deviance) else None
    beyond = 0.0 if other is None else tail(terms.negative, other, span)
    return min(1.0, tail(terms, x, span) + beyond)


def _other_side(terms: Terms, deviance: float, span: float) -> float | None:
    """Return the smallest value above the mean with at least that deviance; None for none.

    The deviance is convex, so that Newton's method comes down to the value from above.
    """
    least = deviance * (1.0 - 1e-9)
    if terms.deviance(terms.largest)[0] < least:
        return None
    start = -terms.negative.largest
    low, high = math.floor((terms.mean - start) / span), round((terms.largest - start) / span)
    guess = (terms.mean + terms.sd * math.sqrt(deviance) - start) / span
    while high - low > 1:
        middle = min(max(math.ceil(guess), low + 1), high - 1)
        value, theta = terms.deviance(start + middle * span)
        low, high = (low, middle) if value >= least else (middle, high)
        guess = middle + (least - value) / (2.0 * theta * span) if theta > 0 else high
    return start + high * span


def exact_tail(terms: Terms, x: float, span: float) -> float:
    r"""Return P(S >= x) by convolution: of a number of events, the Poisson-binomial tail.

    It is that of the exact null: predictions are held fixed, and labels are independent,
    :math:`y_i \sim Cat(p_i)`. The number of events has the generating function :math:`\prod_i (1 -
    p_i + p_i z)`, whose coefficients are computed by convolution of the rows, in pairs and then
    pairs of pairs. The probabilities are tilted first, so that the observed number is the expected
    one and its tail keeps its digits however small it is.

    With integer sample weights it is the distribution of the weighted number.

    References
    ----------
    Hong (2013), On computing the distribution function for the Poisson binomial distribution,
    Computational Statistics and Data Analysis 59; Peres, Lee, Keich (2021), Exactly computing the
    tail of the Poisson-binomial distribution, ACM Transactions on Mathematical Software 46
    (tilting).
    """
    if terms.sd > 0 and not span:
        raise NotApplicable(
            f"null 'convolution' needs a sum over at most {LONGEST:,} points of a lattice, as that "
            "of events with integer weights is",
            "use null='saddlepoint'",
        )
    return tilting.convolved_tail(terms, x, span)


def smooth_tail(terms: Terms, x: float, span: float) -> float:
    r"""Return P(S >= x) of redrawn labels, approximated at a saddlepoint.

    It is for the same null distribution as the exact null: predictions are held fixed, and labels
    are independent, :math:`y_i \sim Cat(p_i)`. With :math:`K(\theta) = \sum_i \log \sum_k p_{ik}
    e^{\theta s_i(k)}` and :math:`K'(\theta) = x`,

    .. math:: P(S \ge x) \approx 1 - \Phi(w) + \phi(w) \left(\frac1u - \frac1w\right), \quad
        w = \pm\sqrt{2 (\theta x - K(\theta))}, \quad u = \theta \sqrt{K''(\theta)},

    and where the scores lie on a lattice of a span d, with the correction for continuity
    :math:`u = (1 - e^{-\theta d}) \sqrt{K''(\theta)} / d`. The relative error is small however
    small the p-value is: of the order 1 / n for n rows that count alike. Where few rows make up
    the sum, its distribution has steps; there the terms are convolved instead, if need be rounded
    to a fine lattice.

    References
    ----------
    Lugannani, Rice (1980), Saddle point approximation for the distribution of the sum of
    independent random variables, Advances in Applied Probability 12; Daniels (1987), Tail
    probability approximations, International Statistical Review 55, section 6 (lattices).
    """
    fine = _convolvable(terms, x, span)
    if not fine:
        return tilting.saddlepoint_tail(terms, x, span)
    return tilting.convolved_tail(terms, x, span) if span else tilting.fine_tail(terms, x, fine)


def _convolvable(terms: Terms, x: float, span: float) -> float | None:
    """Return the span of the lattice that the terms can be convolved on; 0 for none.

    None where they are so many that a smooth approximation is not rough.
    """
    if not (0.0 < terms.changes(x) < FEW or terms.largest_share(x) > ROUGH):
        return None
    if not span:
        return tilting.fine_span(terms, x)
    points = float((terms.values.max(axis=1) - terms.values.min(axis=1)).sum()) / span
    return span if points <= tilting.FINE else 0.0


def smooth_words(terms: Terms, x: float, span: float) -> tuple[str, tuple[str, ...]]:
    """Return the distribution in words, and where a sum has too few terms to be smooth, a note."""
    lattice = f", on a lattice of span {span:.4g}" if span else ""
    text = f"approximation of the sum over rows{lattice}"
    fine = _convolvable(terms, x, span)
    if fine is None:
        return text, ()
    if fine:
        why = "few rows make up the sum: its terms are convolved, no approximation is needed"
        return text, (why,)
    why = "few rows make up the sum: the approximation is rough, and null='exact' is not"
    return text, () if span else (why,)


CONVOLUTION = Null(
    "convolution",
    "exact distribution of the number of events (Poisson-binomial); valid at every n",
    partial(sum_test, key="convolution", tail=exact_tail, words=lambda *_: (EXACT, ())),
    resamples=False,
)
SADDLEPOINT = Null(
    "saddlepoint",
    "saddlepoint approximation of a sum over rows; small p-values without resamples",
    partial(sum_test, key="saddlepoint", tail=smooth_tail, words=smooth_words),
    resamples=False,
)
