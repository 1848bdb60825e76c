"""The Brier score judged by redrawn labels, two-sided."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model

SCORES = ["brier", "log-loss"]


@pytest.mark.parametrize("test", SCORES)
def test_too_good_and_too_bad_are_both_rejected(test):
    """A score far below its mean under calibration speaks against calibration too."""
    for share in (1.0, 0.4):
        data = Predictions(np.full(200, 0.7), np.arange(200) < 200 * share)
        assert calibration_test(None, data, test=test, rng=0).pvalue == 0.002


@pytest.mark.parametrize("test", SCORES)
def test_score_at_its_mean_has_a_large_p_value(test):
    data = Predictions(np.full(200, 0.7), np.arange(200) % 10 < 7)
    assert calibration_test(None, data, test=test, rng=0).pvalue > 0.8


@pytest.mark.parametrize("m", [2, 4])
def test_exact_p_value_is_that_of_spiegelhalter(m):
    """The z is an increasing function of the score."""
    data = generative_model("M2", n=60, m=m, rng=0)
    brier, z = (calibration_test(None, data, test=t, rng=0) for t in ("brier", "spiegelhalter"))
    assert brier.pvalue == z.pvalue
