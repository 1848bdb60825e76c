"""The exact null of few predictions: every label vector in place of random ones."""

import numpy as np
import pytest

from caltest import Predictions
from caltest.measures import REGISTRY
from caltest.nulls.base import Draws, Replicates
from caltest.nulls.exact import enumerate_labels, enumerated
from caltest.numerics.labels import resample_keys

ECE = REGISTRY["ece"]


def law(values, weights, alternative="greater", observed=0.0):
    values, weights = np.array(values, float), np.array(weights, float)
    return Replicates(np.append(observed, values), 1.0, alternative, np.append(0.0, weights))


def test_pvalue_is_the_probability_of_values_at_least_as_large():
    found = law([3, 1, 2, 2], [0.1, 0.4, 0.2, 0.3]).pvalues(np.array([1.0, 2.0, 2.5, 3.0, 4.0]))
    np.testing.assert_allclose(found, [1.0, 0.6, 0.1, 0.1, 0.0], atol=1e-15)


def test_two_sided_pvalue_is_twice_the_smaller_tail():
    found = law([1, 2, 3], [0.2, 0.5, 0.3], "two-sided").pvalues(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(found, [0.4, 1.0, 0.6], atol=1e-15)


def test_values_apart_by_rounding_are_ties():
    """Within 100 eps of the scale, and infinite values tie with infinite ones."""
    found = law([1.0, 1.0 + 1e-15, np.inf], [0.5, 0.25, 0.25]).pvalues(np.array([1.0, np.inf]))
    np.testing.assert_allclose(found, [1.0, 0.25], atol=1e-15)


def test_redrawn_labels_are_looked_up_among_those_listed():
    """The statistic of a resample is that of its label vector."""
    probs = [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.1, 0.0, 0.9]]
    bound = ECE().bind(Predictions(probs, [0, 1, 1, 2]))
    listed = enumerate_labels(bound, "greater", 12)
    found = enumerated(ECE(), bound, listed, Draws(50, 3)).replicates
    labels = bound.redraw(resample_keys(3, 50))
    np.testing.assert_allclose(found.values[1:], bound.values(labels), atol=1e-15)
    assert found.values[0] == listed.values[0]


@pytest.mark.parametrize(("at_most", "count"), [(12, 12), (11, None)])
def test_label_vectors_of_positive_probability_are_counted(at_most, count):
    """2 x 3 x 1 x 2 vectors, and none where that is too many."""
    probs = [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.1, 0.0, 0.9]]
    bound = ECE().bind(Predictions(probs, [0, 1, 1, 2]))
    found = enumerate_labels(bound, "greater", at_most)
    assert (None if found is None else found.values.size - 1) == count
    assert count is None or found.weights.sum() == pytest.approx(1.0)


def test_impossible_labels_are_left_to_resampling():
    """Their p-value is the smallest that B resamples can give, at every n."""
    bound = ECE().bind(Predictions([[0.5, 0.5], [0.0, 1.0]], [0, 0]))
    assert enumerate_labels(bound, "greater", 100) is None


def test_many_vectors_are_evaluated_some_at_a_time(monkeypatch):
    """The law does not depend on it."""
    bound = ECE().bind(Predictions(np.linspace(0.1, 0.9, 6), [0, 1, 0, 1, 1, 1]))
    whole = enumerate_labels(bound, "greater", 64)
    monkeypatch.setattr("caltest.nulls.base.AT_A_TIME", 48)
    parts = enumerate_labels(bound, "greater", 64)
    np.testing.assert_array_equal(whole.values, parts.values)
    np.testing.assert_array_equal(whole.weights, parts.weights)
