"""The test of the confidence band: the inversion of the band, and the exact null."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.htests import REGISTRY
from caltest.measures import confidence_band_curve


def test_default_null_inverts_the_band():
    """The p-value of the test is that of the band, and nothing is resampled."""
    data = generative_model("M2", n=400, m=2, pi=0.3, rng=0)
    result = calibration_test(None, data, test="confidence-band")
    assert REGISTRY["confidence-band"].default_null == result.null == "closed-form"
    assert result.pvalue == pytest.approx(confidence_band_curve(data).pvalue, rel=1e-12)
    assert result.n_resamples is None


def test_exact_null_has_more_power():
    """Error probabilities of all blocks add up to far more than that of their union."""
    rng = np.random.default_rng(0)
    x = rng.random(300)
    data = Predictions(x, (rng.random(300) < x**1.8).astype(int))
    closed, exact = (
        calibration_test(None, data, test="confidence-band", null=null, rng=0).pvalue
        for null in ("closed-form", "exact")
    )
    assert exact < 0.01 < closed


def test_print_names_the_method():
    rng = np.random.default_rng(0)
    data = Predictions(rng.random(3000), rng.integers(2, size=3000))
    result = calibration_test(None, data, test="confidence-band")
    assert result.parameters == {"method": "round", "digits": 3}
    assert "any non-decreasing P" in str(result)
