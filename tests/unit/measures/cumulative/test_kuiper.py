"""The Kuiper error, its scaling and its limit law."""

import pytest

from caltest import Predictions
from caltest.datasets import generative_model
from caltest.measures import ks_error, kuiper_error
from caltest.measures.cumulative.cumulative import KuiperError
from caltest.numerics.tails import range_sf


def test_range_counts_from_the_start_of_the_walk():
    """C_0 = 0 is one of the sums: all labels 1 give the mean residual, not less."""
    assert kuiper_error([0.2, 0.4], [1, 1]) == pytest.approx((0.8 + 0.6) / 2)


def test_deviations_of_both_signs_add_up():
    """Low scores too low and high scores too high: the KS error sees one of them."""
    data = Predictions([0.25, 0.25, 0.75, 0.75], [1, 1, 0, 0])
    assert ks_error(data) == 0.375
    assert kuiper_error(data) == 0.375
    data = Predictions([0.25, 0.5, 0.75], [1, 0, 0])
    assert ks_error(data) == pytest.approx(0.25)
    assert kuiper_error(data) == pytest.approx(1.25 / 3)


def test_limit_law_is_that_of_the_range():
    """Scaled or not, the p-value is that of the scaled error."""
    data = generative_model("M1", n=500, m=2, rng=0)
    statistic = kuiper_error(data, scaled=True)
    for scaled in (False, True):
        limit = KuiperError(scaled=scaled).limit(data)
        assert limit.statistic == pytest.approx(statistic, rel=1e-12)
        assert limit.pvalue == pytest.approx(range_sf(statistic), rel=1e-10)
