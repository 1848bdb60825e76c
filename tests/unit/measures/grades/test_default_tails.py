"""Tails of the number of defaults: independent, and given one factor."""

import math

import pytest
from scipy import integrate, stats

from caltest.measures.grades.grade import (
    binomial_tails,
    certain_tails,
    factor_limit_tails,
    factor_tails,
)

pytestmark = pytest.mark.loops

GRADES = [(0, 10, 0.1), (10, 10, 0.1), (3, 50, 0.02), (30, 100, 0.01), (1, 1, 0.5)]


def factor_tail(d, n, pd, correlation):
    """Integrate the binomial tail over the factor with QUADPACK."""

    def integrand(z):
        x = (stats.norm.ppf(pd) + math.sqrt(correlation) * z) / math.sqrt(1 - correlation)
        return stats.norm.pdf(z) * stats.binom.sf(d - 1, n, stats.norm.cdf(x))

    return integrate.quad(integrand, -12, 12, limit=2000, epsabs=1e-15, epsrel=1e-12)[0]


@pytest.mark.cases(1)
@pytest.mark.parametrize("correlation", [1e-4, 0.05, 0.24, 0.9])
@pytest.mark.parametrize(("d", "n", "pd"), GRADES)
def test_factor_tails_are_those_of_quadpack(d, n, pd, correlation):
    """P(D >= d) and 1 - P(D >= d + 1)."""
    upper, lower = factor_tails(d, n, pd, correlation)
    assert upper == pytest.approx(factor_tail(d, n, pd, correlation), rel=1e-9)
    assert lower == pytest.approx(1 - factor_tail(d + 1, n, pd, correlation), abs=1e-12)


@pytest.mark.parametrize("correlation", [1e-6, 0.01, 0.3, 0.99])
@pytest.mark.parametrize("n", [100, 10**6, 10**9])
def test_factor_tails_add_up(n, correlation):
    """P(D <= d) + P(D >= d + 1) = 1 to 8 digits, for a billion obligors too."""
    for d in (0, n // 1000 + 1, n // 3):
        total = factor_tails(d, n, 0.002, correlation)[1]
        total += factor_tails(d + 1, n, 0.002, correlation)[0]
        assert total == pytest.approx(1.0, abs=1e-8)


def test_factor_tails_tend_to_the_binomial_ones_and_to_the_limit_law():
    """As the correlation vanishes, and as n grows."""
    small = factor_tails(7, 100, 0.03, 1e-9)
    assert small == pytest.approx(binomial_tails(7, 100, 0.03), rel=1e-5)
    large = factor_tails(2 * 10**7, 10**9, 0.01, 0.12)
    assert large == pytest.approx(factor_limit_tails(2 * 10**7, 10**9, 0.01, 0.12), rel=1e-6)


def test_limit_tails_of_no_default_and_of_nothing_but_defaults():
    """They are the ends of the law."""
    assert factor_limit_tails(0, 10, 0.1, 0.2) == (1.0, 0.0)
    assert factor_limit_tails(10, 10, 0.1, 0.2) == (0.0, 1.0)


def test_far_tail_keeps_its_precision():
    """Half of a million obligors with PD 0.1 %: the logarithm is that of the limit law."""
    upper = factor_tails(500_000, 10**6, 0.001, 0.01)[0]
    limit = factor_limit_tails(500_000, 10**6, 0.001, 0.01)[0]
    assert math.log(upper) == pytest.approx(math.log(limit), rel=1e-3)


@pytest.mark.parametrize(
    ("d", "pd", "tails"), [(0, 0.0, (1, 1)), (2, 0.0, (0, 1)), (5, 1.0, (1, 1)), (4, 1.0, (1, 0))]
)
def test_certain_defaults_have_tails_of_0_and_1(d, pd, tails):
    assert certain_tails(d, 5, pd) == tails
