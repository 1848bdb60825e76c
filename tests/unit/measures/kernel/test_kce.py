"""The KCE: what it is of degenerate data, its print and its errors."""

import math

import numpy as np
import pytest

import caltest as ct
from caltest.errors import DegenerateDataWarning
from caltest.kernels import Exponential
from caltest.measures import KCE, kce


def test_kce_of_perfect_predictions_is_zero():
    """Where every prediction is 1 for the class observed there is no error."""
    assert kce(np.eye(3), [0, 1, 2]) == 0.0


def test_kce_of_one_observation_is_the_length_of_its_deviation():
    """With n = 1 the biased sum has one term, |delta|^2."""
    with pytest.warns(DegenerateDataWarning, match="all predictions are equal"):
        assert kce([[0.5, 0.3, 0.2]], [0]) == pytest.approx(math.sqrt(0.25 + 0.09 + 0.04))


def test_kce_parameters_name_the_kernel():
    """The result shows kernel, bandwidth and rule."""
    predictions = ct.datasets.generative_model("M2", n=30, m=3, rng=0)
    assert KCE(kernel=Exponential(0.5)).bind(predictions).parameters == {
        "kernel": "exponential of total variation",
        "bandwidth": 0.5,
        "bandwidth rule": "given",
    }


def test_ties_at_zero_are_ties():
    """A constant prediction that is met exactly has KCE 0, so that no labels are less extreme."""
    probs, labels = np.full(10, 0.3), [1] * 3 + [0] * 7
    with pytest.warns(DegenerateDataWarning, match="all predictions are equal"):
        assert ct.test_calibration(probs, labels, test="kce", rng=0).pvalue == 1.0
