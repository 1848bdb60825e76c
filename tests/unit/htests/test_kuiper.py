"""The Kuiper test under both nulls; more on both in test_ks.py."""

from __future__ import annotations

import pytest

from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures import kuiper_error


def test_exact_and_asymptotic_agree_on_many_rows():
    """Calibrated predictions of 5,000 rows."""
    data = generative_model("M1", n=5000, m=2, rng=2)
    exact = calibration_test(None, data, test="kuiper", rng=0, n_resamples=1999)
    limit = calibration_test(None, data, test="kuiper", null="asymptotic")
    assert exact.estimate == limit.estimate == kuiper_error(data)
    assert limit.pvalue == pytest.approx(exact.pvalue, abs=0.05)
