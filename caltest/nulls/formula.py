"""Nulls with a formula: limits for large n, closed forms, and inequalities that hold at every n."""

from __future__ import annotations

from functools import partial

from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome
from caltest.nulls.base import Draws, Null, check_applicable, check_unweighted
from caltest.predictions import Predictions


def formula_test(
    measure: Measure, predictions: Predictions, draws: Draws, *, key: str, formula: str
) -> Outcome:
    r"""Test a measure by a distribution that it knows; nothing is resampled.

    - "asymptotic": its limiting distribution. The linear and block SKCE have a normal limit with
      the sample standard deviation of their block values (ddof = 1), Widmann et al. (2019), lemma
      3; the unbiased SKCE has a Pearson curve with its variance and skewness.
    - "closed-form": its distribution at every n, under assumptions that the measure states: equal
      probabilities within a grade, a default correlation, an inequality that holds for every model.
    - "distribution-free": an upper bound on the p-value, for the SKCE and its square roots. With
      :math:`B = 2^{1 + 1/p - 1/q} K_{p;q} \ge |h_{ij}|`, the smallest that can be computed exactly,
      and t the estimate (0 where it is negative):

      - biased: :math:`\exp(-\max(0, \sqrt{n t / B} - 1)^2 / 2)`;
      - unbiased: :math:`\exp(-\lfloor n/2 \rfloor t^2 / (2 B^2))`;
      - blocks of b: :math:`\lfloor n/b \rfloor \lfloor b/2 \rfloor` in place of
        :math:`\lfloor n/2 \rfloor`;
      - KCE and MMCE: t is their square, the biased SKCE of their kernel.

      It is valid at every n, for every model, and very conservative.

    References
    ----------
    Widmann et al. (2019), lemma 2.
    """
    check_applicable(measure, key)
    outcome: Outcome = getattr(measure, formula)(predictions)
    check_unweighted(predictions, key)
    return outcome


def formula_null(key: str, title: str, formula: str) -> Null:
    """Return the null of a formula that a measure has, the name of its member."""
    return Null(key, title, partial(formula_test, key=key, formula=formula), resamples=False)


ASYMPTOTIC = formula_null("asymptotic", "limiting distribution for large n", "limit")
CLOSED_FORM = formula_null("closed-form", "a formula that holds at every n", "closed_form")
DISTRIBUTION_FREE = formula_null(
    "distribution-free",
    "concentration inequality for the SKCE and its roots; valid at every n, very conservative",
    "concentration_bound",
)
