"""The CORP test finds miscalibration anywhere and leaves calibrated predictions alone."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test


@pytest.mark.parametrize("score", ["brier", "log-loss"])
def test_corp_rejects_predictions_that_are_too_extreme(score):
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, 500)
    labels = (rng.random(500) < 1 / (1 + np.exp(-z))).astype(int)
    data = Predictions(1 / (1 + np.exp(-2 * z)), labels)
    result = calibration_test(None, data, test="corp", score=score, rng=0)
    assert result.pvalue == 0.001
    assert result.statistic_name == "MCB"
