"""The overconfidence by hand, with ties, and where nothing is wrong."""

import numpy as np
import pytest

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import overconfidence
from caltest.measures.scores.confidence import MANY, Overconfidence


def test_mean_confidence_of_wrong_predictions():
    """Two of three are wrong; a tie predicts the first class."""
    probs = [[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]]
    assert overconfidence(probs, [1, 2, 0]) == pytest.approx((0.5 + 0.8) / 2)


def test_nothing_wrong_is_zero_with_a_warning():
    """The mean of nothing is not NaN."""
    with pytest.warns(DegenerateDataWarning, match="no prediction is wrong"):
        assert overconfidence([0.9, 0.2], [1, 0]) == 0.0


@pytest.mark.parametrize("wrong", [1, 4, 20])
def test_interval_of_equal_scores_is_that_of_a_beta_variable(wrong):
    """The share of the row not yet seen is Beta(1, wrong); the ends of all confidences bound it."""
    event = np.concatenate([np.full(wrong, 0.9), [0.6, 0.98, 0.95]])
    data = Predictions(event, [0] * wrong + [1] * 3)
    ends = Overconfidence().own_interval(data, level=0.95)
    share = 1 - 0.025 ** (1 / wrong)
    assert ends.low == pytest.approx(0.9 - 0.3 * share, abs=0.01)
    assert ends.high == pytest.approx(0.9 + 0.08 * share, abs=0.003)


@pytest.mark.full
def test_interval_of_many_is_the_normal_one():
    """From 1000 rows on, on either side of which it changes little."""
    rng = np.random.default_rng(0)
    event = rng.uniform(0.6, 0.9, 2 * MANY)
    lengths = []
    for wrong in (MANY - 1, MANY):
        ends = Overconfidence().own_interval(
            Predictions(event, np.arange(2 * MANY) >= wrong), level=0.95
        )
        assert ends.low < event[:wrong].mean() < ends.high
        lengths.append(ends.high - ends.low)
    assert lengths == pytest.approx([2 * 1.96 * 0.3 / np.sqrt(12 * MANY)] * 2, rel=0.1)


def test_interval_where_nothing_is_wrong_holds_every_confidence():
    """Nothing is known, and the estimate is 0."""
    ends = Overconfidence().own_interval(Predictions([0.9, 0.2], [1, 0]), level=0.95)
    assert (ends.low, ends.high) == (0.0, 0.9)
