"""Properties of belts, CORP and bands for any binary predictions."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caltest import DegenerateDataWarning, Predictions
from caltest.measures import (
    calibration_belt,
    confidence_band_curve,
    corp_miscalibration,
    score_decomposition,
)


@st.composite
def binary(draw, low=0.0, high=1.0):
    """Predictions with ties, and labels; zeros and ones where they are in the range."""
    n = draw(st.integers(1, 25))
    cells = st.sampled_from([max(low, 0.0), 0.25, 0.5, min(high, 1.0)]) | st.floats(low, high)
    event = draw(st.lists(cells, min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    return Predictions(event, labels)


def quietly(measure, data, **options):
    """Evaluate without warnings of degenerate data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return measure(data, **options)


@given(binary())
@settings.get_profile("some")
def test_belt_statistic_is_at_least_zero_and_grows_with_the_degree(data):
    """It is a likelihood ratio of nested models, never NaN."""
    values = [quietly(calibration_belt, data, max_degree=d) for d in (1, 2, 3, 4)]
    assert values[0] >= 0
    if np.isfinite(values[0]):
        assert (np.diff(values) >= -1e-8 * max(1, values[-1])).all()
    else:
        assert values == [np.inf] * 4


@given(binary(0.001, 0.999))
@settings.get_profile("some")
def test_belt_statistic_is_at_most_that_of_certainty(data):
    """No fit has a larger likelihood than 1."""
    observed = data.probs[np.arange(data.n), data.labels]
    most = -2 * np.log(observed).sum()
    assert calibration_belt(data) <= most * (1 + 1e-9) + 1e-8


@given(binary())
@settings.get_profile("some")
def test_corp_miscalibration_is_that_of_the_decomposition(data):
    """At least 0 and at most the score, for both scores."""
    for score in ("brier", "log-loss"):
        value = quietly(corp_miscalibration, data, score=score)
        parts = quietly(score_decomposition, data, score=score)
        assert value == pytest.approx(parts.miscalibration, rel=1e-9, abs=1e-12)
        assert 0 <= value <= parts.score + 1e-12


@given(binary(), st.sampled_from(["standard", "round", "yang-barber"]))
def test_band_is_monotone_and_inverts_to_its_p_value(data, method):
    """Bounds in [0, 1] that do not decrease; outside at 95 % if and only if p <= 5 %."""
    band = confidence_band_curve(data, method=method)
    for bound in (band.lower, band.upper):
        assert ((bound >= 0) & (bound <= 1)).all()
        assert (np.diff(bound) >= -1e-12).all()
    assert 0 < band.pvalue <= 1
    if abs(band.pvalue - 0.05) > 1e-6:
        assert bool(band.above or band.below) == (band.pvalue < 0.05)
