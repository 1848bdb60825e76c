"""The test of the calibration belt: exact with the selection redone, and asymptotic."""

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model


@pytest.mark.full
def test_exact_and_asymptotic_agree_on_many_rows():
    """Calibrated predictions; the law accounts for the selection."""
    for seed in (1, 2, 3):
        data = generative_model("M1", n=2000, m=2, alpha=1.0, rng=seed)
        exact = calibration_test(None, data, test="calibration-belt", rng=0, n_resamples=1999)
        limit = calibration_test(None, data, test="calibration-belt", null="asymptotic")
        assert limit.pvalue == pytest.approx(exact.pvalue, abs=0.05)


@pytest.mark.parametrize("null", ["exact", "asymptotic"])
@pytest.mark.parametrize("power", [0.5, 2.0], ids=["too low", "too high"])
def test_both_directions_are_rejected(null, power):
    p = np.random.default_rng(0).random(1000)
    labels = (np.random.default_rng(1).random(1000) < p**power).astype(int)
    result = calibration_test(
        None, Predictions(p, labels), test="calibration-belt", null=null, rng=0
    )
    assert result.pvalue <= 0.001


def test_print_holds_the_degree():
    data = generative_model("M1", n=200, m=2, rng=1)
    result = calibration_test(None, data, test="calibration-belt", null="asymptotic")
    assert result.parameters["degree"] in {1, 2, 3, 4}
    assert "GiViTI calibration belt" in str(result)
    assert "given the selected degree" in str(result)


def test_development_sample_needs_the_asymptotic_null():
    data = generative_model("M1", n=200, m=2, rng=1)
    options = {"test": "calibration-belt", "internal": True}
    with pytest.raises(NotApplicable, match="development sample; use 'asymptotic'"):
        calibration_test(None, data, null="exact", **options)
    assert calibration_test(None, data, **options).null == "asymptotic"
