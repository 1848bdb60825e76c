"""Scores sorted with their labels, and the extremes of partial sums."""

import numpy as np
import pytest

from caltest.numerics.sorted_scores import (
    sort_scores,
    step_ends,
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
