"""The overconfidence by hand, with ties, and where nothing is wrong."""

from __future__ import annotations

import pytest

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import overconfidence


def test_mean_confidence_of_wrong_predictions():
    """Two of three are wrong; a tie predicts the first class."""
    probs = [[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]]
    assert overconfidence(probs, [1, 2, 0]) == pytest.approx((0.5 + 0.8) / 2)


def test_nothing_wrong_is_zero_with_a_warning():
    """The mean of nothing is not NaN."""
    with pytest.warns(DegenerateDataWarning, match="no prediction is wrong"):
        assert overconfidence([0.9, 0.2], [1, 0]) == 0.0


def test_weights_average():
    """A row of weight 0 does not count."""
    data = Predictions([0.9, 0.8, 0.7], [0, 0, 0], sample_weight=[1, 3, 0])
    assert overconfidence(data) == pytest.approx((0.9 + 3 * 0.8) / 4)
