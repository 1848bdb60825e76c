"""The Brier score is that of scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import brier_score_loss

from caltest.measures import brier_score
from caltest.testing import strategies


@given(strategies.predictions())
def test_brier_score_equals_scikit_learn(data):
    """Halved for two classes, with weights too."""
    m = data.m
    probs = data.probs[:, 1] if m == 2 else data.probs
    peer = brier_score_loss(
        data.labels, probs, sample_weight=data.sample_weight, labels=list(range(m))
    )
    assert brier_score(data) == pytest.approx(peer, rel=1e-12, abs=1e-15)


@given(strategies.predictions())
def test_brier_score_is_a_mean_squared_distance(data):
    """In [0, 2], and half of it in [0, 1] for two classes."""
    distance = ((data.probs - np.eye(data.m)[data.labels]) ** 2).sum(axis=1)
    expected = np.average(distance, weights=data.sample_weight) / (2 if data.m == 2 else 1)
    assert brier_score(data) == pytest.approx(expected, rel=1e-12, abs=1e-15)
