"""The underconfidence is a mean over the right predictions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import underconfidence


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
def test_underconfidence_is_a_mean_over_the_right_predictions(data):
    """Where there are none it is 0, with a warning."""
    top = data.probs.argmax(axis=1)
    confidence = data.probs.max(axis=1)
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    rows = top == data.labels
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = underconfidence(data)
    assert [w.category for w in caught] == ([] if rows.any() else [DegenerateDataWarning])
    chosen = (1 - confidence)[rows]
    expected = np.average(chosen, weights=weight[rows]) if rows.any() else 0.0
    assert value == pytest.approx(expected, rel=1e-12)
