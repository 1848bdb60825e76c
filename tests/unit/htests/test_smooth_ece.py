"""The smooth ECE test."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures import smooth_ece


@pytest.mark.parametrize("options", [{}, {"bandwidth": 0.1}, {"method": "exact"}])
def test_estimate_is_the_measure_with_its_options(options):
    data = generative_model("M3", n=200, m=2, rng=0)
    result = calibration_test(None, data, test="smooth-ece", rng=0, n_resamples=99, **options)
    assert result.estimate == pytest.approx(smooth_ece(data, **options), rel=1e-12)
    assert result.pvalue == 0.01


def test_perfectly_calibrated_constant_has_p_value_one():
    """The residuals cancel; rounding noise is a tie with rounding noise."""
    data = Predictions(np.full(100, 0.25), np.arange(100) % 4 == 0)
    assert calibration_test(None, data, test="smooth-ece", rng=0, n_resamples=99).pvalue == 1.0


def test_labels_that_mirror_each_other_are_ties():
    """At 0.5, k events and n - k have the same value: P(|k - 5| >= 2 of 10) = 0.754."""
    data = Predictions(np.full(10, 0.5), np.arange(10) < 3)
    result = calibration_test(None, data, test="smooth-ece", rng=0)
    assert result.pvalue == pytest.approx(2 * (1 + 10 + 45 + 120) / 1024, abs=0.05)
