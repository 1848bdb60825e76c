"""The log loss judged by redrawn labels where it is infinite; more in test_brier.py."""

import math

import pytest

from caltest import DegenerateDataWarning, Predictions
from caltest import test_calibration as calibration_test


def test_impossible_label_has_the_smallest_p_value():
    """Infinite where redrawn labels are finite: 2 / (B + 1), with a warning."""
    data = Predictions([0.0, 0.5, 0.5, 0.5], [1, 0, 1, 1])
    with pytest.warns(DegenerateDataWarning, match="log loss is infinite"):
        result = calibration_test(None, data, test="log-loss", rng=0)
    assert result.estimate == math.inf
    assert result.pvalue == 0.002


def test_clipped_log_loss_is_finite():
    data = Predictions([0.0, 0.5, 0.5, 0.5], [1, 0, 1, 1])
    result = calibration_test(None, data, test="log-loss", eps=1e-15, rng=0)
    assert math.isfinite(result.estimate)
    assert result.pvalue == 0.002
