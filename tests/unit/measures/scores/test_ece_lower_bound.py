"""The lower bound on the confidence ECE by hand, and what it does not bound."""

import numpy as np
import pytest

from caltest import Predictions
from caltest.measures import ece_lower_bound


def test_bound_is_mean_confidence_less_accuracy():
    assert ece_lower_bound([0.9, 0.4], [1, 1]) == pytest.approx(0.75 - 0.5)


def test_bins_with_midpoints_need_not_obey_the_bound():
    """One bin [0.5, 1] with midpoint 0.75: no error there, where the confidence is 0.5."""
    data = Predictions(np.full(4, 0.5), [0, 0, 0, 1])  # ties predict class 0
    assert ece_lower_bound(data) == 0.25
    assert abs(0.75 - 0.75) < ece_lower_bound(data)
