"""The spherical score is the mean cosine of prediction and one-hot label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caltest import Predictions
from caltest.measures import spherical_score


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
def test_spherical_score_is_a_mean_cosine(data):
    """With weights too."""
    rows = zip(data.probs, data.labels, strict=True)
    cosines = [p[y] / np.sqrt(np.sum(p**2)) for p, y in rows]
    expected = np.average(cosines, weights=data.sample_weight)
    assert spherical_score(data) == pytest.approx(expected, rel=1e-12)
    assert 0 <= spherical_score(data) <= 1 + 1e-12
