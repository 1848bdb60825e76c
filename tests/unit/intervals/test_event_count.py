"""The interval of E/O is that of the measure's own function."""

import pytest

import caltest as ct
from caltest.measures import expected_observed_interval
from caltest.measures.recalibration.expected_observed_ratio import ExpectedObservedRatio


def test_interval_of_a_result_is_that_of_the_function():
    data = ct.datasets.generative_model("M2", n=60, m=2, rng=1)
    result = ct.test_calibration(data, test=ExpectedObservedRatio(), n_resamples=9, rng=1)
    found = result.confidence_interval(0.9)
    expected = expected_observed_interval(data, confidence=0.9)
    assert (found.low, found.high) == (expected.low, expected.high)
    assert found.estimate == pytest.approx(result.estimate, rel=1e-12)
