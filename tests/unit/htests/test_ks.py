"""The KS and Kuiper tests under both nulls."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model


@pytest.mark.parametrize("test", ["ks", "kuiper"])
@pytest.mark.parametrize("null", ["exact", "asymptotic"])
def test_perfectly_calibrated_constant_has_p_value_one(test, null):
    """Half of the events at 0.5: the deviation is 0, the least there is."""
    data = Predictions(np.full(100, 0.5), np.arange(100) % 2)
    assert calibration_test(None, data, test=test, null=null, rng=0).pvalue == 1.0


@pytest.mark.parametrize("test", ["ks", "kuiper"])
def test_scaled_has_the_same_exact_p_value(test):
    """The scale depends on the predictions alone."""
    data = generative_model("M3", n=60, m=2, rng=0)
    plain, scaled = (calibration_test(None, data, test=test, scaled=s, rng=0) for s in (0, 1))
    assert plain.pvalue == scaled.pvalue
