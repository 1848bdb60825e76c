"""Intervals by resampled rows, compared with those of SciPy and with plain code."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats

import caltest as ct
from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.intervals import bootstrap, choose, mean
from caltest.intervals.base import calibrated_values, resample
from caltest.intervals.bootstrap import of_rows, row_function, rows_without, values_without
from caltest.measures.bins.debiased_ece import DebiasedECE
from caltest.measures.bins.ece import ECE, ClasswiseECE
from caltest.measures.cumulative.cumulative import KSError, KuiperError
from caltest.measures.isotonic.corp import CorpMiscalibration
from caltest.measures.recalibration.cox import Unreliability
from caltest.measures.recalibration.expected_observed_ratio import MeanCalibration
from caltest.measures.scores.confidence import ECELowerBound, Overconfidence
from caltest.measures.scores.scores import SKEW, BrierScore, LogLoss, SphericalScore
from caltest.measures.smooth.ici import EXTREME, ICI, Emax
from caltest.measures.smooth.smooth_ece import SmoothECE
from caltest.nulls.base import Draws

OPTIONS = (0.9, Draws(299, 5))
DATA = generative_model("M2", n=40, m=2, alpha=1.0, rng=3)
MANY = generative_model("M2", n=30, m=3, alpha=1.0, rng=1)
WEIGHTED = Predictions(DATA.probs, DATA.labels, sample_weight=np.arange(40.0))


@pytest.mark.parametrize("measure", [BrierScore(), LogLoss(), Overconfidence()])
def test_ends_are_those_of_scipy(measure):
    """`scipy.stats.bootstrap` of the rows, given the same resamples."""
    found = bootstrap.bca_interval(measure, DATA, *OPTIONS)
    function = of_rows(measure, DATA)
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
    fast, slow = row_function(measure, data), of_rows(measure, data)
    rows = np.random.default_rng(0).integers(data.n, size=data.n)
    assert fast(rows) == pytest.approx(slow(rows), rel=1e-12)
    left = [slow(rows) for rows in rows_without(np.arange(data.n), 0)]
    np.testing.assert_allclose(values_without(measure, data, 0), left, rtol=1e-12)


def test_acceleration_of_groups_is_that_of_rows():
    """The skewness of a mean shows in groups of rows too."""
    data = generative_model("M2", n=600, m=2, alpha=1.0, rng=3)
    rows, number = bootstrap.acceleration(values_without(LogLoss(), data, 0)), np.arange(data.n)
    groups = [
        bootstrap.acceleration(values_without(LogLoss(), data, seed, number)) for seed in range(20)
    ]
    assert np.mean(groups) == pytest.approx(rows, rel=0.3)


@pytest.mark.parametrize("interval", [bootstrap.bca_interval, mean.studentized_interval])
def test_infinite_score_has_no_interval(interval):
    """A class of probability 0 that happens; the remedy is in the message."""
    data = Predictions([0.0, 0.5, 0.5, 0.5, 0.5], [1, 0, 1, 0, 1])
    with pytest.raises(NotApplicable, match="log loss is infinite for these rows"):
        interval(LogLoss(), data, *OPTIONS)


@pytest.mark.parametrize(
    ("interval", "measure", "said"),
    [
        (bootstrap.bca_interval, BrierScore(), "Brier is the same for all resamples"),
        (mean.studentized_interval, BrierScore(), "Brier is the same for all rows"),
        (bootstrap.plug_in_interval, SmoothECE(bandwidth=0.1), "or the same, for all resamples"),
        (bootstrap.jackknife_interval, DebiasedECE(bins=5), "is the same without any row"),
    ],
)
def test_value_that_does_not_vary_has_no_interval(interval, measure, said):
    data = Predictions(np.full(10, 0.5), np.ones(10, int))
    with pytest.raises(NotApplicable, match=said):
        interval(measure, data, *OPTIONS)


def test_estimate_outside_its_resamples_is_noted():
    """The bias correction of a value below all resamples is at its limit, and finite."""
    ends, is_edge = bootstrap.bca_ends(np.linspace(1.0, 2.0, 99), 0.5, 0.0, 0.95)
    assert is_edge
    assert np.isfinite(ends).all()


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


def test_log_loss_of_few_rows_says_so():
    """Forty are few for it, and not for the Brier score."""
    assert SKEW in mean.studentized_interval(LogLoss(), DATA, *OPTIONS).notes
    assert not mean.studentized_interval(BrierScore(), DATA, *OPTIONS).notes


FEWER = (0.9, Draws(99, 5))
SIXTY = generative_model("M2", n=60, m=2, alpha=1.0, rng=3)


@pytest.mark.parametrize("measure", [CorpMiscalibration(), SmoothECE(bandwidth=0.1)])
def test_plug_in_ends_are_those_of_the_plainest_code(measure):
    """Spread of resampled rows about their mean, and noise of redrawn labels."""
    rows = resample(lambda r: r, 60, Draws(99, 5))
    values = np.array([measure.evaluate(SIXTY.subset(r)) for r in rows])
    noise = calibrated_values(measure, SIXTY, Draws(99, 5))
    spread = np.abs(np.quantile(values, [0.05, 0.95]) - values.mean()).max()
    estimate = measure.evaluate(SIXTY)
    bias = max(values.mean() - estimate, 0.0)
    low = max(0.0, estimate - max(spread + bias, np.quantile(noise, 0.95)))
    high = estimate + spread
    if measure.is_squared:
        root, unseen = np.sqrt(estimate), measure.unseen_reach(SIXTY, 0.05)
        high = (root + np.hypot(np.sqrt(high) - root, unseen)) ** 2
    high = max(high, mean.upper_limit(measure, SIXTY, 0.05, Draws(99, 5)))
    found = bootstrap.plug_in_interval(measure, SIXTY, *FEWER)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


BOUND = [ICI(), ECELowerBound(), SmoothECE(bandwidth=0.1), ECE(), ECE(p=2), ClasswiseECE()]


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("measure", [*BOUND, KSError(), KuiperError()])
def test_upper_end_is_at_least_that_of_the_mean_gap(measure, flipped):
    """No event among twenty rows of .02 does not tell whether there are many more, or fewer."""
    event = np.linspace(0.01, 0.03, 20)
    data = Predictions(1 - event if flipped else event, np.full(20, int(flipped)), classes=[0, 1])
    found = choose(measure).compute(measure, data, *FEWER)
    gap = mean.unseen_events_interval(MeanCalibration(), data, *FEWER)
    largest = max(gap.high, -gap.low)
    assert found.high == pytest.approx(largest, abs=0.03)
    assert largest > 0.08


@pytest.mark.full
@pytest.mark.parametrize("measure", [ECE(), KSError()])
def test_upper_end_of_cells_is_at_least_that_of_the_mean_gap(measure):
    """No event among forty rows of .02 that were counted, of which .05 may have one."""
    frame = pl.DataFrame({"p": np.linspace(0.01, 0.03, 40), "y": np.zeros(40, int)})
    found = ct.test_calibration(
        frame, label="y", probs="p", classes=[0, 1], test=measure, engine="cells", rng=1
    )
    assert found.confidence_interval(0.9, n_resamples=199).high > 0.04


@pytest.mark.parametrize(
    ("measure", "factor"),
    [(ECE(), 1.0), (ECE(distance="cityblock"), 2.0), (ClasswiseECE(), 2.0 / 3.0)],
)
def test_upper_end_of_several_classes_knows_of_labels_that_were_not_seen(measure, factor):
    """Of forty rows with the predicted class, 1 - .05^(1/40) may have another in place of .02."""
    rows = [[0.98, 0.01, 0.01], [0.01, 0.98, 0.01]]
    data = Predictions(np.repeat(rows, 20, axis=0), np.repeat([0, 1], 20), classes=[0, 1, 2])
    found = choose(measure).compute(measure, data, *OPTIONS)
    assert found.high == pytest.approx(factor * (0.98 - 0.05 ** (1.0 / 40.0)), rel=0.15)


@pytest.mark.parametrize("measure", [KSError(), BrierScore()])
def test_row_that_was_not_seen_may_be_heavy(measure):
    """Twenty rows with two thirds of the weight, none with an event, tell as much as 41."""
    weight = np.repeat([1.0, 20.0], [180, 20])
    data = Predictions(np.full(200, 0.02), np.zeros(200, int), classes=[0, 1], sample_weight=weight)
    found = choose(measure).compute(measure, data, *OPTIONS)
    assert found.high == pytest.approx(1.0 - 0.05 ** (1.0 / 41.0), abs=0.03)


def test_extreme_errors_of_few_rows_say_so():
    """Emax of 60 rows, not of 120, and not the ICI."""
    many = generative_model("M2", n=120, m=2, alpha=1.0, rng=3)
    assert EXTREME in bootstrap.plug_in_interval(Emax(), SIXTY, *FEWER).notes
    assert not bootstrap.plug_in_interval(Emax(), many, *FEWER).notes
    assert not bootstrap.plug_in_interval(ICI(), SIXTY, *FEWER).notes


@pytest.mark.parametrize(
    "measure", [DebiasedECE(bins=5), DebiasedECE(bins=5, root=True), Unreliability()]
)
def test_ends_are_those_of_leaving_out_rows(measure):
    """Student's interval with n - 1 degrees of freedom, above on the scale of the root."""
    without = [measure.evaluate(DATA.subset(np.arange(40) != i)) for i in range(40)]
    reach = stats.t.ppf(0.95, 39) * np.sqrt(39 * np.var(without))
    found = bootstrap.jackknife_interval(measure, DATA, *OPTIONS)
    estimate = measure.evaluate(DATA)
    unseen = measure.unseen_reach(DATA, 0.05)
    high = estimate + np.hypot(reach, unseen)
    if not getattr(measure, "root", False):
        root = np.sqrt(estimate)
        high = (root + np.hypot(reach / (2.0 * root), unseen)) ** 2
    assert unseen > 0.0
    assert estimate > reach / 2.0
    assert (found.low, found.high) == pytest.approx((max(estimate - reach, 0.0), high), rel=1e-9)
