"""Average confidence, sharpness, odds and ratio of confidence, and the overconfidence."""

import numpy as np
import pytest

import caltest as ct
from caltest import DegenerateDataWarning, Predictions
from caltest.measures.scores.confidence import MANY, Overconfidence

PROBS = np.random.default_rng(0).dirichlet([1.0, 0.7, 0.4], 400)
LABELS = (np.random.default_rng(1).random((400, 1)) > PROBS.cumsum(axis=1)).sum(axis=1)
CONFIDENCE, RIGHT = PROBS.max(axis=1), PROBS.argmax(axis=1) == LABELS


def test_measures_of_confidence_are_those_of_pycalib():
    """Its formulas, by NumPy: `pycalib.scoring`."""
    over, under = CONFIDENCE[~RIGHT].mean(), 1 - CONFIDENCE[RIGHT].mean()
    expected = {
        "average_confidence": CONFIDENCE.mean(),
        "sharpness": np.var(CONFIDENCE, ddof=1) * 4 * 3**2 / 2**2,
        "correctness_odds": RIGHT.mean() / (1 - RIGHT.mean()),
        "confidence_ratio": over / under,
    }
    for name, value in expected.items():
        assert getattr(ct.measures, name)(PROBS, LABELS) == pytest.approx(value, rel=1e-12)


def test_edges_are_defined_with_a_warning():
    with pytest.warns(DegenerateDataWarning, match="no prediction is wrong"):
        assert ct.measures.correctness_odds([0.9, 0.2], [1, 0]) == np.inf
    with pytest.warns(DegenerateDataWarning, match="taken as 0"):
        assert ct.measures.confidence_ratio([0.9, 0.2], [1, 0]) == 0
    with pytest.warns(DegenerateDataWarning, match="underconfidence is 0"):
        assert ct.measures.confidence_ratio([1.0, 0.2], [1, 1]) == np.inf
    with pytest.warns(DegenerateDataWarning, match="one row has no spread"):
        assert ct.measures.sharpness([0.9], [1]) == 0


# ---- the overconfidence by hand, with ties, and where nothing is wrong --------------------------


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
