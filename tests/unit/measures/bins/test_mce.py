"""The MCE: its bins and degenerate data."""

import numpy as np
import pytest

import caltest as ct
from caltest.measures import ece, mce


@pytest.mark.parametrize("binning", ["uniform", "quantile", "median-variance", "sweep"])
def test_perfect_predictions_have_no_error(binning):
    """Events that were predicted with probability 1, and none with 0."""
    for error in (ece, mce):
        assert error(np.eye(2)[[0, 1] * 10], [0, 1] * 10, binning=binning) == 0.0


def test_mce_ignores_bins_of_weight_zero():
    data = ct.Predictions([0.0, 0.95, 1.0], [1, 1, 1], classes=[0, 1], sample_weight=[0, 1, 1])
    assert mce(data) == pytest.approx(0.025)


def test_mce_refuses_a_power():
    """It is the ECE with an infinite one."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'p'"):
        mce([0.1], [0], p=2)
