"""The binomial test of a rating grade."""

import numpy as np
import pytest
from scipy import stats

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.measures.grades.grade import Binomial


def grade(pd, n, defaults):
    return Predictions(np.full(n, pd), (np.arange(n) < defaults).astype(int))


def test_closed_form_is_scipys_one_sided_test():
    """P(D >= 7) for 100 obligors with PD 3 %."""
    result = calibration_test(grade(0.03, 100, 7), test="binomial", null="closed-form")
    expected = stats.binomtest(7, 100, 0.03, alternative="greater").pvalue
    assert result.pvalue == pytest.approx(expected, rel=1e-12)


def test_two_sided_is_twice_the_smaller_tail():
    """R's and SciPy's sum the less probable numbers instead."""
    law = Binomial(alternative="two-sided").closed_form(grade(0.5, 20, 4))
    assert law.pvalue == pytest.approx(2 * stats.binom.cdf(4, 20, 0.5), rel=1e-12)
    assert Binomial(alternative="two-sided").closed_form(grade(0.5, 20, 10)).pvalue == 1.0


def test_exact_null_tends_to_the_binomial_tail():
    """Where all predictions are equal, within 5 standard errors of B = 9999 resamples."""
    data = grade(0.03, 100, 7)
    exact = calibration_test(data, test="binomial", null="exact", n_resamples=9999, rng=0)
    tail = stats.binom.sf(6, 100, 0.03)
    assert abs(exact.pvalue - tail) < 5 * np.sqrt(tail / 1e4)


def test_binomial_law_is_wider_than_that_of_unequal_predictions():
    """A sum of unequal Bernoullis varies less, so that a rare number is more probable."""
    data = Predictions(np.repeat([0.01, 0.6], 30), np.repeat([0, 1, 0, 1], [29, 1, 6, 24]))
    binomial = calibration_test(data, test="binomial", null="closed-form")
    exact = calibration_test(data, test="binomial", null="exact", n_resamples=1999, rng=0)
    assert exact.pvalue < binomial.pvalue
