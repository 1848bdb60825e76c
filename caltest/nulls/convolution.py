"""The exact distribution of a number of events, by convolution."""

from __future__ import annotations

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome
from caltest.nulls.base import Null
from caltest.nulls.row_sums import sum_test
from caltest.numerics.tilting import LONGEST, Terms, convolved_tail
from caltest.predictions import Predictions


def convolution_test(
    measure: Measure,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Outcome:
    r"""Test a number of events by its exact distribution, the Poisson-binomial.

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
    return sum_test("convolution", measure, predictions, tail=_tail, words=_words, n_jobs=n_jobs)


def _tail(terms: Terms, x: float, span: float) -> float:
    if terms.sd > 0 and not span:
        raise NotApplicable(
            f"null 'convolution' needs a sum over at most {LONGEST:,} points of a lattice, as that "
            "of events with integer weights is",
            "use null='saddlepoint'",
        )
    return convolved_tail(terms, x, span)


def _words(_span: float) -> str:
    return "exact distribution of the number of events (Poisson-binomial)"


NULL = Null(
    "convolution",
    "exact distribution of the number of events (Poisson-binomial); valid at every n",
    convolution_test,
    resamples=False,
)
