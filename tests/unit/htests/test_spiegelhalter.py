"""Spiegelhalter's test is two-sided, for any number of classes, and safe at 0 and 1."""

import numpy as np
import pytest

from caltest import DegenerateDataWarning, NotApplicable, Predictions
from caltest import test_calibration as calibration_test


@pytest.mark.parametrize("null", ["exact", "asymptotic"])
@pytest.mark.parametrize("share", [1.0, 0.4], ids=["underconfident", "overconfident"])
def test_both_sides_are_rejected(null, share):
    """MAPIE's is one-sided: an underconfident z of -25 has p = 1 there."""
    data = Predictions(np.full(1500, 0.7), np.arange(1500) < 1500 * share)
    result = calibration_test(None, data, test="spiegelhalter", null=null, rng=0)
    assert abs(result.statistic) > 25 - 1e-9 or share < 1
    assert 0 < result.pvalue < 0.01


def test_calibrated_constant_has_p_value_one():
    """The share of events is the forecast, so z = 0."""
    data = Predictions(np.full(100, 0.25), np.arange(100) % 4 == 0)
    for null in ("exact", "asymptotic"):
        result = calibration_test(None, data, test="spiegelhalter", null=null, rng=1)
        assert result.statistic == pytest.approx(0, abs=1e-12)
        assert result.pvalue == pytest.approx(1.0)


def test_certain_predictions_do_not_overflow():
    """With some of 0 and 1, they have no part in the variance; with all, only the exact null."""
    some = Predictions([0.0, 1.0, 0.3, 0.8], [0, 1, 1, 1])
    assert 0 < calibration_test(None, some, test="spiegelhalter", null="asymptotic").pvalue <= 1
    every = Predictions([0.0, 1.0, 1.0], [0, 1, 0])
    with pytest.warns(DegenerateDataWarning, match="no variance under calibration"):
        assert calibration_test(None, every, test="spiegelhalter", rng=0).pvalue == 0.002
    with pytest.raises(NotApplicable, match="no variance under calibration"):
        calibration_test(None, every, test="spiegelhalter", null="asymptotic")
