"""The test of le Cessie and van Houwelingen: what it prints, and for which sample."""

import numpy as np
import pytest

from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model

TEST = "le-cessie-van-houwelingen"


def test_result_has_the_numbers_that_rms_prints():
    """SSE, its expected value and standard deviation; z from them."""
    data = generative_model("M1", n=500, m=2, rng=0)
    result = calibration_test(None, data, test=TEST, null="asymptotic", internal=True)
    sse, expected, sd = (result.parameters[name] for name in ("SSE", "E", "SD"))
    assert sse == pytest.approx(np.sum((data.labels - data.probs[:, 1]) ** 2))
    assert result.statistic == pytest.approx((sse - expected) / sd, rel=1e-9)
