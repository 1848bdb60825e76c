"""Calibration errors and scores: f(probs, labels, *, lens="strong", ...) -> float."""

from caltest.measures.base import BoundMeasure, Measure
from caltest.measures.brier_score import BrierScore, brier_score
from caltest.measures.classwise_ece import ClasswiseECE, classwise_ece
from caltest.measures.cme import CME, cme
from caltest.measures.debiased_ece import DebiasedECE, debiased_ece
from caltest.measures.ece import ECE, ece
from caltest.measures.ece_lower_bound import ECELowerBound, ece_lower_bound
from caltest.measures.kce import KCE, kce
from caltest.measures.ks_error import KSError, ks_error
from caltest.measures.kuiper_error import KuiperError, kuiper_error
from caltest.measures.log_loss import LogLoss, log_loss
from caltest.measures.mce import MCE, mce
from caltest.measures.mmce import MMCE, mmce
from caltest.measures.overconfidence import Overconfidence, overconfidence
from caltest.measures.score_decomposition import ScoreDecomposition, score_decomposition
from caltest.measures.skce import SKCE, skce
from caltest.measures.smooth_ece import SmoothECE, smooth_ece
from caltest.measures.spherical_score import SphericalScore, spherical_score
from caltest.measures.spiegelhalter_z import SpiegelhalterZ, spiegelhalter_z
from caltest.measures.t_cal import TCal, t_cal
from caltest.measures.ucme import UCME, ucme
from caltest.measures.underconfidence import Underconfidence, underconfidence

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
    )
}

__all__ = [
    "REGISTRY",
    "BoundMeasure",
    "Measure",
    "ScoreDecomposition",
    "brier_score",
    "classwise_ece",
    "cme",
    "debiased_ece",
    "ece",
    "ece_lower_bound",
    "kce",
    "ks_error",
    "kuiper_error",
    "log_loss",
    "mce",
    "mmce",
    "overconfidence",
    "score_decomposition",
    "skce",
    "smooth_ece",
    "spherical_score",
    "spiegelhalter_z",
    "t_cal",
    "ucme",
    "underconfidence",
]
