"""Calibration maps as scikit-learn estimators: fit(probs, y), predict_proba(probs)."""

from caltest.calibrators.base import Calibrator
from caltest.calibrators.binary.base import BinaryCalibrator
from caltest.calibrators.binary.bbq import BBQ
from caltest.calibrators.binary.beta import BetaCalibrator
from caltest.calibrators.binary.enir import ENIR
from caltest.calibrators.binary.histogram import HistogramBinning
from caltest.calibrators.binary.isotonic import IsotonicCalibrator
from caltest.calibrators.binary.platt import PlattScaling
from caltest.calibrators.binary.venn_abers import VennAbers
from caltest.calibrators.calibrated_classifier import CalibratedClassifier
from caltest.calibrators.ensemble import EnsembleCalibrator
from caltest.calibrators.gp.calibrator import GPCalibrator
from caltest.calibrators.identity import Identity
from caltest.calibrators.linear.dirichlet import DirichletCalibrator
from caltest.calibrators.linear.matrix import MatrixScaling
from caltest.calibrators.linear.temperature import TemperatureScaling
from caltest.calibrators.linear.vector import VectorScaling
from caltest.calibrators.one_vs_rest import OneVsRest
from caltest.calibrators.registry import REGISTRY
from caltest.calibrators.spline.calibrator import SplineCalibrator

__all__ = [
    "BBQ",
    "ENIR",
    "REGISTRY",
    "BetaCalibrator",
    "BinaryCalibrator",
    "CalibratedClassifier",
    "Calibrator",
    "DirichletCalibrator",
    "EnsembleCalibrator",
    "GPCalibrator",
    "HistogramBinning",
    "Identity",
    "IsotonicCalibrator",
    "MatrixScaling",
    "OneVsRest",
    "PlattScaling",
    "SplineCalibrator",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
]
