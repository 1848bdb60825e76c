"""Numbers of rows against pmvalsampsize 0.2.1 of Python.

The calls are

    pmvalsampsize(type="b", prevalence=0.018, cstatistic=0.8, lpnormal=(-5, 2.5), oeciwidth=1)
    pmvalsampsize(type="b", prevalence=0.43, cstatistic=0.8, lpbeta=(1.33, 1.75))

and print 905 and 510 for O/E, 4544 and 2136 for the slope. It simulates a million linear predictors
and finds the standard error of O/E on a grid of 0.0001.
"""

import pytest
from scipy.special import expit
from scipy.stats import beta

import caltest as ct


def normal(rng, n):
    """Draw risks with log odds from N(-5, 2.5^2)."""
    return expit(rng.normal(-5, 2.5, n))


@pytest.mark.parametrize(
    ("law", "slope"),
    [(normal, 4544), (beta(1.33, 1.75), 2136)],
)
def test_rows_for_the_slope_are_those_of_pmvalsampsize(law, slope):
    """Criterion 2, a confidence interval of width 0.2."""
    result = ct.sample_size_for_precision(law, ratio_width=None, slope_width=0.2, rng=1)
    assert result.n == pytest.approx(slope, rel=0.01)


@pytest.mark.parametrize(("rate", "width", "n"), [(0.018, 1.0, 905), (0.43, 0.2, 510)])
def test_rows_for_the_ratio_are_those_of_pmvalsampsize(rate, width, n):
    """Criterion 1, which depends on the event rate alone."""
    result = ct.sample_size_for_precision([rate], ratio_width=width, slope_width=None)
    assert result.n == pytest.approx(n, rel=0.003)
