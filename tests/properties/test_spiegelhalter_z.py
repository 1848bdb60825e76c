"""Spiegelhalter's z has mean 0 and variance 1 under calibration, for any predictions."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import brier_score, spiegelhalter_z
from caltest.testing import strategies


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
    # The plain variance loses eight digits where a probability is 1e-9: rel=1e-7.
    expected = pytest.approx((brier_score(data) - mean) / sd, abs=1e-6, rel=1e-7)
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
