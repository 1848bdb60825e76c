"""The KS error under every lens of two classes, its scaling and its limit law."""

import math

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures import ks_error
from caltest.measures.cumulative.cumulative import KSError
from caltest.numerics.tails import modulus_sf


def test_ties_are_one_step():
    """Labels 1, 0 at one score give no excursion, in either order."""
    assert ks_error([0.5, 0.5], [1, 0]) == ks_error([0.5, 0.5], [0, 1]) == 0.0


@pytest.mark.parametrize("lens", ["confidence", "top-2", "within-top-2", "classwise[1]"])
def test_lenses_of_two_classes_give_a_value(lens):
    """Top-r and within-top-r included, as in Gupta et al. (2021), section 3."""
    data = generative_model("M1", n=100, m=4, rng=0)
    assert 0 < ks_error(data, lens=lens) < 0.2


def test_within_top_r_sums_the_largest():
    """The event is that the label is among the r largest, its score their sum."""
    data = generative_model("M2", n=200, m=5, rng=0)
    order = np.argsort(-data.probs, axis=1, kind="stable")[:, :2]
    score = np.take_along_axis(data.probs, order, axis=1).sum(axis=1)
    event = (order == data.labels[:, None]).any(axis=1)
    expected = ks_error(score.clip(0, 1), event)
    assert ks_error(data, lens="within-top-2") == pytest.approx(expected, rel=1e-12)


def test_family_gives_one_value_each():
    data = generative_model("M1", n=50, m=3, rng=0)
    values = ks_error(data, lens="classwise")
    assert values.shape == (3,)
    assert values[2] == ks_error(data, lens="classwise[2]")


def test_limit_law_is_that_of_the_scaled_error():
    """The statistic is the error over the standard deviation of the whole sum."""
    data = generative_model("M1", n=500, m=2, rng=0)
    event = data.probs[:, 1]
    statistic = ks_error(data) * 500 / math.sqrt(np.sum(event * (1 - event)))
    for scaled in (False, True):
        limit = KSError(scaled=scaled).limit(data)
        assert limit.statistic == pytest.approx(statistic, rel=1e-12)
        assert limit.pvalue == pytest.approx(modulus_sf(statistic), rel=1e-10)
    assert limit.statistic_name == "scaled KS"


@pytest.mark.parametrize("options", [{"scaled": True}, {"scaled": False}])
def test_certain_predictions_have_no_scale(options):
    """All 0 or 1: the labels have no variance, and nothing is divided by it."""
    data = Predictions([0.0, 1.0, 1.0], [0, 1, 0])
    with pytest.raises(NotApplicable, match=r"no variance to scale by.*null='exact'"):
        KSError(**options).limit(data)
    assert ks_error(data) == pytest.approx(1 / 3)


def test_zero_is_not_negative():
    """A perfect forecast prints as 0, not -0."""
    assert math.copysign(1, ks_error([0.0, 1.0], [0, 1])) == 1
