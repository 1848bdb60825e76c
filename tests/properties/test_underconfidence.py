"""The underconfidence is a mean over the right predictions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given

from caltest import DegenerateDataWarning
from caltest.measures import underconfidence
from caltest.testing import strategies


@given(strategies.predictions())
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
