"""Scores sorted with their labels, and the extremes of partial sums."""

import numpy as np
import pytest

from caltest.numerics.sorted_scores import (
    LANES,
    partial_sum_extremes,
    sort_scores,
    step_ends,
    sum_variance,
)

pytestmark = pytest.mark.loops


def test_sort_scores_is_a_sort_by_score_and_label():
    """The bits of a score and its label in one integer have the order of the pair."""
    rng = np.random.default_rng(0)
    score = rng.choice([0.0, 5e-324, 1e-300, 0.1, np.nextafter(0.1, 1), 0.5, 1.0], 200)
    labels = rng.integers(0, 2, 200)
    ordered, kept = sort_scores(score, labels)
    order = np.lexsort((labels, score))
    np.testing.assert_array_equal(ordered, score[order])
    np.testing.assert_array_equal(kept, labels[order])


def test_sort_scores_takes_negative_zero_for_zero():
    """Its bits would be those of the most negative integer."""
    ordered, kept = sort_scores(np.array([0.5, -0.0]), np.array([0, 1]))
    assert ordered.tolist() == [0.0, 0.5]
    assert kept.tolist() == [1, 0]
    assert not np.signbit(ordered).any()


def test_sort_scores_takes_a_column_and_leaves_it():
    """A strided, read-only column of the probabilities."""
    probs = np.array([[0.2, 0.8], [0.7, 0.3]])
    probs.flags.writeable = False
    ordered, _ = sort_scores(probs[:, 1], np.array([1, 0]))
    assert ordered.tolist() == [0.3, 0.8]


def test_step_ends_marks_the_last_of_equal_scores():
    """The last score always ends a step."""
    ends = step_ends(np.array([0.1, 0.1, 0.2, 0.3, 0.3]))
    assert ends.tolist() == [False, True, True, False, True]
    assert step_ends(np.array([0.1])).tolist() == [True]


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


def test_sum_variance_is_that_of_bernoulli_labels():
    """The sum of w^2 p (1 - p)."""
    score, weight = np.array([0.0, 0.5, 0.9]), np.array([1.0, 2.0, 3.0])
    assert sum_variance(score, weight) == pytest.approx(1.0 + 9 * 0.09)
