"""The calibrators by key; a new one is a file and a name in this list."""

from __future__ import annotations

from caltest.calibrators.base import Calibrator
from caltest.calibrators.binary.bbq import BBQ
from caltest.calibrators.binary.beta import BetaCalibrator
from caltest.calibrators.binary.enir import ENIR
from caltest.calibrators.binary.histogram import HistogramBinning
from caltest.calibrators.binary.isotonic import IsotonicCalibrator
from caltest.calibrators.binary.platt import PlattScaling
from caltest.calibrators.binary.venn_abers import VennAbers
from caltest.calibrators.ensemble import EnsembleCalibrator
from caltest.calibrators.gp.calibrator import GPCalibrator
from caltest.calibrators.identity import Identity
from caltest.calibrators.linear.dirichlet import DirichletCalibrator
from caltest.calibrators.linear.matrix import MatrixScaling
from caltest.calibrators.linear.temperature import TemperatureScaling
from caltest.calibrators.linear.vector import VectorScaling
from caltest.calibrators.one_vs_rest import OneVsRest
from caltest.calibrators.spline.calibrator import SplineCalibrator

REGISTRY: dict[str, type[Calibrator]] = {
    calibrator.key: calibrator
    for calibrator in (
        Identity,
        TemperatureScaling,
        VectorScaling,
        MatrixScaling,
        DirichletCalibrator,
        SplineCalibrator,
        GPCalibrator,
        PlattScaling,
        BetaCalibrator,
        IsotonicCalibrator,
        BBQ,
        ENIR,
        HistogramBinning,
        VennAbers,
        OneVsRest,
        EnsembleCalibrator,
    )
}
