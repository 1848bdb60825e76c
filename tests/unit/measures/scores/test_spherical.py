"""The spherical score by hand and at its extremes."""

from __future__ import annotations

import math

import pytest

from caltest import Predictions
from caltest.measures import spherical_score


def test_certain_predictions():
    """Right 1, wrong 0."""
    assert spherical_score([0.0, 1.0], [0, 1]) == 1.0
    assert spherical_score([0.0, 1.0], [1, 0]) == 0.0


def test_uniform_predictions_of_m_classes():
    """1 / sqrt(m)."""
    assert spherical_score([[0.25] * 4], [2]) == pytest.approx(0.5)


def test_weights_average():
    """A row of weight 0 does not count."""
    data = Predictions([0.5, 1.0, 0.9], [1, 0, 0], sample_weight=[1, 1, 0])
    assert spherical_score(data) == pytest.approx(math.sqrt(0.5) / 2)
