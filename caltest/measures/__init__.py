"""Calibration errors and scores: `f(probs, labels, *, lens="strong", ...) -> float`."""

from caltest.measures.base import BoundMeasure, Measure, Outcome
from caltest.measures.bins.classwise_ece import ClasswiseECE, classwise_ece
from caltest.measures.bins.debiased_ece import DebiasedECE, debiased_ece
from caltest.measures.bins.ece import ECE, ece
from caltest.measures.bins.mce import MCE, mce
from caltest.measures.bins.reliability_bins import ReliabilityBins, reliability_bins
from caltest.measures.bins.t_cal import TCal, t_cal
from caltest.measures.cumulative.ks import KSError, ks_error
from caltest.measures.cumulative.kuiper import KuiperError, kuiper_error
from caltest.measures.grades.binomial import Binomial
from caltest.measures.grades.hosmer_lemeshow import HosmerLemeshow, hosmer_lemeshow
from caltest.measures.grades.jeffreys import Jeffreys
from caltest.measures.grades.normal import Normal
from caltest.measures.grades.pigeon_heyse import PigeonHeyse, pigeon_heyse
from caltest.measures.grades.vasicek import Vasicek
from caltest.measures.isotonic.confidence_band import (
    ConfidenceBandStatistic,
    confidence_band_statistic,
)
from caltest.measures.isotonic.confidence_band_curve import ConfidenceBand, confidence_band
from caltest.measures.isotonic.corp import CorpMiscalibration, corp_miscalibration
from caltest.measures.isotonic.corp_curve import CorpBand, CorpCurve, corp_band, corp_curve
from caltest.measures.kernel.cme import CME, cme
from caltest.measures.kernel.kce import KCE, kce
from caltest.measures.kernel.mmce import MMCE, mmce
from caltest.measures.kernel.skce import SKCE, skce
from caltest.measures.kernel.ucme import UCME, ucme
from caltest.measures.recalibration.belt import CalibrationBeltStatistic, calibration_belt_statistic
from caltest.measures.recalibration.belt_curve import CalibrationBelt, calibration_belt
from caltest.measures.recalibration.calibration_intercept import (
    CalibrationIntercept,
    calibration_intercept,
)
from caltest.measures.recalibration.calibration_slope import CalibrationSlope, calibration_slope
from caltest.measures.recalibration.cox import Cox, cox
from caltest.measures.recalibration.expected_observed_ratio import (
    ExpectedObserved,
    ExpectedObservedRatio,
    expected_observed_interval,
    expected_observed_ratio,
)
from caltest.measures.recalibration.mean_calibration import (
    CalibrationInTheLarge,
    calibration_in_the_large,
)
from caltest.measures.recalibration.unreliability import Unreliability, unreliability
from caltest.measures.scores.brier import BrierScore, brier_score
from caltest.measures.scores.confidence import (
    ECELowerBound,
    Overconfidence,
    Underconfidence,
    ece_lower_bound,
    overconfidence,
    underconfidence,
)
from caltest.measures.scores.decomposition import ScoreDecomposition, score_decomposition
from caltest.measures.scores.log_loss import LogLoss, log_loss
from caltest.measures.scores.spherical import SphericalScore, spherical_score
from caltest.measures.scores.spiegelhalter import SpiegelhalterZ, spiegelhalter_z
from caltest.measures.smooth.ici import E50, E90, ICI, Emax, e50, e90, emax, ici
from caltest.measures.smooth.le_cessie_van_houwelingen import (
    LeCessieVanHouwelingen,
    le_cessie_van_houwelingen,
)
from caltest.measures.smooth.smooth_ece import SmoothECE, smooth_ece

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
    "Outcome",
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
