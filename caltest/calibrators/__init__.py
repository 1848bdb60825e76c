"""Calibration maps as scikit-learn estimators: fit(probs, y), predict_proba(probs).

A new calibrator is a file in the folder of its family and a line here. Lists, tables and pages
follow the order of the lines.
"""

# The order of the lines has a meaning.
# ruff: noqa: F401, I001, PLE0604

from caltest.calibrators.base import BinaryCalibrator, Calibrator, Identity
from caltest.calibrators.linear.scaling import TemperatureScaling
from caltest.calibrators.mixtures import EnsembleTemperatureScaling
from caltest.calibrators.linear.scaling import VectorScaling
from caltest.calibrators.linear.ordinal import OrdinalScaling
from caltest.calibrators.linear.scaling import StructuredVectorScaling
from caltest.calibrators.linear.full_maps import MatrixScaling, DirichletCalibrator
from caltest.calibrators.linear.scaling import StructuredMatrixScaling
from caltest.calibrators.spline.calibrator import SplineCalibrator
from caltest.calibrators.gp.calibrator import GPCalibrator
from caltest.calibrators.kernel import KernelCalibrator
from caltest.calibrators.binary.parametric import PlattScaling, QuadraticScaling, BetaCalibrator
from caltest.calibrators.binary.isotonic import IsotonicCalibrator, CenteredIsotonicCalibrator
from caltest.calibrators.binary.binning import BBQ
from caltest.calibrators.binary.enir import ENIR
from caltest.calibrators.binary.binning import HistogramBinning, ScalingBinning
from caltest.calibrators.binary.isotonic import VennAbers
from caltest.calibrators.ensemble import OneVsRest, EnsembleCalibrator
from caltest.calibrators.mixtures import AutoCalibrator
from caltest.calibrators.calibrated_classifier import CalibratedClassifier

from caltest.calibrators.forecasts import ForecastCalibrator, ForecastIdentity
from caltest.calibrators.forecasts import VarianceScaling, BetaPIT, IsotonicPIT, ConformalOffset

from caltest.calibrators.output import REGISTRY

_PUBLIC = {name: value for name, value in globals().items() if callable(value)}

_KEYED = [value for value in _PUBLIC.values() if hasattr(value, "key")]
REGISTRY |= {one.key: one for one in _KEYED if issubclass(one, Calibrator)}

FORECAST_MAPS = ForecastCalibrator.known
FORECAST_MAPS |= {one.key: one for one in _KEYED if issubclass(one, ForecastCalibrator)}

__all__ = ["REGISTRY", *_PUBLIC]
