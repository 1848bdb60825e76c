"""Recalibration ratios of any predictions: never NaN, never negative, blind to order and names."""

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
from caltest.testing import strategies

pytestmark = pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")


@given(strategies.predictions())
@settings.get_profile("some")
def test_ratio_is_never_negative_nor_nan(data):
    """Whatever the predictions; infinite where, and only where, a label is impossible."""
    impossible = (data.probs[np.arange(data.n), data.labels] == 0).any()
    for value in (cox(data), unreliability(data)):
        assert (value == np.inf) == impossible
    assert cox(data) >= 0


@given(strategies.predictions(m=2))
def test_estimates_of_two_classes_are_never_nan(data):
    values = [
        calibration_slope(data),
        calibration_intercept(data),
        calibration_intercept(data, slope="estimated"),
        expected_observed_ratio(data),
    ]
    assert not np.isnan(values).any()


@given(strategies.predictions(), st.randoms(use_true_random=False))
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
