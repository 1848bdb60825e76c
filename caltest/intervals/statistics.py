"""Measures that are statistics: they grow with n, and there is no quantity to bound."""

from __future__ import annotations

from caltest.measures import Measure
from caltest.measures.bins.t_cal import TCal
from caltest.measures.cumulative.ks import KSError
from caltest.measures.cumulative.kuiper import KuiperError
from caltest.measures.grades.hosmer_lemeshow import HosmerLemeshow
from caltest.measures.grades.pigeon_heyse import PigeonHeyse
from caltest.measures.isotonic.confidence_band import ConfidenceBand
from caltest.measures.kernel.cme import CME
from caltest.measures.recalibration.belt import CalibrationBelt
from caltest.measures.recalibration.cox import Cox
from caltest.measures.scores.spiegelhalter import SpiegelhalterZ
from caltest.measures.smooth.le_cessie_van_houwelingen import LeCessieVanHouwelingen

REMEDIES: dict[type[Measure], str] = {
    HosmerLemeshow: "test='debiased-ece' or 'ece'",
    PigeonHeyse: "test='debiased-ece' or 'ece'",
    TCal: "test='debiased-ece'",
    CME: "test='skce', or the measure ucme",
    Cox: "test='calibration-slope' and 'calibration-in-the-large'",
    SpiegelhalterZ: "test='brier'",
    LeCessieVanHouwelingen: "test='brier'",
    CalibrationBelt: "test='ks', or the belt itself, measures.calibration_belt_curve",
    ConfidenceBand: "test='ks', or the band itself, measures.confidence_band_curve",
}


def instead_of(measure: Measure) -> str | None:
    """Return what has an interval in place of a statistic; None for other measures."""
    if isinstance(measure, Cox) and measure.tested != "both":
        return None  # shown as an intercept or slope
    if isinstance(measure, KSError | KuiperError) and measure.scaled:
        return "scaled=False"
    return REMEDIES.get(type(measure))
