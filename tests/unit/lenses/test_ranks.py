"""Lenses on the classes by rank, on rows small enough to check by eye."""

import numpy as np
import pytest

from caltest import InvalidInput, Predictions
from caltest.lenses import Confidence, Largest, TopRank, WithinTop

ROWS = np.array([[0.25, 0.5, 0.25], [0.375, 0.25, 0.375], [0.0, 0.0, 1.0], [0.125, 0.75, 0.125]])


@pytest.fixture
def predictions():
    """Four rows with ties for the first, the second and the last rank."""
    return Predictions(ROWS, [1, 2, 1, 2], sample_weight=[1, 2, 3, 4])


def test_top_rank_1_is_confidence(predictions):
    first, confidence = TopRank(1)(predictions), Confidence()(predictions)
    np.testing.assert_array_equal(first.probs, confidence.probs)
    np.testing.assert_array_equal(first.labels, confidence.labels)


def test_within_top_never_exceeds_one():
    """Ten tenths, of which nine are summed in floating point, stay below 1."""
    rows = np.full((1, 10), 0.1)
    rows[0, 0] = 1 - 9 * 0.1
    seen = WithinTop(9)(Predictions(rows, [0], renormalize=True))
    assert 0 <= seen.probs.min() <= seen.probs.max() <= 1


@pytest.mark.parametrize("r", [0, -1, 1.0, "2", True])
@pytest.mark.parametrize("lens", [TopRank, WithinTop, Largest])
def test_ranked_lenses_want_a_positive_integer(lens, r):
    """The rank is checked when the lens is made, not when it is used."""
    with pytest.raises(InvalidInput, match="r must be an integer of at least 1; got "):
        lens(r)
