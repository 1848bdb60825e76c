"""Recalibration ratios of any predictions: never NaN, never negative, blind to order and names."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import (
    calibration_intercept,
    calibration_slope,
    cox,
    expected_observed_ratio,
    unreliability,
)

pytestmark = pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")


CLASSES = st.integers(2, 4)


@st.composite
def predictions(draw, classes=CLASSES):
    """Some classes, with zeros, ones and ties, and with weights or without."""
    n, m = draw(st.integers(1, 8)), draw(classes)
    cells = st.sampled_from([0.0, 1.0, 1.0, 2.0]) | st.floats(0, 1)
    rows = st.lists(cells, min_size=m, max_size=m).filter(lambda row: sum(row) > 1e-3)
    probs = np.array(draw(st.lists(rows, min_size=n, max_size=n)))
    labels = draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n))
    weight = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n))
    return Predictions(probs / probs.sum(axis=1, keepdims=True), labels, sample_weight=weight)


@given(predictions())
@settings.get_profile("some")
def test_ratio_is_never_negative_nor_nan(data):
    """Whatever the predictions; infinite where, and only where, a label is impossible."""
    impossible = (data.probs[np.arange(data.n), data.labels] == 0).any()
    for value in (cox(data), unreliability(data)):
        assert (value == np.inf) == impossible
    assert cox(data) >= 0


@given(predictions(st.just(2)))
def test_estimates_of_two_classes_are_never_nan(data):
    """Infinite at most."""
    values = [
        calibration_slope(data),
        calibration_intercept(data),
        calibration_intercept(data, slope="estimated"),
        expected_observed_ratio(data),
    ]
    assert not np.isnan(values).any()


@given(predictions(), st.randoms(use_true_random=False))
@settings.get_profile("some")
def test_order_of_rows_and_classes_changes_nothing(data, random):
    """A common slope, and weights that follow their rows."""
    rows, classes = list(range(data.n)), list(range(data.m))
    random.shuffle(rows)
    random.shuffle(classes)
    place = np.argsort(classes)
    weight = None if data.sample_weight is None else data.sample_weight[rows]
    other = Predictions(
        data.probs[rows][:, classes], place[data.labels[rows]], sample_weight=weight
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        assert cox(other) == pytest.approx(cox(data), rel=1e-6, abs=1e-6)
