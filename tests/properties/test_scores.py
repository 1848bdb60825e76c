"""Scores, z and measures of confidence are their definitions, or those of scikit-learn."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss as sklearn_log_loss

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import (
    brier_score,
    ece_lower_bound,
    log_loss,
    overconfidence,
    spherical_score,
    spiegelhalter_z,
    underconfidence,
)
from caltest.testing import strategies


@given(strategies.predictions())
def test_brier_score_is_a_mean_squared_distance(data):
    """In [0, 2], and half of it in [0, 1] for two classes."""
    distance = ((data.probs - np.eye(data.m)[data.labels]) ** 2).sum(axis=1)
    expected = np.average(distance, weights=data.sample_weight) / (2 if data.m == 2 else 1)
    assert brier_score(data) == pytest.approx(expected, rel=1e-12, abs=1e-15)


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


@given(strategies.predictions())
def test_spherical_score_is_a_mean_cosine(data):
    rows = zip(data.probs, data.labels, strict=True)
    cosines = [p[y] / np.sqrt(np.sum(p**2)) for p, y in rows]
    expected = np.average(cosines, weights=data.sample_weight)
    assert spherical_score(data) == pytest.approx(expected, rel=1e-12)
    assert 0 <= spherical_score(data) <= 1 + 1e-12


def brier_law(data):
    """Return the Brier score and the probability of all labels there are."""
    for labels in itertools.product(range(data.m), repeat=data.n):
        chance = math.prod(data.probs[np.arange(data.n), labels])
        if chance > 0:
            yield labels, chance


@given(strategies.predictions())
@settings.get_profile("some")
def test_z_standardises_the_brier_score_exactly(data):
    """Mean and variance over all labels, enumerated."""
    data = data.subset(slice(0, 4))
    law = [
        (brier_score(Predictions(data.probs, y, sample_weight=data.sample_weight)), chance)
        for y, chance in brier_law(data)
    ]
    scores, chances = np.array(law).T
    mean = scores @ chances
    sd = math.sqrt(np.square(scores - mean) @ chances)
    assume(sd > 1e-6)
    # A probability and what the other leaves of 1 differ by 2^-53, and the variance by four times.
    rel = 1e-9 + 2.0**-52 / sd**2
    expected = pytest.approx((brier_score(data) - mean) / sd, abs=1e-6, rel=rel)
    assert spiegelhalter_z(data) == expected


@given(strategies.predictions())
def test_z_of_two_classes_is_that_of_spiegelhalter(data):
    """The sum of (y - p)(1 - 2p) over its standard deviation, here for the first of any classes."""
    p = data.probs[:, 0]
    y = data.labels == 0
    sd = math.sqrt(np.sum((1 - 2 * p) ** 2 * p * (1 - p)))
    assume(sd > 1e-6)
    expected = np.sum((y - p) * (1 - 2 * p)) / sd
    assert spiegelhalter_z(p, y) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9))
def test_z_of_certain_predictions_is_zero_or_infinite(pairs):
    """No overflow, no NaN: 0 where all are right, else infinite; a warning says so."""
    predicted, labels = map(list, zip(*pairs, strict=True))
    with pytest.warns(DegenerateDataWarning, match="no variance under calibration"):
        z = spiegelhalter_z(np.eye(4)[predicted], labels)
    assert z == (0.0 if predicted == labels else math.inf)


@given(strategies.predictions())
def test_z_is_never_nan(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        assert not math.isnan(spiegelhalter_z(data))


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


@given(strategies.predictions())
def test_bound_is_the_balance_of_over_and_underconfidence(data):
    """With the shares of wrong and right predictions; also mean confidence less accuracy."""
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    right = data.probs.argmax(axis=1) == data.labels
    accuracy = np.average(right, weights=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        balance = overconfidence(data) * (1 - accuracy) - underconfidence(data) * accuracy
    difference = np.average(data.probs.max(axis=1), weights=weight) - accuracy
    assert balance == pytest.approx(difference, abs=1e-13)
    assert ece_lower_bound(data) == pytest.approx(abs(balance), abs=1e-13)
