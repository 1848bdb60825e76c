"""The CORP test finds miscalibration anywhere and leaves calibrated predictions alone."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model


@pytest.mark.parametrize("score", ["brier", "log-loss"])
def test_corp_rejects_predictions_that_are_too_extreme(score):
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, 500)
    labels = (rng.random(500) < 1 / (1 + np.exp(-z))).astype(int)
    data = Predictions(1 / (1 + np.exp(-2 * z)), labels)
    result = calibration_test(None, data, test="corp", score=score, rng=0)
    assert result.pvalue == 0.001
    assert result.statistic_name == "MCB"


@pytest.mark.parametrize("score", ["brier", "log-loss"])
def test_corp_does_not_reject_calibrated_predictions(score):
    """The isotonic fit gains as much for redrawn labels."""
    data = generative_model("M1", n=500, m=2, alpha=1.0, rng=3)
    result = calibration_test(None, data, test="corp", score=score, rng=0)
    assert result.pvalue > 0.05
    assert np.median(result.null_distribution) > 0
