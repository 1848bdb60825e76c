"""The calibrators by key; a new one is a file and a name in this list."""

from __future__ import annotations

from caltest.calibrators.base import Calibrator
from caltest.calibrators.bbq import BBQ
from caltest.calibrators.beta import BetaCalibrator
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
from caltest.calibrators.spline import SplineCalibrator
from caltest.calibrators.temperature import TemperatureScaling
from caltest.calibrators.vector import VectorScaling
from caltest.calibrators.venn_abers import VennAbers

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
