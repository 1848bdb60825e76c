"""The parts of a score add up to it, and are what they are said to be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from caltest import Predictions
from caltest.measures import brier_score, log_loss, score_decomposition
from caltest.testing import strategies

PREDICTIONS = strategies.predictions((1, 15), 2)


@given(PREDICTIONS, st.sampled_from(["brier", "log-loss"]))
def test_corp_parts_add_up_and_are_not_negative(data, score):
    """The score is miscalibration - discrimination + uncertainty."""
    probs = 0.98 * data.probs + 0.01
    data = Predictions(probs, data.labels, sample_weight=data.sample_weight)
    parts = score_decomposition(data, score=score)
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert total == pytest.approx(parts.score, abs=1e-12)
    measure = brier_score if score == "brier" else log_loss
    assert parts.score == pytest.approx(measure(data), abs=1e-12)
    assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= 0


@given(PREDICTIONS)
def test_corp_miscalibration_is_what_isotonic_regression_gains(data):
    """The fit of scikit-learn, which takes scores that differ by 1e-15 for equal."""
    event, weight = data.probs[:, 1].round(6), data.sample_weight
    data = Predictions(event, data.labels, sample_weight=weight)
    fit = IsotonicRegression().fit(event, data.labels, sample_weight=weight).predict(event)
    gain = np.average((data.labels - event) ** 2 - (data.labels - fit) ** 2, weights=weight)
    assert score_decomposition(data).miscalibration == pytest.approx(gain, abs=1e-12)


@given(PREDICTIONS, st.sampled_from(["uniform", "quantile"]), st.integers(1, 20))
def test_parts_by_bins_add_up(data, binning, bins):
    """With the variance and the covariance within bins the sum is exact."""
    parts = score_decomposition(data, method="bins", binning=binning, bins=bins)
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    total += parts.within_bin_variance - parts.within_bin_covariance
    assert total == pytest.approx(parts.score, abs=1e-13)
    assert parts.score == pytest.approx(brier_score(data), abs=1e-13)


@given(PREDICTIONS)
def test_bins_and_corp_share_score_and_uncertainty(data):
    """Only miscalibration and discrimination depend on the method."""
    corp, bins = (score_decomposition(data, method=method) for method in ("corp", "bins"))
    assert corp.score == pytest.approx(bins.score, abs=1e-14)
    assert corp.uncertainty == pytest.approx(bins.uncertainty, abs=1e-14)
