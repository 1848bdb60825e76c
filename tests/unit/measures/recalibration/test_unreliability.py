"""The unreliability index is the likelihood ratio, less its mean, for each row."""

import math

import numpy as np
import pytest

from caltest import DegenerateDataWarning, Predictions
from caltest.datasets import generative_model
from caltest.measures import cox, unreliability
from caltest.measures.recalibration.cox import Unreliability


@pytest.mark.parametrize(("m", "df"), [(2, 2), (4, 4)])
def test_index_is_the_ratio_less_its_degrees_of_freedom(m, df):
    """Per row, and its limit law is that of the ratio."""
    data = generative_model("M2", n=150, m=m, alpha=1.0, rng=0)
    assert unreliability(data) == pytest.approx((cox(data) - df) / 150, rel=1e-12)
    limit = Unreliability().limit(data)
    assert limit.statistic == pytest.approx(cox(data), rel=1e-12)
    assert limit.estimate == pytest.approx(unreliability(data), rel=1e-12)


def test_constant_predictions_have_one_degree_of_freedom():
    data = Predictions(np.full(40, 0.5), np.arange(40) % 4 == 0)
    expected = (80 * (0.25 * math.log(0.5) + 0.75 * math.log(1.5)) - 1) / 40
    with pytest.warns(DegenerateDataWarning, match="no slope can be estimated"):
        assert unreliability(data) == pytest.approx(expected)


def test_equal_weights_change_nothing():
    """N is the sum of the weights over their mean."""
    data = generative_model("M2", n=30, m=2, alpha=1.0, rng=0)
    twice = Predictions(data.probs, data.labels, sample_weight=np.full(30, 2.0))
    assert unreliability(twice) == pytest.approx((cox(data) - 2) / 30)
