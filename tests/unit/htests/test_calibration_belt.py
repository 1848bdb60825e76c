"""The test of the calibration belt: exact with the selection redone, and asymptotic."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model


@pytest.mark.parametrize("null", ["exact", "asymptotic"])
@pytest.mark.parametrize("power", [0.5, 2.0], ids=["too low", "too high"])
def test_both_directions_are_rejected(null, power):
    p = np.random.default_rng(0).random(1000)
    labels = (np.random.default_rng(1).random(1000) < p**power).astype(int)
    result = calibration_test(
        None, Predictions(p, labels), test="calibration-belt", null=null, rng=0
    )
    assert result.pvalue <= 0.001


def test_print_holds_the_degree():
    data = generative_model("M1", n=200, m=2, rng=1)
    result = calibration_test(None, data, test="calibration-belt", null="asymptotic")
    assert result.parameters["degree"] in {1, 2, 3, 4}
    assert "GiViTI calibration belt" in str(result)
    assert "given the selected degree" in str(result)
