"""The Jeffreys test of a rating grade."""

import numpy as np
import pytest
from scipy import stats

from caltest import Predictions
from caltest.measures.grades.grade import Binomial, Jeffreys


def grade(pd, n, defaults):
    return Predictions(np.full(n, pd), (np.arange(n) < defaults).astype(int))


def test_pvalue_is_the_posterior_probability_of_at_most_pd():
    """The distribution function of Beta(7.5, 93.5) at 3 %."""
    pvalue = Jeffreys().closed_form(grade(0.03, 100, 7)).pvalue
    assert pvalue == pytest.approx(stats.beta.cdf(0.03, 7.5, 93.5), rel=1e-12)


def test_two_sided_takes_the_smaller_posterior_tail():
    pvalue = Jeffreys(alternative="two-sided").closed_form(grade(0.5, 20, 2)).pvalue
    assert pvalue == pytest.approx(2 * stats.beta.sf(0.5, 2.5, 18.5), rel=1e-12)


@pytest.mark.parametrize("defaults", [0, 1, 5, 30])
def test_pvalue_is_not_above_the_binomial_one(defaults):
    """The Jeffreys interval lies in that of Clopper and Pearson."""
    data = grade(0.05, 30, defaults)
    jeffreys, binomial = (measure.closed_form(data).pvalue for measure in (Jeffreys(), Binomial()))
    assert 0 < jeffreys < binomial
