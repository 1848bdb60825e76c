"""The calibration slope: its direction, and data that leave it undefined."""

import math

import pytest

from caltest import DegenerateDataWarning
from caltest.datasets import generative_model
from caltest.measures import calibration_slope


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
@pytest.mark.parametrize("slope", [0.5, 2.0, -1.0])
def test_slope_undoes_a_change_of_the_log_odds(slope):
    """Log odds times 1 / b have b times the slope."""
    data = generative_model("M1", n=500, m=2, alpha=1.0, rng=0)
    odds = (data.probs[:, 1] / data.probs[:, 0]) ** (1 / slope)
    changed = calibration_slope(odds / (1 + odds), data.labels)
    assert changed == pytest.approx(slope * calibration_slope(data), rel=1e-6)


def test_event_and_its_absence_have_the_same_slope():
    data = generative_model("M2", n=100, m=2, alpha=1.0, rng=0)
    other = calibration_slope(data.probs[:, 0], 1 - data.labels)
    assert other == pytest.approx(calibration_slope(data), rel=1e-10)


@pytest.mark.parametrize(
    ("p", "y", "slope", "message"),
    [
        ([0.2, 0.4, 0.8], [0, 0, 1], math.inf, "separate the labels"),
        ([0.2, 0.4, 0.8], [1, 1, 0], -math.inf, "separate the labels"),
        ([0.2, 0.4, 0.8], [1, 1, 1], 1.0, "all labels are equal.*slope is taken as 1"),
        ([0.4, 0.4, 0.4], [1, 0, 1], 1.0, "no slope can be estimated; it is taken as 1"),
        ([0.3], [1], 1.0, "taken as 1|all labels are equal"),
    ],
    ids=["separated", "reversed", "one class", "constant", "one row"],
)
def test_undefined_slope_has_a_value_and_a_warning(p, y, slope, message):
    """Infinite in the direction of the labels, or 1."""
    with pytest.warns(DegenerateDataWarning, match=message):
        assert calibration_slope(p, y) == slope
