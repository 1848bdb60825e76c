"""Logistic recalibration as R's rms and other packages compute it."""

import polars as pl
import pytest
from scipy.special import expit, logit

from caltest import Predictions
from caltest.measures import (
    calibration_intercept,
    calibration_slope,
    cox,
    unreliability,
)
from caltest.measures.recalibration.cox import Cox, Unreliability


def test_recalibration_of_icu_patients_is_that_of_r(icu):
    """measures.json, R 4.2.2: `glm(y ~ qlogis(p))`, `lrm.fit`."""
    estimates = calibration_intercept(icu, slope="estimated"), calibration_slope(icu)
    assert estimates == pytest.approx((-0.47500228573024, 0.711924939872989), rel=1e-9)
    assert cox(icu) == pytest.approx(36.7573446075202, rel=1e-12)
    assert Cox().limit(icu).pvalue == pytest.approx(1.04290328e-08, rel=1e-8)


def test_calibration_in_the_large_of_icu_patients_is_that_of_r(icu):
    """measures.json, "CITL": `glm(y ~ offset(qlogis(p)))`, its deviance and p-value.

    R's iterations stop where the sum of the residuals is 1e-7; here it is 0.
    """
    limit = Cox(tested="intercept").limit(icu)
    assert limit.estimate == calibration_intercept(icu)
    assert limit.estimate == pytest.approx(-0.325513604898031, rel=5e-9)
    fitted = expit(logit(icu.probs[:, 1]) + limit.estimate)
    assert icu.labels.sum() - fitted.sum() == pytest.approx(0, abs=1e-11)
    assert limit.statistic == pytest.approx(13.1649852901918, rel=1e-12)
    assert limit.pvalue == pytest.approx(0.000285229026488642, rel=1e-10)


def test_unreliability_of_the_example_of_val_prob(reference_dir):
    """The example of `rms::val.prob`; its slope stops at 1e-8 from the maximum."""
    table = pl.read_csv(reference_dir / "valprob_doc_example.csv")
    data = Predictions(table["p"].to_numpy(), table["y"].to_numpy())
    limit = Unreliability().limit(data)
    assert calibration_intercept(data, slope="estimated") == pytest.approx(0.05228721395, rel=1e-7)
    assert calibration_slope(data) == pytest.approx(0.9565178127547951, rel=5e-8)
    assert limit.statistic == pytest.approx(0.0871469814444197, rel=1e-11)
    assert limit.pvalue == pytest.approx(0.9573621942665284, rel=1e-11)
    assert unreliability(data) == pytest.approx((0.0871469814444197 - 2) / 100, rel=1e-11)


def test_recalibration_of_probcal_pycaleva_and_calzone(beta40):
    """peers.json: Cox of calzone, intercept and ratio of probcal, which is pycaleva's belt."""
    data = Predictions(*beta40[:2])
    estimates = calibration_slope(data), calibration_intercept(data, slope="estimated")
    assert estimates == pytest.approx((1.372017224144493, -0.9553400469263775), rel=1e-10)
    assert calibration_intercept(data) == pytest.approx(-0.8132412528793562, rel=1e-10)
    limit = Cox().limit(data)
    assert limit.statistic == pytest.approx(5.227518080055987, rel=1e-12)
    assert limit.pvalue == pytest.approx(0.0732586433548321, rel=1e-12)
