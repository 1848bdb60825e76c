"""Pooling adjacent violators gives the isotonic regression."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from caltest.numerics.isotonic import pool_steps, recalibrated_scores
from caltest.numerics.sorted_scores import step_ends

pytestmark = pytest.mark.loops


def fit(score, labels, weight):
    mass, events, last = pool_steps(labels.astype(np.uint8), weight, step_ends(score))
    return np.repeat(events / mass, np.diff(last, prepend=-1))


@pytest.mark.parametrize("seed", range(5))
def test_pool_steps_equals_scikit_learn(seed):
    """IsotonicRegression of scikit-learn, with ties and weights."""
    rng = np.random.default_rng(seed)
    score = np.sort(rng.choice(np.linspace(0, 1, 30), 80))
    labels, weight = rng.random(80) < score, rng.random(80) + 0.1
    peer = IsotonicRegression().fit_transform(score, labels.astype(float), sample_weight=weight)
    np.testing.assert_allclose(fit(score, labels, weight), peer, atol=1e-12)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_recalibrated_scores_are_those_of_the_fit(logarithmic):
    """The Brier score or the log loss of the fitted values, a row of labels at a time."""
    rng = np.random.default_rng(0)
    score = np.sort(rng.choice(np.linspace(0, 1, 30), 80))
    labels, weight = (rng.random((5, 80)) < score).astype(np.uint8), rng.random(80) + 0.1
    sums = recalibrated_scores(labels, weight, step_ends(score), logarithmic)
    for row, total in zip(labels, sums, strict=True):
        fitted = fit(score, row, weight)
        observed = np.where(row, fitted, 1 - fitted)
        expected = -np.log(observed) if logarithmic else (row - fitted) ** 2
        assert total == pytest.approx(weight @ expected, rel=1e-12)


def test_equal_shares_of_weights_are_one_block():
    """1 of 5 and 3 of 15 are equal, which their rounded products are not."""
    labels = np.array([1, 0, 1, 0], np.uint8)
    weight = 15 / 38 * np.array([1.0, 4.0, 3.0, 12.0])
    _, _, last = pool_steps(labels, weight, np.array([False, True, False, True]))
    assert last.tolist() == [3]
