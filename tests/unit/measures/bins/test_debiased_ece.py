"""The squared error over bins without bias."""

import numpy as np
import pytest

from caltest import Predictions
from caltest.datasets import generative_model
from caltest.measures import DebiasedECE
from caltest.measures.bins.debiased_ece import binned_deviation, unseen_in_a_bin
from caltest.measures.tolerance import Tolerance
from caltest.nulls.tolerance import tolerance_null


def deviation_of(data, *, equivalence=False, **options):
    """Bind the debiased error and return its deviation."""
    return binned_deviation(DebiasedECE(**options).bind(data).units, equivalence=equivalence)


@pytest.mark.parametrize("m", [2, 3])
def test_deviation_is_the_mean_product_of_different_rows_in_a_bin(m):
    """Written out pair by pair, of the events for two classes."""
    data = generative_model("M2", n=80, m=m, alpha=1.0, rng=0)
    delta = np.eye(m)[data.labels] - data.probs
    delta = delta[:, 1:] if m == 2 else delta
    cells, count = DebiasedECE(bins=4).cells(data)
    total = 0.0
    for b in range(count):
        rows = delta[cells == b]
        h = rows @ rows.T
        total += (h.sum() - np.trace(h)) / max(len(rows) - 1, 1)
    assert deviation_of(data, bins=4).value == pytest.approx(total / 80)


def test_deviation_of_constant_predictions_is_the_debiased_error():
    """Where predictions do not vary in a bin, y and y - p have the same variance."""
    data = Predictions(np.repeat([0.2, 0.7], 20), np.arange(40) % 3 == 0)
    value = DebiasedECE(bins=5).bind(data).value()
    assert deviation_of(data, bins=5).value == pytest.approx(value, rel=1e-12)


def test_single_rows_count_against_each_hypothesis():
    """0 where a large error is to be shown, the square of the residual where a small one is."""
    data = Predictions([0.11, 0.12, 0.9], [0, 1, 0])
    least = deviation_of(data, bins=2, equivalence=True).value
    assert least - deviation_of(data, bins=2).value == pytest.approx(0.9**2 / 3)


def test_error_of_the_tolerance_may_be_unseen_in_a_small_bin():
    """In 4 of 6 rows it is .43 = sqrt(.125 6 / 4); one row of six cannot hold it."""
    rows = np.array([4, 1, 1])
    assert unseen_in_a_bin(rows, 0.125, 2) == pytest.approx(max(0.567**4, 0.134), abs=1e-3)
    assert unseen_in_a_bin(rows, 0.2, 2) == pytest.approx((1 - 0.3**0.5) ** 4)
    assert unseen_in_a_bin(rows, 0.9, 2) == 0.0


def test_tolerance_of_the_root_is_in_units_of_the_root():
    """The z is that of the squared error with the squared tolerance."""
    data = generative_model("M2", n=300, m=2, rng=0)
    judged = [
        tolerance_null(Tolerance(tolerance)).test(
            DebiasedECE(root=root), data, n_resamples=9, seed=0
        )
        for root, tolerance in ((False, 0.01), (True, 0.1))
    ]
    assert judged[0].statistic == pytest.approx(judged[1].statistic, rel=1e-12)
    assert judged[1].estimate == pytest.approx(np.sqrt(judged[0].estimate), rel=1e-12)
