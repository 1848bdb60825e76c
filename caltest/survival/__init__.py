"""Predicted risk of an event by a horizon, with times that are right-censored."""

from caltest.survival.curves import a_calibration, d_calibration
from caltest.survival.estimates import (
    Estimate,
    SmoothCalibration,
    calibration_slope,
    cumulative_incidence,
    observed_expected_ratio,
    pseudo_observations,
    smooth_calibration,
)
from caltest.survival.predictions import SurvivalPredictions

__all__ = [
    "Estimate",
    "SmoothCalibration",
    "SurvivalPredictions",
    "a_calibration",
    "calibration_slope",
    "cumulative_incidence",
    "d_calibration",
    "observed_expected_ratio",
    "pseudo_observations",
    "smooth_calibration",
]
