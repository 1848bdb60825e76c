"""The spherical score by hand and at its extremes."""

import pytest

from caltest.measures import spherical_score


def test_certain_predictions():
    assert spherical_score([0.0, 1.0], [0, 1]) == 1.0
    assert spherical_score([0.0, 1.0], [1, 0]) == 0.0


def test_uniform_predictions_of_m_classes():
    assert spherical_score([[0.25] * 4], [2]) == pytest.approx(0.5)
