"""Credit-risk tests: tails of any grade, against SciPy and against each other."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from caltest import test_master_scale as master_scale_test
from caltest.measures.grades.grade import Jeffreys, binomial_tails, factor_tails

rates = st.floats(1e-6, 1 - 1e-6)


@st.composite
def grades(draw, largest=10**6):
    """Return defaults, obligors and a PD."""
    n = draw(st.integers(1, largest))
    return draw(st.integers(0, n)), n, draw(rates)


@given(grades())
def test_binomial_tails_are_scipys(grade):
    d, n, pd = grade
    law = stats.binom(n, pd)
    assert binomial_tails(d, n, pd) == pytest.approx((law.sf(d - 1), law.cdf(d)), rel=1e-8)


@given(grades())
def test_jeffreys_tails_are_those_of_a_beta_law(grade):
    """At least 1/2 where nobody defaults, or everybody: that is no evidence for more, or fewer."""
    d, n, pd = grade
    law = stats.beta(d + 0.5, n - d + 0.5)
    tails = max(law.cdf(pd), 0.5 * (d == 0)), max(law.sf(pd), 0.5 * (d == n))
    assert Jeffreys().tails(d, n, pd) == pytest.approx(tails, rel=1e-10)


@given(grades(), st.floats(1e-4, 0.95))
def test_factor_tails_overlap_by_the_observed_number(grade, correlation):
    """P(D >= d) + P(D <= d) is 1 and the probability of d, which is P(D >= d) - P(D >= d + 1)."""
    d, n, pd = grade
    upper, lower = factor_tails(d, n, pd, correlation)
    beyond = factor_tails(d + 1, n, pd, correlation)[0] if d < n else 0.0
    assert beyond <= upper * (1 + 1e-9) <= 1 + 1e-9
    assert lower == pytest.approx(1.0 - beyond, abs=1e-7)


@given(grades(200), st.floats(0.001, 0.9))
def test_factor_tails_swap_with_default_and_survival(grade, correlation):
    """Counting survivors instead of defaults swaps the tails."""
    d, n, pd = grade
    upper, lower = factor_tails(d, n, pd, correlation)
    swapped = factor_tails(n - d, n, 1.0 - pd, correlation)
    assert swapped == pytest.approx((lower, upper), abs=1e-9)


@settings.get_profile("few")
@given(st.lists(grades(), min_size=1, max_size=6))
def test_any_master_scale_has_pvalues_and_lights(table):
    """In (0, 1], and a colour for each row."""
    defaults, n, pd = zip(*table, strict=True)
    tests = ["binomial", "jeffreys", "vasicek"]
    result = master_scale_test(pd, defaults, n, test=tests, correction=None)
    assert ((result.pvalues > 0) & (result.pvalues <= 1)).all()
    assert len(result.traffic_lights) == len(result) == 3 * len(pd)
    assert all(0 < together.pvalue <= 1 for together in result.omnibus)
