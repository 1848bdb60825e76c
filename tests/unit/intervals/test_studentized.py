"""Bootstrap of Student's t, compared with resamples written out."""

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.intervals import mean
from caltest.intervals.base import resample
from caltest.measures.recalibration.expected_observed_ratio import MeanCalibration
from caltest.measures.scores.scores import SKEW, BrierScore, LogLoss
from caltest.nulls.base import Draws

OPTIONS = (0.9, Draws(299, 5))
DATA = generative_model("M2", n=40, m=2, alpha=1.0, rng=3)


def ends(scores, weights):
    """Resample scores with weights, row by row."""

    def mean_and_error(rows):
        x, w = scores[rows], weights[rows]
        mean = (w * x).sum() / w.sum()
        square = np.square(w * (x - mean)).sum() * len(x) / (len(x) - 1)
        return np.array([mean, np.sqrt(square) / w.sum()])

    n = len(scores)
    mean, error = mean_and_error(np.arange(n))
    drawn = resample(mean_and_error, n, Draws(299, 5))
    assert drawn[:, 1].min() > error / 10.0
    high, low = np.quantile((drawn[:, 0] - mean) / drawn[:, 1], [0.05, 0.95])
    return mean - low * error, mean - high * error


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 41.0)])
@pytest.mark.parametrize("measure", [BrierScore(), LogLoss(), MeanCalibration()])
def test_ends_are_those_of_the_plainest_code(measure, weights):
    data = Predictions(DATA.probs, DATA.labels, sample_weight=weights)
    found = mean.studentized_interval(measure, data, *OPTIONS)
    scores = np.array([measure.evaluate(DATA.subset([i])) for i in range(40)])
    expected = ends(scores, np.ones(40) if weights is None else weights)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)


def test_infinite_score_has_no_interval():
    """A class of probability 0 that happens; the remedy is in the message."""
    data = Predictions([0.0, 0.5, 0.5, 0.5, 0.5], [1, 0, 1, 0, 1])
    with pytest.raises(NotApplicable, match="log loss is infinite for these rows"):
        mean.studentized_interval(LogLoss(), data, *OPTIONS)


def test_score_that_does_not_vary_has_no_interval():
    data = Predictions(np.full(10, 0.5), np.ones(10, int))
    with pytest.raises(NotApplicable, match="Brier is the same for all rows"):
        mean.studentized_interval(BrierScore(), data, *OPTIONS)


def test_resamples_of_equal_rows_leave_the_interval_finite():
    """One row of five differs: every third resample has no standard error, and not below 0."""
    data = Predictions([0.5, 0.5, 0.5, 0.5, 0.9], [1, 0, 1, 0, 0])
    found = mean.studentized_interval(BrierScore(), data, *OPTIONS)
    scores = np.array([0.25, 0.25, 0.25, 0.25, 0.81])
    assert found.high == pytest.approx(scores.mean() + 10 * (scores.mean() - 0.25), rel=1e-9)
    assert found.low >= 0.0


def test_log_loss_of_few_rows_says_so():
    """Forty are few for it, and not for the Brier score."""
    assert SKEW in mean.studentized_interval(LogLoss(), DATA, *OPTIONS).notes
    assert not mean.studentized_interval(BrierScore(), DATA, *OPTIONS).notes
