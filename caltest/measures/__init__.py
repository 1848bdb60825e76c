"""Calibration errors and scores: `f(probs, labels, *, lens="strong", ...) -> float`."""

from caltest.measures.base import BoundMeasure, Measure
from caltest.measures.binomial import Binomial
from caltest.measures.brier_score import BrierScore, brier_score
from caltest.measures.calibration_belt import CalibrationBelt, calibration_belt
from caltest.measures.calibration_belt_statistic import (
    CalibrationBeltStatistic,
    calibration_belt_statistic,
)
from caltest.measures.calibration_in_the_large import (
    CalibrationInTheLarge,
    calibration_in_the_large,
)
from caltest.measures.calibration_intercept import CalibrationIntercept, calibration_intercept
from caltest.measures.calibration_slope import CalibrationSlope, calibration_slope
from caltest.measures.classwise_ece import ClasswiseECE, classwise_ece
from caltest.measures.cme import CME, cme
from caltest.measures.confidence_band import ConfidenceBand, confidence_band
from caltest.measures.confidence_band_statistic import (
    ConfidenceBandStatistic,
    confidence_band_statistic,
)
from caltest.measures.corp_curve import CorpBand, CorpCurve, corp_band, corp_curve
from caltest.measures.corp_miscalibration import CorpMiscalibration, corp_miscalibration
from caltest.measures.cox import Cox, cox
from caltest.measures.debiased_ece import DebiasedECE, debiased_ece
from caltest.measures.e50 import E50, e50
from caltest.measures.e90 import E90, e90
from caltest.measures.ece import ECE, ece
from caltest.measures.ece_lower_bound import ECELowerBound, ece_lower_bound
from caltest.measures.emax import Emax, emax
from caltest.measures.expected_observed_ratio import (
    ExpectedObserved,
    ExpectedObservedRatio,
    expected_observed_interval,
    expected_observed_ratio,
)
from caltest.measures.hosmer_lemeshow import HosmerLemeshow, hosmer_lemeshow
from caltest.measures.ici import ICI, ici
from caltest.measures.jeffreys import Jeffreys
from caltest.measures.kce import KCE, kce
from caltest.measures.ks_error import KSError, ks_error
from caltest.measures.kuiper_error import KuiperError, kuiper_error
from caltest.measures.le_cessie_van_houwelingen import (
    LeCessieVanHouwelingen,
    le_cessie_van_houwelingen,
)
from caltest.measures.log_loss import LogLoss, log_loss
from caltest.measures.mce import MCE, mce
from caltest.measures.mmce import MMCE, mmce
from caltest.measures.normal import Normal
from caltest.measures.overconfidence import Overconfidence, overconfidence
from caltest.measures.pigeon_heyse import PigeonHeyse, pigeon_heyse
from caltest.measures.reliability_bins import ReliabilityBins, reliability_bins
from caltest.measures.score_decomposition import ScoreDecomposition, score_decomposition
from caltest.measures.skce import SKCE, skce
from caltest.measures.smooth_ece import SmoothECE, smooth_ece
from caltest.measures.spherical_score import SphericalScore, spherical_score
from caltest.measures.spiegelhalter_z import SpiegelhalterZ, spiegelhalter_z
from caltest.measures.t_cal import TCal, t_cal
from caltest.measures.ucme import UCME, ucme
from caltest.measures.underconfidence import Underconfidence, underconfidence
from caltest.measures.unreliability import Unreliability, unreliability
from caltest.measures.vasicek import Vasicek

REGISTRY: dict[str, type[Measure]] = {
    measure.key: measure
    for measure in (
        SKCE,
        KCE,
        MMCE,
        UCME,
        CME,
        ECE,
        MCE,
        ClasswiseECE,
        DebiasedECE,
        TCal,
        BrierScore,
        ECELowerBound,
        KSError,
        KuiperError,
        LogLoss,
        Overconfidence,
        SmoothECE,
        SphericalScore,
        SpiegelhalterZ,
        Underconfidence,
        CalibrationInTheLarge,
        CalibrationIntercept,
        CalibrationSlope,
        Cox,
        ExpectedObservedRatio,
        Unreliability,
        HosmerLemeshow,
        PigeonHeyse,
        LeCessieVanHouwelingen,
        ICI,
        E50,
        E90,
        Emax,
        Binomial,
        Jeffreys,
        Normal,
        Vasicek,
        CalibrationBeltStatistic,
        CorpMiscalibration,
        ConfidenceBandStatistic,
    )
}

__all__ = [
    "REGISTRY",
    "BoundMeasure",
    "CalibrationBelt",
    "ConfidenceBand",
    "CorpBand",
    "CorpCurve",
    "ExpectedObserved",
    "Measure",
    "ReliabilityBins",
    "ScoreDecomposition",
    "brier_score",
    "calibration_belt",
    "calibration_belt_statistic",
    "calibration_in_the_large",
    "calibration_intercept",
    "calibration_slope",
    "classwise_ece",
    "cme",
    "confidence_band",
    "confidence_band_statistic",
    "corp_band",
    "corp_curve",
    "corp_miscalibration",
    "cox",
    "debiased_ece",
    "e50",
    "e90",
    "ece",
    "ece_lower_bound",
    "emax",
    "expected_observed_interval",
    "expected_observed_ratio",
    "hosmer_lemeshow",
    "ici",
    "kce",
    "ks_error",
    "kuiper_error",
    "le_cessie_van_houwelingen",
    "log_loss",
    "mce",
    "mmce",
    "overconfidence",
    "pigeon_heyse",
    "reliability_bins",
    "score_decomposition",
    "skce",
    "smooth_ece",
    "spherical_score",
    "spiegelhalter_z",
    "t_cal",
    "ucme",
    "underconfidence",
    "unreliability",
]
