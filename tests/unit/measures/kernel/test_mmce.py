"""The MMCE: lenses, degenerate data, its print and its errors."""

import numpy as np
import pytest

import caltest as ct
from caltest.measures import MMCE, mmce


def test_mmce_of_perfect_predictions_is_zero():
    assert mmce(np.eye(3), [0, 1, 2]) == 0.0


def test_mmce_looks_at_the_confidence_unless_told_otherwise():
    """For two classes the lens "strong" gives the sum over P(Y = 1) in place of max p."""
    p, y = [0.1, 0.1], [0, 0]
    assert mmce(p, y) == pytest.approx(0.1)
    assert mmce(p, y, lens="strong") == pytest.approx(0.1)
    assert mmce([0.1, 0.9], [0, 0]) != pytest.approx(mmce([0.1, 0.9], [0, 0], lens="strong"))


def test_mmce_parameters_name_the_width():
    """The result shows the kernel of the paper, not the matrix behind it."""
    predictions = ct.datasets.generative_model("M1", n=20, m=2, rng=0)
    assert MMCE(width=0.2).bind(predictions).parameters == {"kernel": "exponential", "width": 0.2}
