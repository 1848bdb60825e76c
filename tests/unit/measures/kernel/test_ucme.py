"""The UCME: degenerate data and families of lenses."""

import numpy as np
import pytest

import caltest as ct
from caltest.errors import DegenerateDataWarning
from caltest.kernels import Exponential
from caltest.measures import UCME, ucme


def test_ucme_of_perfect_predictions_is_zero():
    assert ucme(np.eye(3), [0, 1, 2]) == 0.0


def test_ucme_of_equal_predictions_warns():
    """There is no bandwidth, and 1.0 takes its place."""
    with pytest.warns(DegenerateDataWarning, match="all predictions are equal"):
        assert ucme([0.5, 0.5], [1, 1]) == pytest.approx(0.25)


def test_ucme_of_one_observation_is_defined():
    kernel = Exponential(1.0)
    value = ucme([[0.5, 0.3, 0.2]], [0], locations=([[0.5, 0.3, 0.2]], [2]), kernel=kernel)
    assert value == pytest.approx(0.04)


def test_ucme_can_be_tested_as_a_measure():
    """It is no named test (the CME test is), but has the exact null of every measure."""
    predictions = ct.datasets.generative_model("M2", n=100, m=3, rng=0)
    result = ct.test_calibration(None, predictions, test=UCME(), rng=0)
    assert result.pvalue == 0.001
    assert result.estimate_name == "UCME^2"
