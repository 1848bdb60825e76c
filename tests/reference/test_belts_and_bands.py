"""Calibration belts, CORP and confidence bands of R and of other packages."""

import numpy as np
import polars as pl
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.measures import calibration_belt_curve, confidence_band_curve
from caltest.measures.recalibration.belt import CalibrationBelt

ICU = "icu_saps2 (../data/forecasts/icu_saps2.csv.gz)"


def test_belt_of_icu_patients_is_that_of_givitir(icu, stored):
    """`givitiCalibrationBelt(o, e, devel = "external")`; its p is 1 - cdf, right to 1e-15."""
    expected = stored[ICU]["giviti_external"]
    belt = calibration_belt_curve(icu)
    assert belt.degree == expected["m"]
    assert belt.statistic == pytest.approx(expected["stat"], rel=1e-13)
    assert belt.pvalue == pytest.approx(expected["p"], abs=1e-15)
    np.testing.assert_allclose(belt.coefficients, expected["beta"], rtol=1e-9)


def test_belt_statistic_of_pycaleva_and_probcal(beta40):
    p, y, values = beta40
    data = Predictions(p, y)
    statistic, pvalue = values["belt_external(stat,p)|pycaleva"]
    degree, other = values["belt(degree,p)|probcal"]
    limit = CalibrationBelt().limit(data)
    assert limit.statistic == pytest.approx(statistic, rel=1e-10)
    assert limit.pvalue == pytest.approx(pvalue, rel=1e-10)
    assert limit.pvalue == pytest.approx(other, rel=1e-10)
    assert limit.parameters["degree"] == degree


def test_band_of_icu_patients_is_that_of_calibrationband(icu, reference_dir):
    """`calibration_bands(x, y, alpha = 0.05)`; the diagonal is above it at 10 of 94 predictions."""
    expected = pl.read_csv(reference_dir / "icu_cp_band_alpha05.csv")
    band = confidence_band_curve(icu)
    np.testing.assert_allclose(band.x, expected["x"].to_numpy(), rtol=1e-13)
    np.testing.assert_allclose(band.lower, expected["lwr"].to_numpy(), rtol=1e-12)
    np.testing.assert_allclose(band.upper, expected["upr"].to_numpy(), rtol=1e-12)
    outside = band.x[band.upper < band.x]
    assert outside.size == 10
    assert (outside[0], outside[-1]) == pytest.approx((0.936, 0.984), abs=5.1e-4)


def test_icu_patients_are_rejected_by_all_three(icu):
    """The band has the largest p-value: it assumes least."""
    belt, corp, band = (
        calibration_test(None, icu, test=test, rng=0).pvalue
        for test in ("calibration-belt", "corp", "confidence-band")
    )
    assert belt == corp == 0.001
    assert band == pytest.approx(0.0028217618500742834, rel=1e-9)
