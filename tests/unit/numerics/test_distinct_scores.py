"""Distinct scores with the weights of their rows and events."""

import numpy as np
import pytest

from caltest.numerics.sorted_scores import distinct_scores, moderate_weight

pytestmark = pytest.mark.loops

SCORES = np.array([0.5, 0.0, 0.5, 1.0, -0.0])
EVENT = np.array([True, False, False, True, True])


def test_distinct_scores_counts_rows_and_events():
    values, mass, events = distinct_scores(SCORES, EVENT, None)
    assert values.tolist() == [0.0, 0.5, 1.0]
    assert mass.tolist() == [2.0, 2.0, 1.0]
    assert events.tolist() == [1.0, 1.0, 1.0]


def test_distinct_scores_sums_weights_of_rows_that_have_one():
    """A row of weight zero is no row, and no score."""
    values, mass, events = distinct_scores(SCORES, EVENT, np.array([2.0, 1.0, 0.5, 0.0, 0.0]))
    assert values.tolist() == [0.0, 0.5]
    assert mass.tolist() == [1.0, 2.5]
    assert events.tolist() == [0.0, 2.0]


@pytest.mark.parametrize("size", [1e308, 1e-300, 5e-324])
def test_moderate_weight_keeps_ratios(size):
    """Of weights that are too large or too small to be multiplied."""
    weight = moderate_weight(np.array([1.0, 0.0, 1.0]) * size)
    assert weight == pytest.approx(weight[0] * np.array([1.0, 0.0, 1.0]))
    assert 1e-60 <= weight[0] <= 1e60 * (1 + 1e-12)


def test_moderate_weight_leaves_common_weights():
    weight = np.array([0.1, 7.0, 1e9])
    assert (moderate_weight(weight) == weight).all()
