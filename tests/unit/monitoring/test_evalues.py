"""E-values: means, products, closed testing, and the comparison of two forecasts."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caltest as ct
from caltest.errors import InvalidInput
from caltest.monitoring import adjust_evalues, comparison_evalues
from caltest.monitoring.evalues import adjust_log_evalues


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


def test_combination_refuses_what_is_no_evalue():
    """Negative numbers, none, weights of a product."""
    for values in ([], [-1.0], [np.nan], [[1.0]]):
        with pytest.raises(InvalidInput):
            ct.combine_evalues(values)
    with pytest.raises(InvalidInput, match="weights"):
        ct.combine_evalues([1.0], method="product", weights=[1.0])
    with pytest.raises(InvalidInput, match=r"\[0, 1\]"):
        comparison_evalues([0.2], [1.2], [1])
    assert ct.combine_evalues([0.0, np.inf], method="product") == 0.0
    assert ct.combine_evalues([1.0, 3.0], weights=[3.0, 1.0]) == 1.5


@given(st.lists(st.floats(1e-5, 1e5), min_size=1, max_size=6))
def test_adjustment_by_logarithms_is_that_of_the_evalues(values):
    """Which may be too large to be written."""
    found = np.exp(adjust_log_evalues(np.log(values)))
    np.testing.assert_allclose(found, adjust_evalues(values), rtol=1e-10)


def test_evalue_of_too_many_digits_is_refused():
    with pytest.raises(InvalidInput, match="more than 300 digits"):
        ct.combine_evalues([10**400])
