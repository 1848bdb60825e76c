"""Average confidence, sharpness, and the two ratios of theorem 1 of Wenger et al. (2020)."""

import numpy as np
import pytest

import caltest as ct
from caltest import DegenerateDataWarning

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


def test_ratio_of_a_calibrated_model_is_in_the_interval_of_the_odds():
    """Labels are drawn from the predictions; every measure lies in its own interval too."""
    data, intervals = ct.Predictions(PROBS, LABELS), {}
    for key in ("correctness-odds", "confidence-ratio", "average-confidence", "sharpness"):
        options = {"test": ct.measures.REGISTRY[key](), "n_resamples": 99, "rng": 0}
        result = ct.test_calibration(None, data, **options)
        found = intervals[key] = result.confidence_interval(n_resamples=199)
        assert found.low < result.statistic < found.high
    odds = intervals["correctness-odds"]
    assert odds.low < ct.measures.confidence_ratio(data) < odds.high


def test_edges_are_defined_with_a_warning():
    with pytest.warns(DegenerateDataWarning, match="no prediction is wrong"):
        assert ct.measures.correctness_odds([0.9, 0.2], [1, 0]) == np.inf
    with pytest.warns(DegenerateDataWarning, match="taken as 0"):
        assert ct.measures.confidence_ratio([0.9, 0.2], [1, 0]) == 0
    with pytest.warns(DegenerateDataWarning, match="underconfidence is 0"):
        assert ct.measures.confidence_ratio([1.0, 0.2], [1, 1]) == np.inf
    with pytest.warns(DegenerateDataWarning, match="one row has no spread"):
        assert ct.measures.sharpness([0.9], [1]) == 0
