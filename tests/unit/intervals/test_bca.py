"""BCa intervals, compared with those of SciPy."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.intervals import bootstrap
from caltest.intervals.base import resample
from caltest.intervals.bootstrap import AnyMeasure, RowMean, row_function
from caltest.measures.scores.confidence import Overconfidence
from caltest.measures.scores.scores import BrierScore, LogLoss, SphericalScore
from caltest.nulls.base import Draws

OPTIONS = (0.9, Draws(299, 5))
DATA = generative_model("M2", n=40, m=2, alpha=1.0, rng=3)
MANY = generative_model("M2", n=30, m=3, alpha=1.0, rng=1)
WEIGHTED = Predictions(DATA.probs, DATA.labels, sample_weight=np.arange(40.0))


@pytest.mark.parametrize("measure", [BrierScore(), LogLoss(), Overconfidence()])
def test_ends_are_those_of_scipy(measure):
    """`scipy.stats.bootstrap` of the rows, given the same resamples."""
    found = bootstrap.bca_interval(measure, DATA, *OPTIONS)
    function = AnyMeasure(measure, DATA)
    values = resample(function, 40, Draws(299, 5))
    given = SimpleNamespace(bootstrap_distribution=values)
    expected = stats.bootstrap(
        (np.arange(40),),
        lambda rows: function(rows.astype(int)),
        vectorized=False,
        confidence_level=0.9,
        n_resamples=0,
        method="BCa",
        bootstrap_result=given,
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize("data", [DATA, WEIGHTED, MANY])
@pytest.mark.parametrize("measure", [BrierScore(), LogLoss(), SphericalScore()])
def test_mean_of_row_scores_is_the_measure_of_the_rows(measure, data):
    """The fast path against binding the measure to the rows drawn, and left out."""
    fast, slow = row_function(measure, data), AnyMeasure(measure, data)
    assert isinstance(fast, RowMean)
    rows = np.random.default_rng(0).integers(data.n, size=data.n)
    assert fast(rows) == pytest.approx(slow(rows), rel=1e-12)
    np.testing.assert_allclose(fast.without(0), slow.without(0), rtol=1e-12)


def test_acceleration_of_groups_is_that_of_rows():
    """The skewness of a mean shows in groups of rows too."""
    data = generative_model("M2", n=600, m=2, alpha=1.0, rng=3)
    rows = bootstrap.acceleration(row_function(LogLoss(), data).without(0))
    function = AnyMeasure(LogLoss(), data)
    groups = [bootstrap.acceleration(function.without(seed)) for seed in range(20)]
    assert np.mean(groups) == pytest.approx(rows, rel=0.3)


def test_infinite_score_has_no_interval():
    """A class of probability 0 that happens; the remedy is in the message."""
    data = Predictions([0.0, 0.5, 0.5, 0.5, 0.5], [1, 0, 1, 0, 1])
    with pytest.raises(NotApplicable, match="log loss is infinite for these rows"):
        bootstrap.bca_interval(LogLoss(), data, *OPTIONS)


def test_score_that_does_not_vary_has_no_interval():
    data = Predictions(np.full(10, 0.5), np.ones(10, int))
    with pytest.raises(NotApplicable, match="Brier is the same for all resamples"):
        bootstrap.bca_interval(BrierScore(), data, *OPTIONS)


def test_estimate_outside_its_resamples_is_noted():
    """The bias correction of a value below all resamples is at its limit, and finite."""
    ends, is_edge = bootstrap.bca_ends(np.linspace(1.0, 2.0, 99), 0.5, 0.0, 0.95)
    assert is_edge
    assert np.isfinite(ends).all()
