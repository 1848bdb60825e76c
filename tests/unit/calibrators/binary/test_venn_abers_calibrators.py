"""Venn-Abers predictors: their interval, and one number of it."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from caltest import DegenerateDataWarning
from caltest.calibrators import VennAbers

RNG = np.random.default_rng(5)
SCORES = RNG.random(300)
LABELS = (RNG.random(300) < SCORES**2).astype(int)


def test_venn_abers_merges_for_the_log_loss():
    """p1 / (1 - p0 + p1)."""
    venn = VennAbers().fit(SCORES, LABELS)
    low, high = venn.interval(SCORES).T
    assert venn.predict_proba(SCORES)[:, 1] == pytest.approx(high / (1 - low + high))


def test_venn_abers_merges_for_the_brier_score():
    """The mean of the two, moved towards 1/2: m + (p1 - p0) (1/2 - m)."""
    venn = VennAbers(loss="brier").fit(SCORES, LABELS)
    low, high = venn.interval(SCORES).T
    middle = (low + high) / 2
    expected = middle + (high - low) * (1 / 2 - middle)
    assert venn.predict_proba(SCORES)[:, 1] == pytest.approx(expected)


def test_venn_abers_knows_nothing_beyond_the_scores():
    """Below all p0 is 0, above all p1 is 1."""
    venn = VennAbers().fit([0.3, 0.6], [0, 1])
    assert venn.interval([0.1, 0.9]).tolist() == [[0.0, 0.5], [0.5, 1.0]]


def test_venn_abers_of_a_constant_is_the_frequency_with_one_more():
    """Three of four are events: 3/5 and 4/5."""
    venn = VennAbers().fit(np.full(4, 0.3), [0, 1, 1, 1])
    assert venn.interval([0.3]).tolist() == [[0.6, 0.8]]


def test_venn_abers_of_one_class_is_not_certain():
    """Of n + 1 observations the last may be of the other class."""
    with pytest.warns(DegenerateDataWarning, match="one class"):
        venn = VennAbers().fit([0.5, 0.5, 0.5], [1, 1, 1])
    assert venn.interval([0.5]).tolist() == [[0.75, 1.0]]
    assert venn.predict_proba([0.5])[0, 1] == pytest.approx(0.8)


def test_venn_abers_narrows_with_the_sample():
    """Of the order of the number of observations in a block."""
    rng = np.random.default_rng(2)
    scores = rng.random(20_000)
    venn = VennAbers().fit(scores, rng.random(20_000) < scores)
    low, high = venn.interval(scores).T
    assert (high - low).mean() < 0.02


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_venn_abers_takes_weights_of_any_size(weight):
    """The new observation counts as one: it is all, or nothing."""
    venn = VennAbers().fit([0.2, 0.5, 0.9], [0, 1, 1], np.full(3, weight))
    expected = [0.0, 1.0] if weight < 1 else [1.0, 1.0]
    assert venn.interval([0.7])[0] == pytest.approx(expected)


def test_venn_abers_weights_of_all_sizes_are_no_exception():
    """Where the new observation is lost in sums 1e16 times larger, its own score decides."""
    weight = 10.0 ** np.arange(-40, 60)
    venn = VennAbers().fit(SCORES[:100], LABELS[:100], weight)
    low, high = venn.interval(SCORES).T
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()


def test_venn_abers_zero_and_one_are_scores_like_others():
    venn = VennAbers().fit([0.0, -0.0, 1.0, 1.0], [0, 0, 1, 1])
    assert venn.interval([0.0, 1.0]) == pytest.approx(np.array([[0, 1 / 3], [2 / 3, 1]]))


def test_venn_abers_interval_needs_a_fit():
    with pytest.raises(NotFittedError, match="not fitted"):
        VennAbers().interval([0.5])
