"""Spiegelhalter's z: sign, several classes, predictions without variance."""

import math

import numpy as np
import pytest

from caltest import DegenerateDataWarning, NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures import spiegelhalter_z
from caltest.measures.scores.spiegelhalter import SpiegelhalterZ


def test_overconfident_is_positive_and_underconfident_negative():
    """Events half as often as said, and always right at 0.7."""
    assert spiegelhalter_z([0.9, 0.9, 0.1, 0.1], [1, 0, 1, 0]) > 1
    assert spiegelhalter_z([0.7, 0.7, 0.3, 0.3], [1, 1, 0, 0]) < -1


def test_third_class_that_never_occurs_changes_nothing():
    data = generative_model("M3", n=50, m=2, rng=0)
    padded = Predictions(np.column_stack([data.probs, np.zeros(50)]), data.labels)
    assert spiegelhalter_z(padded) == pytest.approx(spiegelhalter_z(data), rel=1e-12)


def test_classes_relabelled_have_the_same_value():
    data = generative_model("M2", n=60, m=4, rng=0)
    order = np.array([2, 0, 3, 1])
    permuted = Predictions(data.probs[:, order], np.argsort(order)[data.labels])
    assert spiegelhalter_z(permuted) == pytest.approx(spiegelhalter_z(data), rel=1e-12)


@pytest.mark.parametrize("m", [2, 3, 7, 10])
def test_uniform_predictions_have_no_variance(m):
    """All labels have the same score: z is 0 with a warning, not noise over noise."""
    probs, labels = np.full((20, m), 1 / m), np.arange(20) % m
    with pytest.warns(DegenerateDataWarning, match="no variance under calibration"):
        assert spiegelhalter_z(probs, labels) == 0.0


def test_limit_law_is_not_applicable_without_variance():
    data = Predictions([0.0, 0.5, 1.0], [0, 1, 1])
    with pytest.raises(NotApplicable, match=r"no variance under calibration.*null='exact'"):
        SpiegelhalterZ().limit(data)


def test_weights_count_rows():
    """A weighted z is the weighted deviation over its standard deviation."""
    p, y, w = np.array([0.9, 0.8, 0.3]), np.array([1, 0, 1]), np.array([1.0, 2.0, 0.5])
    sd = math.sqrt(np.sum(w**2 * (1 - 2 * p) ** 2 * p * (1 - p)))
    expected = np.sum(w * (y - p) * (1 - 2 * p)) / sd
    assert spiegelhalter_z(Predictions(p, y, sample_weight=w)) == pytest.approx(expected)


def test_tail_of_a_large_z_is_positive():
    """It underflows to the smallest positive number."""
    data = Predictions(np.full(100_000, 0.999), np.arange(100_000) % 2)
    assert SpiegelhalterZ().limit(data).pvalue == np.finfo(float).tiny
