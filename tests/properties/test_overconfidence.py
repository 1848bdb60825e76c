"""The over- and underconfidence are means over the wrong and the right predictions."""

import warnings

import numpy as np
import pytest
from hypothesis import given

from caltest import DegenerateDataWarning
from caltest.measures import overconfidence, underconfidence
from caltest.testing import strategies


@pytest.mark.parametrize("measure", [overconfidence, underconfidence])
@given(strategies.predictions())
def test_confidence_is_a_mean_over_the_wrong_or_the_right_predictions(measure, data):
    """Where there are none it is 0, with a warning."""
    confidence = data.probs.max(axis=1)
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    wrong = data.probs.argmax(axis=1) != data.labels
    rows, values = (wrong, confidence) if measure is overconfidence else (~wrong, 1 - confidence)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = measure(data)
    assert [w.category for w in caught] == ([] if rows.any() else [DegenerateDataWarning])
    expected = np.average(values[rows], weights=weight[rows]) if rows.any() else 0.0
    assert value == pytest.approx(expected, rel=1e-12)
