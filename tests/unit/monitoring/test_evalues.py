"""E-values: means, products, closed testing, and the comparison of two forecasts."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, log_expit
from scipy.stats import gamma

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.monitoring import adjust_evalues, comparison_evalues
from caltest.monitoring.evalues import (
    BEST_AT,
    adjust_log_evalues,
    exponents_left,
    log_mixture,
    mean_half_width,
)
from caltest.monitoring.stream import SLOPES


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=7))
def test_adjustment_is_closed_testing_with_means(values):
    subsets = [
        subset
        for size in range(1, len(values) + 1)
        for subset in itertools.combinations(range(len(values)), size)
    ]
    expected = [
        min(np.mean([values[j] for j in subset]) for subset in subsets if i in subset)
        for i in range(len(values))
    ]
    np.testing.assert_allclose(adjust_evalues(values), expected, rtol=1e-12)


def test_comparison_reproduces_published_evalues():
    """First e-values of Frankfurt, lag 1 day, of Henzi and Ziegel's precipitation forecasts.

    Running products in eprob/replication_material/precip_fcs/evalues_lag1.csv of
    yjchoe/ComparingForecasters, which R's eprob computed.
    """
    hclr = [0.776420702298459, 0.969129099077042, 0.3092201745632]
    idr = [0.5, 0.9292, 0.14286]
    products = np.cumprod(comparison_evalues(idr, hclr, [1, 1, 0]))
    expected = [1.10827962199325, 1.11993529509364, 1.05975367969935]
    np.testing.assert_allclose(products, expected, rtol=1e-10)


@pytest.mark.parametrize("score", ["brier", "log"])
def test_comparison_has_mean_one_where_both_are_as_good(score):
    """At the probability at which both forecasts have the same expected score, and less beyond."""
    p, q = 0.3, 0.8
    loss = (
        (lambda f, y: (f - y) ** 2) if score == "brier" else (lambda f, y: -np.log(abs(1 - y - f)))
    )
    gain = [loss(p, y) - loss(q, y) for y in (0, 1)]
    even = -gain[0] / (gain[1] - gain[0])
    wins = comparison_evalues([p, p], [q, q], [0, 1], score=score)
    assert (1 - even) * wins[0] + even * wins[1] == pytest.approx(1.0)
    assert (1 - even / 2) * wins[0] + even / 2 * wins[1] < 1.0
    np.testing.assert_array_equal(comparison_evalues([p], [p], [1], score=score), [1.0])


def test_comparison_of_certain_forecasts_wins_nothing_where_the_first_is_as_good():
    """A log score of a certain forecast is infinite unless it is right: the limit decides.

    So is it of forecasts that differ by rounding, whose logarithms do not tell them apart.
    """
    for p, q in ((0.3, 1.0), (0.3, 0.0), (0.0, 1.0), (1.0, 0.0)):  # the second can only be as good
        np.testing.assert_array_equal(comparison_evalues([p, p], [q, q], [0, 1], score="log"), 1.0)
    won = comparison_evalues([0.0, 0.0, 1.0, 1.0], [0.3] * 4, [0, 1, 0, 1], score="log")
    np.testing.assert_allclose(won, [0.775, np.inf, np.inf, 0.475])  # of a first that was wrong
    p = 0.3
    wins = comparison_evalues([p, p], [np.nextafter(p, 1.0)] * 2, [0, 1], score="log")
    assert (1 - p) * wins[0] + p * wins[1] == pytest.approx(1.0, abs=1e-12)


def test_combination_refuses_what_is_no_evalue():
    """Negative numbers, none, weights of a product."""
    for values in ([], [-1.0], [np.nan], [[1.0]]):
        with pytest.raises(InvalidInput):
            ct.combine_evalues(values)
    with pytest.raises(InvalidInput, match="weights"):
        ct.combine_evalues([1.0], method="product", weights=[1.0])
    with pytest.raises(InvalidInput, match=r"^weights must be finite"):
        ct.combine_evalues([1.0, 2.0], weights=[1.0, -1.0])
    with pytest.raises(InvalidInput, match=r"\[0, 1\]; got 1\.2;"):
        comparison_evalues([0.2], [1.2], [1])
    assert ct.combine_evalues([0.0, np.inf], method="product") == 0.0
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        product = ct.combine_evalues(
            np.array([1e-200, 1e-200, 1e300, 1e300])[order], method="product"
        )
        assert product == pytest.approx(1e200)
    assert ct.combine_evalues([1.0, 3.0], weights=[3.0, 1.0]) == 1.5
    assert ct.combine_evalues([1.0, np.inf], weights=[1.0, 0.0]) == 1.0
    assert ct.combine_evalues([1e308] * 3) == 1e308
    assert ct.combine_evalues([1.0, 2.0], weights=[1e308, 1e308]) == 1.5
    assert adjust_evalues([1.7e308, 0.9e308])[0] == pytest.approx(1.3e308)
    with pytest.raises(NotApplicable, match="restart=True is no e-value"):
        ct.combine_evalues([ct.monitor(restart=True)])


@given(st.lists(st.floats(1e-5, 1e5), min_size=1, max_size=6))
def test_adjustment_by_logarithms_is_that_of_the_evalues(values):
    """Which may be too large to be written."""
    found = np.exp(adjust_log_evalues(np.log(values)))
    np.testing.assert_allclose(found, adjust_evalues(values), rtol=1e-10)


def test_evalue_of_too_many_digits_is_refused():
    with pytest.raises(InvalidInput, match="more than 300 digits"):
        ct.combine_evalues([10**400])


# ---- confidence sequences -----------------------------------------------------------------------


@pytest.mark.parametrize(("squares", "rows", "level"), [(3.0, 20, 0.1), (40.0, 300, 0.05)])
def test_boundary_is_where_the_mixture_reaches_the_threshold(squares, rows, level):
    """The mixture of exp(l s - psi(l) v) over l in [0, 1), integrated numerically."""
    target = math.log(2.0 / level)
    rho = BEST_AT / (2.0 * target + math.log1p(2.0 * target))
    s = mean_half_width(squares, rows, level) * rows

    def density(x):  # 1 - l has a gamma distribution, cut off at 1
        return gamma.pdf(1.0 - x, rho, scale=1.0 / rho) / gamma.cdf(1.0, rho, scale=1.0 / rho)

    def integrand(x):
        psi = -math.log1p(-x) - x
        return density(x) * math.exp(x * s - psi * squares)

    mixture = quad(integrand, 0.0, 1.0, limit=200)[0]
    assert math.log(mixture) == pytest.approx(target, abs=1e-6)
    near = log_mixture([0.999 * s, 1.001 * s], squares, level)
    assert near[0] < target < near[1]


@pytest.mark.full
def test_exponents_between_the_grid_are_kept():
    """The ends hold all exponents whose likelihood is above the bound, and few others."""
    rng = np.random.default_rng(1)
    grid = np.geomspace(0.2, 5.0, 501)
    for n, true in ((30, 1.0), (300, 0.5), (3000, 1.7), (20_000, 0.63)):
        odds = rng.normal(0.0, 1.5, n)
        y = rng.random(n) < expit(true * odds)

        signed = np.where(y, odds, -odds)

        def log_likelihood(b, signed=signed):
            return np.array([log_expit(one * signed).sum() - log_expit(signed).sum() for one in b])

        fine = log_likelihood(grid)
        kept = grid[fine >= fine.max() + math.log(0.05)]
        low, high = exponents_left(SLOPES, log_likelihood(SLOPES), fine.max(), 0.05)
        assert low <= kept.min()
        assert high >= kept.max()
        assert math.log(high / low) < math.log(kept.max() / kept.min()) + 0.35


def test_none_is_left_where_no_exponent_fits():
    """Of an alternative that is far better than any."""
    wealth = -1000.0 * (SLOPES - 1.0) ** 2
    assert exponents_left(SLOPES, wealth, 500.0, 0.05) is None
    assert exponents_left(SLOPES, 0.0 * wealth, 0.0, 0.05) == (0.0, math.inf)
