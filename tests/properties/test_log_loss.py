"""The log loss is that of scikit-learn where nothing is 0."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss as sklearn_log_loss

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import log_loss
from caltest.testing import strategies


@given(strategies.predictions())
def test_log_loss_equals_scikit_learn_where_nothing_is_clipped(data):
    safe = Predictions(
        0.9 * data.probs + 0.1 / data.m, data.labels, sample_weight=data.sample_weight
    )
    peer = sklearn_log_loss(
        data.labels, safe.probs, sample_weight=data.sample_weight, labels=list(range(data.m))
    )
    assert log_loss(safe) == pytest.approx(peer, rel=1e-12)


@given(strategies.predictions(), st.sampled_from([1e-15, 1e-3]))
def test_clipped_log_loss_raises_small_probabilities(data, eps):
    observed = data.probs[np.arange(data.n), data.labels]
    expected = np.average(-np.log(np.maximum(observed, eps)), weights=data.sample_weight)
    assert log_loss(data, eps=eps) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(strategies.predictions())
def test_log_loss_is_infinite_with_a_warning_where_the_observed_class_has_no_probability(data):
    observed = data.probs[np.arange(data.n), data.labels]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = log_loss(data)
    assert np.isinf(value) == (observed == 0).any() == bool(caught)
    assert all(issubclass(warning.category, DegenerateDataWarning) for warning in caught)
