"""What keeps an interval from contradicting the exact test."""

import numpy as np
import pytest

import caltest as ct
from caltest.intervals.base import REACHES, REJECTED, Exact, agreeing
from caltest.measures.kernel.skce import SKCE
from caltest.measures.outcome import Ends
from caltest.measures.recalibration.cox import CalibrationSlope
from caltest.measures.scores.confidence import Overconfidence

DATA = ct.datasets.generative_model("M2", n=40, m=2, rng=1)
NOISE = np.linspace(0.0, 1.0, 1001)
RARE = ct.Predictions(np.random.default_rng(0).beta(1, 60, 100), np.zeros(100, int), classes=[0, 1])


def agreed(ends, measure, exact):
    """Return the interval at 95 %; the noise is drawn only where the test has none."""
    value = measure.calibrated_value(DATA)
    return agreeing(ends, measure, exact, value, lambda: NOISE, level=0.95)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("key", ["skce", "kce", "mmce", "skce-block", "unreliability"])
def test_no_event_among_rare_ones_is_no_error(key):
    """The standard error is next to nothing, and p far from small."""
    result = ct.test_calibration(RARE, test=key, rng=0)
    interval = result.confidence_interval(n_resamples=199)
    assert interval.low == 0.0
    assert interval.notes[-1] == REACHES.format(p=result.pvalue, value=0.0)


@pytest.mark.parametrize(
    ("pvalue", "low", "expected"), [(0.06, 0.3, 0.0), (0.01, 0.3, 0.225), (0.01, 0.1, 0.1)]
)
def test_lower_end_is_beyond_the_noise_of_calibration(pvalue, low, expected):
    """0 unless p is small; else T = 1.2 less the quantile .975 of the noise, or the own end."""
    ends = Ends(low, 2.0, 1.2, "")
    found = agreed(ends, SKCE(), Exact(pvalue, 1.2, NOISE))
    assert found.low == pytest.approx(expected)


@pytest.mark.parametrize(("low", "high"), [(1.2, 2.0), (0.1, 0.8)])
def test_value_of_calibration_is_held_on_either_side(low, high):
    ends = Ends(low, high, 0.5, "")
    found = agreed(ends, CalibrationSlope(), Exact(0.2, 0.5, None))
    assert (found.low, found.high) == (min(low, 1.0), max(high, 1.0))
    kept = agreed(ends, CalibrationSlope(), Exact(0.01, 0.5, None))
    assert kept == ends


def test_interval_that_reaches_calibration_says_that_the_test_rejects():
    """It is conservative there, and the reader should not take it for a contradiction."""
    ends = Ends(0.5, 1.5, 0.8, "")
    found = agreed(ends, CalibrationSlope(), Exact(0.01, 0.8, None))
    assert found.notes == (REJECTED.format(p=0.01, value=1.0),)


def test_measure_without_such_a_value_is_left_alone():
    """The mean confidence of wrong predictions depends on all of them."""
    ends = Ends(0.5, 1.5, 0.8, "")
    assert agreed(ends, Overconfidence(), Exact(0.5, 0.8, None)) == ends


def test_few_resamples_leave_the_exact_pvalue_to_the_interval():
    """Nine resamples cannot give p = .05, and the error is plain."""
    data = ct.datasets.generative_model("M2", n=300, m=2, rng=1)
    result = ct.test_calibration(data, test="skce", n_resamples=9, rng=1)
    assert result.pvalue > 0.05
    assert result.confidence_interval(n_resamples=199).low > 0.0
