"""The CORP miscalibration is that of the decomposition, for observed and redrawn labels."""

import math

import numpy as np
import pytest

from caltest import DegenerateDataWarning, Predictions
from caltest.datasets import generative_model
from caltest.measures import corp_miscalibration, score_decomposition
from caltest.measures.isotonic.corp import CorpMiscalibration
from caltest.numerics.labels import resample_keys

BOTH = pytest.mark.parametrize("score", ["brier", "log-loss"])


@BOTH
def test_value_is_the_miscalibration_of_the_decomposition(score):
    rng = np.random.default_rng(0)
    data = Predictions(
        rng.choice([0.1, 0.2, 0.5, 0.9], 80), rng.integers(2, size=80), sample_weight=rng.random(80)
    )
    parts = score_decomposition(data, score=score)
    assert corp_miscalibration(data, score=score) == pytest.approx(parts.miscalibration, rel=1e-12)


@BOTH
def test_values_of_redrawn_labels_are_those_of_new_predictions(score):
    data = generative_model("M1", n=50, m=2, alpha=1.0, rng=0)
    bound = CorpMiscalibration(score=score).bind(data)
    labels = bound.redraw(resample_keys(0, 4))
    expected = [
        score_decomposition(bound.units.mean, row, score=score).miscalibration for row in labels
    ]
    np.testing.assert_allclose(bound.values(labels), expected, rtol=1e-12, atol=1e-15)


def test_calibrated_steps_have_none():
    """Where the share of events at each prediction is that prediction."""
    assert corp_miscalibration([0.25] * 4 + [0.5] * 2, [0, 0, 0, 1, 0, 1]) == 0.0


def test_infinite_log_loss_is_infinite():
    """With a warning that says where from."""
    with pytest.warns(DegenerateDataWarning, match="probability 0 in 1 rows"):
        assert corp_miscalibration([0.0, 0.5], [1, 0], score="log-loss") == math.inf


def test_parameters_name_the_score():
    data = Predictions([0.2, 0.7], [0, 1])
    assert CorpMiscalibration().bind(data).parameters == {"score": "Brier score"}
    assert CorpMiscalibration(score="log-loss").bind(data).parameters == {"score": "log loss"}
