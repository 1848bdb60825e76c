"""Intervals of a default rate, compared with those of statsmodels and SciPy."""

import numpy as np
import pytest
from scipy.stats import beta
from statsmodels.stats.proportion import proportion_confint

from caltest import NotApplicable, Predictions
from caltest.measures.grades.grade import SHORT, Binomial, Jeffreys, Normal, Vasicek

OPTIONS = {"level": 0.9}


def grade(defaults, n=50):
    """Make a grade with a PD of 3 %."""
    return Predictions(np.full(n, 0.03), np.arange(n) < defaults, classes=[False, True])


@pytest.mark.parametrize("defaults", [1, 7, 49])
@pytest.mark.parametrize(
    ("measure", "method"), [(Binomial(), "beta"), (Jeffreys(), "jeffreys"), (Normal(), "wilson")]
)
def test_ends_are_those_of_statsmodels(measure, method, defaults):
    found = measure.own_interval(grade(defaults), **OPTIONS)
    expected = proportion_confint(defaults, 50, alpha=0.1, method=method)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)
    assert found.estimate == defaults / 50


@pytest.mark.parametrize("measure", [Binomial(), Jeffreys(), Normal(), Vasicek(correlation=0.1)])
def test_no_default_and_nothing_but_defaults_leave_one_end_open(measure):
    """No rate is too small for none, or too large for all."""
    assert measure.own_interval(grade(0), **OPTIONS).low == 0.0
    assert measure.own_interval(grade(50), **OPTIONS).high == 1.0


def test_upper_end_without_a_default_is_that_of_the_beta_law():
    found = Binomial().own_interval(grade(0), **OPTIONS)
    assert found.high == pytest.approx(beta.ppf(0.95, 1, 50), rel=1e-9)


def test_correlation_makes_the_interval_wider():
    """A year tells less about the rate; without correlation it is the binomial one."""
    one, two = (Vasicek(correlation=c).own_interval(grade(7), **OPTIONS) for c in (0.0, 0.2))
    binomial = Binomial().own_interval(grade(7), **OPTIONS)
    assert (one.low, one.high) == (binomial.low, binomial.high)
    assert two.low < one.low < one.high < two.high


def test_ends_of_correlated_defaults_are_those_that_the_test_does_not_reject():
    """The tails there are 5 % each."""
    measure = Vasicek(correlation=0.2)
    found = measure.own_interval(grade(7), **OPTIONS)
    tails = measure.tails(7, 50, found.low)[0], measure.tails(7, 50, found.high)[1]
    assert tails == pytest.approx((0.05, 0.05), rel=1e-8)


def test_weights_are_not_counted():
    """Defaults are counted, and weights are not."""
    data = Predictions(np.full(5, 0.1), [0, 1, 0, 0, 0], sample_weight=np.arange(1.0, 6.0))
    with pytest.raises(NotApplicable, match="its null distribution takes no weights"):
        Binomial().own_interval(data, **OPTIONS)


def test_normal_law_of_few_defaults_says_so():
    notes = [Normal().own_interval(grade(d), **OPTIONS).notes for d in (7, 15)]
    assert notes == [(SHORT,), ()]
    assert not Binomial().own_interval(grade(7), **OPTIONS).notes
