"""The Brier score is that of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from caltest import Predictions
from caltest.measures import brier_score


@st.composite
def predictions(draw):
    """Two to four classes, with zeros, ones and ties, and with weights or without."""
    n, m = draw(st.integers(1, 8)), draw(st.integers(2, 4))
    cells = st.sampled_from([0.0, 0.0, 1.0, 2.0]) | st.floats(0, 1)
    rows = st.lists(cells, min_size=m, max_size=m).filter(lambda row: sum(row) > 1e-3)
    probs = np.array(draw(st.lists(rows, min_size=n, max_size=n)))
    labels = draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n))
    weight = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n))
    return Predictions(probs / probs.sum(axis=1, keepdims=True), labels, sample_weight=weight)


@given(predictions())
def test_brier_score_equals_scikit_learn(data):
    """Halved for two classes, with weights too."""
    m = data.m
    probs = data.probs[:, 1] if m == 2 else data.probs
    peer = brier_score_loss(
        data.labels, probs, sample_weight=data.sample_weight, labels=list(range(m))
    )
    assert brier_score(data) == pytest.approx(peer, rel=1e-12, abs=1e-15)


@given(predictions())
def test_brier_score_is_a_mean_squared_distance(data):
    """In [0, 2], and half of it in [0, 1] for two classes."""
    distance = ((data.probs - np.eye(data.m)[data.labels]) ** 2).sum(axis=1)
    expected = np.average(distance, weights=data.sample_weight) / (2 if data.m == 2 else 1)
    assert brier_score(data) == pytest.approx(expected, rel=1e-12, abs=1e-15)
