"""Calibration maps as scikit-learn estimators: fit(probs, y), predict_proba(probs)."""

from caltest.calibrators.base import BinaryCalibrator, Calibrator
from caltest.calibrators.identity import Identity
from caltest.calibrators.registry import REGISTRY

__all__ = ["REGISTRY", "BinaryCalibrator", "Calibrator", "Identity"]
