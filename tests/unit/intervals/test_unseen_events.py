"""Intervals of means that know the events which the rows may lack."""

import numpy as np
import pytest
from scipy import stats

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.intervals import mean
from caltest.measures.recalibration.expected_observed_ratio import MeanCalibration
from caltest.measures.scores.scores import BrierScore, LogLoss, SphericalScore
from caltest.nulls.base import Draws

OPTIONS = (0.9, Draws(1999, 5))
METHODS = [mean.unseen_events_interval, mean.studentized_interval]
MEASURES = [BrierScore(), LogLoss(), SphericalScore(), MeanCalibration()]


@pytest.mark.parametrize("d", [0, 2])
def test_ends_for_equal_rows_are_at_least_those_of_clopper_and_pearson(d):
    """A residual that two values can have is a rate less the prediction."""
    data = Predictions(np.full(40, 0.02), (np.arange(40) < d).astype(int), classes=[0, 1])
    found = mean.unseen_events_interval(MeanCalibration(), data, *OPTIONS)
    exact = stats.binomtest(d, 40).proportion_ci(0.9)
    assert found.high + 0.02 >= exact.high * 0.94
    assert found.low + 0.02 <= exact.low + 0.002


@pytest.mark.parametrize("measure", MEASURES)
def test_interval_is_no_shorter_than_the_studentized(measure):
    data = generative_model("M2", n=40, m=2, alpha=1.0, rng=3)
    wide, own = (interval(measure, data, *OPTIONS) for interval in METHODS)
    assert wide.low <= own.low < own.high <= wide.high


@pytest.mark.parametrize("measure", MEASURES)
def test_scores_without_an_event_have_an_interval(measure):
    """Equal scores: the bootstrap sees no variance, and the calibrated score is within reach."""
    data = Predictions(np.full(30, 0.02), np.zeros(30, int), classes=[0, 1])
    with pytest.raises(NotApplicable, match="the same for all rows"):
        mean.studentized_interval(measure, data, *OPTIONS)
    found = mean.unseen_events_interval(measure, data, *OPTIONS)
    assert found.low <= measure.calibrated_value(data) <= found.high


@pytest.mark.parametrize("measure", MEASURES)
def test_calibrated_value_is_the_mean_over_all_labels(measure):
    """Written out for two rows; with weights, of their ratio."""
    probs, weight = np.array([0.1, 0.7]), np.array([1.0, 3.0])
    total = 0.0
    for labels in ([0, 0], [0, 1], [1, 0], [1, 1]):
        chance = np.where(labels, probs, 1 - probs).prod()
        data = Predictions(probs, labels, sample_weight=weight, classes=[0, 1])
        total += chance * measure.evaluate(data)
    assert measure.calibrated_value(data) == pytest.approx(total, abs=1e-12)


def test_many_events_are_left_to_the_bootstrap():
    """None is missed, and rows are many."""
    data = generative_model("M2", n=8000, m=2, alpha=1.0, rng=3)
    wide, own = (interval(BrierScore(), data, 0.9, Draws(99, 5)) for interval in METHODS)
    assert wide == own
