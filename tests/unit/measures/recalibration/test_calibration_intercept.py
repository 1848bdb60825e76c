"""The calibration intercept, with the slope fixed and estimated."""

import math

import numpy as np
import pytest
from scipy.special import expit

from caltest import DegenerateDataWarning, InvalidInput
from caltest.measures import calibration_intercept
from caltest.measures.recalibration.cox import CalibrationIntercept


def test_fixed_slope_balances_outcomes_and_predictions():
    """The score equation: sum of y - expit(a + log odds) is 0."""
    rng = np.random.default_rng(0)
    p, y = rng.random(100), rng.random(100) < 0.7
    a = calibration_intercept(p, y)
    assert np.sum(y - expit(a + np.log(p / (1 - p)))) == pytest.approx(0, abs=1e-10)


def test_both_kinds_are_labelled():
    """The symbol and the parameters tell them apart, since packages do not."""
    fixed, estimated = (CalibrationIntercept(slope=slope) for slope in ("fixed", "estimated"))
    assert fixed.symbol == "intercept (slope 1)"
    assert estimated.symbol == "intercept (slope estimated)"
    assert fixed.description != estimated.description
    with pytest.raises(InvalidInput, match="slope must be one of"):
        CalibrationIntercept(slope="free")


@pytest.mark.parametrize(
    ("p", "y", "slope", "intercept"),
    [
        ([0.2, 0.6], [1, 1], "fixed", math.inf),
        ([0.2, 0.6], [0, 0], "fixed", -math.inf),
        ([0.2, 0.6], [0, 0], "estimated", -math.inf),
        ([0.6, 0.9], [0, 1], "estimated", -math.inf),
        ([0.2, 0.8], [0, 1], "estimated", 0.0),
        ([0.2, 0.2], [0, 1], "estimated", math.log(4)),
    ],
    ids=["all events", "none", "none, estimated", "separated", "around one half", "constant"],
)
def test_undefined_intercept_has_a_value_and_a_warning(p, y, slope, intercept):
    """Infinite with its sign; for slope 1 where no slope can be estimated."""
    with pytest.warns(DegenerateDataWarning, match=r"all labels|separate|no slope"):
        assert calibration_intercept(p, y, slope=slope) == pytest.approx(intercept, abs=1e-12)


def test_zeros_are_left_out_of_the_fit():
    """With a warning; a zero that is wrong is said too."""
    p, y = [0.0, 0.5, 0.5, 0.5], [1, 1, 0, 0]
    with pytest.warns(DegenerateDataWarning, match="no log odds|first in row 0"):
        a = calibration_intercept(p, y)
    assert a == pytest.approx(calibration_intercept(p[1:], y[1:]), rel=1e-9)
