"""The test of le Cessie and van Houwelingen: what it prints, and for which sample."""

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
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


def test_external_form_is_the_spiegelhalter_test():
    data = generative_model("M1", n=200, m=2, rng=0)
    first, second = (calibration_test(None, data, test=t, rng=0) for t in (TEST, "spiegelhalter"))
    assert first.statistic == pytest.approx(second.statistic, rel=1e-12)
    assert first.pvalue == second.pvalue


def test_development_sample_has_no_exact_null():
    """The model is nearer to its own labels than to redrawn ones."""
    data = Predictions([0.2, 0.6, 0.7], [0, 1, 0])
    with pytest.raises(NotApplicable, match="of the development sample; use 'asymptotic'"):
        calibration_test(None, data, test=TEST, internal=True, null="exact")
