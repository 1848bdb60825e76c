"""Intervals of biased errors, compared with the plainest code."""

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.intervals import bootstrap, mean
from caltest.intervals.base import calibrated_values, resample
from caltest.measures.isotonic.corp import CorpMiscalibration
from caltest.measures.recalibration.expected_observed_ratio import MeanCalibration
from caltest.measures.scores.confidence import ECELowerBound
from caltest.measures.smooth.ici import EXTREME, ICI, Emax
from caltest.measures.smooth.smooth_ece import SmoothECE
from caltest.nulls.base import Draws

OPTIONS = (0.9, Draws(99, 5))
DATA = generative_model("M2", n=60, m=2, alpha=1.0, rng=3)


@pytest.mark.parametrize("measure", [CorpMiscalibration(), SmoothECE(bandwidth=0.1)])
def test_ends_are_those_of_the_plainest_code(measure):
    """Spread of resampled rows about their mean, and noise of redrawn labels."""
    rows = resample(lambda r: r, 60, Draws(99, 5))
    values = np.array([measure.evaluate(DATA.subset(r)) for r in rows])
    noise = calibrated_values(measure, DATA, Draws(99, 5))
    spread = np.abs(np.quantile(values, [0.05, 0.95]) - values.mean()).max()
    estimate = measure.evaluate(DATA)
    bias = max(values.mean() - estimate, 0.0)
    low = max(0.0, estimate - max(spread + bias, np.quantile(noise, 0.95)))
    high = estimate + spread
    if measure.is_squared:
        root, unseen = np.sqrt(estimate), measure.unseen_reach(DATA, 0.05)
        high = (root + np.hypot(np.sqrt(high) - root, unseen)) ** 2
    found = bootstrap.plug_in_interval(measure, DATA, *OPTIONS)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("measure", [ICI(), ECELowerBound()])
def test_upper_end_is_at_least_that_of_the_mean_gap(measure, flipped):
    """No event among twenty rows of .02 does not tell whether there are many more, or fewer."""
    event = np.linspace(0.01, 0.03, 20)
    data = Predictions(1 - event if flipped else event, np.full(20, int(flipped)), classes=[0, 1])
    found = bootstrap.plug_in_interval(measure, data, *OPTIONS)
    gap = mean.unseen_events_interval(MeanCalibration(), data, *OPTIONS)
    largest = max(gap.high, -gap.low)
    assert found.high == pytest.approx(largest, abs=0.03)
    assert largest > 0.08


def test_error_that_does_not_vary_has_no_interval():
    data = Predictions(np.full(10, 0.5), np.ones(10, int))
    with pytest.raises(NotApplicable, match="or the same, for all resamples"):
        bootstrap.plug_in_interval(SmoothECE(bandwidth=0.1), data, *OPTIONS)


def test_extreme_errors_of_few_rows_say_so():
    """Emax of 60 rows, not of 120, and not the ICI."""
    many = generative_model("M2", n=120, m=2, alpha=1.0, rng=3)
    assert EXTREME in bootstrap.plug_in_interval(Emax(), DATA, *OPTIONS).notes
    assert not bootstrap.plug_in_interval(Emax(), many, *OPTIONS).notes
    assert not bootstrap.plug_in_interval(ICI(), DATA, *OPTIONS).notes
