"""The squared error over bins without bias: its deviation and the tolerance of its root."""

import numpy as np
import pytest

from caltest import Predictions
from caltest.datasets import generative_model
from caltest.errors import NotApplicable
from caltest.measures import DebiasedECE, debiased_ece
from caltest.measures.bins.debiased_ece import binned_deviation, unseen_in_a_bin
from caltest.measures.tolerance import Tolerance
from caltest.nulls.base import Draws
from caltest.nulls.tolerance import tolerance_test


def deviation_of(data, *, equivalence=False, **options):
    return binned_deviation(DebiasedECE(**options).bind(data).units, equivalence=equivalence)


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


@pytest.mark.parametrize(("binning", "m"), [("uniform", 2), ("uniform", 3), ("quantile", 2)])
def test_a_bin_without_rows_is_told(binning, m):
    """Where 2 of 1000 rows are expected, all wrong, 14 % of data sets have none of them."""
    probs = np.zeros((1000, m))
    probs[:, 0] = np.random.default_rng(1).uniform(0.98, 1.0, 1000)
    probs[:, 1] = 1.0 - probs[:, 0]
    labels = (np.random.default_rng(2).random(1000) > probs[:, 0]).astype(int)
    tolerance = Tolerance(0.002 * (m - 1), equivalence=True)
    measure, data = DebiasedECE(binning=binning), Predictions(probs, labels, classes=range(m))
    notes = tolerance_test(measure, data, Draws(9, 0), tolerance=tolerance).notes
    told = "wrong predictions of 0.2 % of all are unseen with probability 0.14"
    assert any(told in note for note in notes) == (binning == "uniform")


def test_tolerance_of_the_root_is_in_units_of_the_root():
    """The z is that of the squared error with the squared tolerance."""
    data = generative_model("M2", n=300, m=2, rng=0)
    judged = [
        tolerance_test(DebiasedECE(root=root), data, Draws(9, 0), tolerance=Tolerance(tolerance))
        for root, tolerance in ((False, 0.01), (True, 0.1))
    ]
    assert judged[0].statistic == pytest.approx(judged[1].statistic, rel=1e-12)
    assert judged[1].estimate == pytest.approx(np.sqrt(judged[0].estimate), rel=1e-12)


@pytest.mark.parametrize("m", [2, 3])
def test_debiased_ece_of_one_observation_is_not_applicable(m):
    said = "needs a bin with two observations.*use fewer bins, or the test 'ece'"
    with pytest.raises(NotApplicable, match=said):
        debiased_ece(np.eye(m)[:1], [0], lens="strong")
