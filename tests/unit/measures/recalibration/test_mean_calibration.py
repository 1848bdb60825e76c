"""Calibration in the large on the scale of probabilities."""

import numpy as np
import pytest
from scipy.stats import norm

from caltest import NotApplicable, Predictions
from caltest.measures import mean_calibration
from caltest.measures.recalibration.expected_observed_ratio import MeanCalibration


def test_weights_make_weighted_means():
    p, y, w = np.array([0.9, 0.2, 0.4]), np.array([1, 1, 0]), np.array([1.0, 2.0, 0.5])
    value = mean_calibration(Predictions(p, y, sample_weight=w))
    assert value == pytest.approx(np.average(y, weights=w) - np.average(p, weights=w))


def test_limit_is_the_normal_test_of_the_number_of_events():
    """Two-sided, with the variance of independent events."""
    p, y = np.linspace(0.1, 0.8, 30), np.arange(30) % 2
    limit = MeanCalibration().limit(Predictions(p, y))
    z = np.sum(y - p) / np.sqrt(np.sum(p * (1 - p)))
    assert limit.statistic == pytest.approx(z)
    assert limit.pvalue == pytest.approx(2 * norm.sf(abs(z)))


def test_certain_predictions_have_no_limit():
    data = Predictions([0.0, 1.0], [0, 0])
    assert mean_calibration(data) == -0.5
    with pytest.raises(NotApplicable, match="no variance; use null='exact'"):
        MeanCalibration().limit(data)
