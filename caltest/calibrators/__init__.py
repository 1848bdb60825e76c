"""Calibration maps as scikit-learn estimators: fit(probs, y), predict_proba(probs)."""

from caltest.calibrators.base import Calibrator
from caltest.calibrators.bbq import BBQ
from caltest.calibrators.beta import BetaCalibrator
from caltest.calibrators.binary import BinaryCalibrator
from caltest.calibrators.calibrated_classifier import CalibratedClassifier
from caltest.calibrators.dirichlet import DirichletCalibrator
from caltest.calibrators.enir import ENIR
from caltest.calibrators.ensemble import EnsembleCalibrator
from caltest.calibrators.gp import GPCalibrator
from caltest.calibrators.histogram import HistogramBinning
from caltest.calibrators.identity import Identity
from caltest.calibrators.isotonic import IsotonicCalibrator
from caltest.calibrators.matrix import MatrixScaling
from caltest.calibrators.one_vs_rest import OneVsRest
from caltest.calibrators.platt import PlattScaling
from caltest.calibrators.registry import REGISTRY
from caltest.calibrators.spline import SplineCalibrator
from caltest.calibrators.temperature import TemperatureScaling
from caltest.calibrators.vector import VectorScaling
from caltest.calibrators.venn_abers import VennAbers

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
