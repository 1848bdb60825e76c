"""The Brier score by hand and at its extremes."""

import pytest

from caltest.measures import brier_score


def test_two_classes_are_halved_and_more_are_not():
    """A third class that never occurs doubles the score, as in scikit-learn."""
    assert brier_score([[0.6, 0.4]], [1]) == pytest.approx(0.36)
    assert brier_score([[0.6, 0.4, 0.0]], [1]) == pytest.approx(0.72)


@pytest.mark.parametrize(("labels", "expected"), [([0, 1], 0.0), ([1, 0], 1.0)])
def test_certain_predictions(labels, expected):
    assert brier_score([0.0, 1.0], labels) == expected


def test_lens_of_two_classes_is_halved():
    """The confidence is a forecast of two classes."""
    assert brier_score([[0.5, 0.25, 0.25]], [0], lens="confidence") == 0.25
    assert brier_score([[0.5, 0.25, 0.25]], [0], lens="classwise").tolist() == [
        0.25,
        1 / 16,
        1 / 16,
    ]
