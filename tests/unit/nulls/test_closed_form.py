"""Laws with a formula at every n: what the measure knows, passed on."""

import pytest
from scipy import stats

from caltest import Predictions
from caltest.measures.grades.grade import Binomial


def test_closed_form_is_what_the_measure_says(outcome_of):
    outcome = outcome_of("closed-form", Binomial(), Predictions([0.1] * 20, [0] * 15 + [1] * 5))
    assert outcome.pvalue == pytest.approx(stats.binom.sf(4, 20, 0.1), rel=1e-12)
    assert (outcome.statistic, outcome.estimate) == (5.0, 0.25)
    assert outcome.distribution is outcome.replicates is None
