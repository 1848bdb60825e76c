"""Sums of scores over labels, to the last digit where cancellation would lose them."""

from fractions import Fraction

import numpy as np
import pytest

from caltest.numerics.class_sums import (
    brier_table,
    deviation_table,
)

pytestmark = pytest.mark.loops


def test_brier_table_keeps_digits_of_nearly_certain_predictions():
    """1 - p = 1e-9 has the score 2e-18, where sum p^2 - 2 p + 1 has no digit left."""
    probs = np.array([[1 - 1e-9, 1e-9, 0.0]])
    assert brier_table(probs)[0, 0] == pytest.approx(2e-18, rel=1e-6)


def test_deviation_table_has_mean_zero():
    """Half the Brier score less its mean, in exact arithmetic."""
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 5)
    table = deviation_table(probs)
    np.testing.assert_allclose((probs * table).sum(axis=1), 0, atol=1e-16)
    p = [Fraction(x) for x in probs[0]]
    expected = [float(sum(x * x for x in p) - x) for x in p]
    np.testing.assert_allclose(table[0], expected, atol=1e-15)


@pytest.mark.parametrize("m", [3, 7, 10])
def test_deviation_of_equal_probabilities_is_exactly_zero(m):
    """1/m is not a binary fraction, and its rounding noise must not be scaled up."""
    probs = np.zeros((2, m + 1))
    probs[0, :m] = 1 / m
    probs[1, 0] = 1.0
    table = deviation_table(probs)
    assert not table[probs > 0].any()
