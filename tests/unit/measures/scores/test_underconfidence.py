"""The underconfidence by hand, with ties, and where nothing is right."""

import pytest

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import underconfidence


def test_mean_doubt_of_right_predictions():
    """Two of three are right; a tie predicts the first class."""
    probs = [[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]]
    assert underconfidence(probs, [0, 2, 0]) == pytest.approx((0.5 + 0.4) / 2)


def test_nothing_right_is_zero_with_a_warning():
    """The mean of nothing is not NaN, with weights neither."""
    data = Predictions([0.9, 0.2], [0, 1], sample_weight=[0.1, 0.2])
    with pytest.warns(DegenerateDataWarning, match="no prediction is right"):
        assert underconfidence(data) == 0.0
