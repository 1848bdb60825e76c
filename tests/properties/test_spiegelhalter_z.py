"""Spiegelhalter's z has mean 0 and variance 1 under calibration, for any predictions."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import brier_score, spiegelhalter_z


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


def brier_law(data):
    """Return the Brier score and the probability of all labels there are."""
    for labels in itertools.product(range(data.m), repeat=data.n):
        chance = math.prod(data.probs[np.arange(data.n), labels])
        if chance > 0:
            yield labels, chance


@given(predictions())
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
    assert spiegelhalter_z(data) == pytest.approx((brier_score(data) - mean) / sd, abs=1e-6)


@given(predictions())
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


@given(predictions())
def test_z_is_never_nan(data):
    """Whatever the predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        assert not math.isnan(spiegelhalter_z(data))
