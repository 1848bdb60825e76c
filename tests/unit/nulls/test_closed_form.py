"""Laws with a formula at every n: what the measure knows, passed on."""

import pytest
from scipy import stats

from caltest import NotApplicable, Predictions
from caltest.measures import SKCE
from caltest.measures.grades.grade import Binomial


def test_closed_form_is_what_the_measure_says(outcome_of):
    outcome = outcome_of("closed-form", Binomial(), Predictions([0.1] * 20, [0] * 15 + [1] * 5))
    assert outcome.pvalue == pytest.approx(stats.binom.sf(4, 20, 0.1), rel=1e-12)
    assert (outcome.statistic, outcome.estimate) == (5.0, 0.25)
    assert outcome.distribution is outcome.replicates is None


def test_measure_without_a_formula_is_not_applicable(outcome_of):
    """The message lists the nulls that have a meaning."""
    with pytest.raises(NotApplicable, match=r"'closed-form' has no meaning for .*'exact'"):
        outcome_of("closed-form", SKCE(), Predictions([0.2, 0.7], [0, 1]))
    with pytest.raises(NotApplicable, match=r"no null distribution in closed form; .*'exact'"):
        SKCE().closed_form(Predictions([0.2, 0.7], [0, 1]))


def test_closed_form_takes_no_weights(outcome_of):
    """A count of weights is not binomial."""
    weighted = Predictions([0.2, 0.7], [0, 1], sample_weight=[1, 2])
    with pytest.raises(NotApplicable, match="takes no weights; use"):
        outcome_of("closed-form", Binomial(), weighted)


def test_pvalue_that_underflows_is_positive(outcome_of):
    outcome = outcome_of("closed-form", Binomial(), Predictions([0.01] * 2000, [1] * 2000))
    assert 0 < outcome.pvalue < 1e-300
