"""Scores sorted with their labels, and the extremes of partial sums."""

import numpy as np
import pytest

from caltest.numerics.sorted_scores import (
    LANES,
    moderate_weight,
    partial_sum_extremes,
    shares,
    sort_scores,
    step_ends,
)

pytestmark = pytest.mark.loops


def test_sort_scores_is_a_sort_by_score_and_label():
    """-0 is 0; a column of another array may be sorted, and stays."""
    rng = np.random.default_rng(0)
    score = rng.choice([0.0, 5e-324, 1e-300, 0.1, np.nextafter(0.1, 1), 0.5, 1.0], 200)
    labels = rng.integers(0, 2, 200)
    ordered, kept = sort_scores(score, labels)
    order = np.lexsort((labels, score))
    np.testing.assert_array_equal(ordered, score[order])
    np.testing.assert_array_equal(kept, labels[order])
    ordered, kept = sort_scores(np.array([0.5, -0.0]), np.array([0, 1]))
    assert ordered.tolist() == [0.0, 0.5]
    assert kept.tolist() == [1, 0]
    assert not np.signbit(ordered).any()
    probs = np.array([[0.2, 0.8], [0.7, 0.3]])
    probs.flags.writeable = False
    ordered, _ = sort_scores(probs[:, 1], np.array([1, 0]))
    assert ordered.tolist() == [0.3, 0.8]


@pytest.mark.parametrize("size", [1, LANES - 1, LANES, 2 * LANES + 3])
def test_partial_sum_extremes_equal_cumulative_sums(size):
    """For two groups, rows in lanes and rows that are left over, with ties and weights."""
    rng = np.random.default_rng(size)
    score = np.sort(rng.choice(np.linspace(0, 1, 15), 40))
    weight, labels = rng.random(40), rng.integers(0, 2, (size, 40)).astype(np.uint8)
    ends = step_ends(score)
    ends[24] = True
    extremes = partial_sum_extremes(labels, weight, score, ends, np.array([0, 25, 40]))
    for g, some in enumerate((slice(0, 25), slice(25, 40))):
        sums = np.cumsum((weight * (labels - score))[:, some], axis=1)[:, ends[some]]
        np.testing.assert_allclose(extremes[0, :, g], np.maximum(sums.max(axis=1), 0), atol=1e-14)
        np.testing.assert_allclose(extremes[1, :, g], np.minimum(sums.min(axis=1), 0), atol=1e-14)


@pytest.mark.parametrize("size", [1e308, 1e-300, 5e-324])
def test_moderate_weight_keeps_ratios(size):
    """Of weights that are too large or too small to be multiplied; common ones stay."""
    weight = moderate_weight(np.array([1.0, 0.0, 1.0]) * size)
    assert weight == pytest.approx(weight[0] * np.array([1.0, 0.0, 1.0]))
    assert 1e-60 <= weight[0] <= 1e60 * (1 + 1e-12)
    common = np.array([0.1, 7.0, 1e9])
    assert (moderate_weight(common) == common).all()


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1.5e308])
def test_shares_of_extreme_weights_are_finite(size):
    """Their sum overflows, or has few digits."""
    share, total = shares(np.full(3, size), 3)
    assert share == pytest.approx(1 / 3)
    assert total == pytest.approx(min(3 * size / 1e300, 1e8) * 1e300, rel=1e-12)
