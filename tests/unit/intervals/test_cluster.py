"""Intervals over clusters: the jackknife by a loop, and the agreement with the test."""

import numpy as np
import pytest
from scipy.stats import t as student

import caltest as ct
from caltest.errors import NotApplicable


def data(seed=0, count=25, slope=1.0):
    """Labels that depend within clusters of six."""
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(count), 6)
    x = rng.normal(size=clusters.size)
    own = np.where(rng.random(x.size) < 0.4, rng.random(count)[clusters], rng.random(x.size))
    labels = own < 1 / (1 + np.exp(-slope * x))
    return ct.Predictions(1 / (1 + np.exp(-x)), labels, classes=[0, 1], clusters=clusters)


def test_interval_of_a_score_is_that_of_a_loop():
    """T -+ t se, with the values without each cluster."""
    p = data()
    result = ct.test_calibration(None, p, test="brier", n_resamples=99, rng=0)
    found = result.confidence_interval()
    squares = np.square(p.labels - p.probs[:, 1])
    without = np.array([squares[p.clusters != c].mean() for c in range(25)])
    error = np.sqrt(24 / 25 * np.sum(np.square(without - without.mean())))
    assert found.high - found.estimate == pytest.approx(student.isf(0.025, 24) * error)
    assert found.method == "Student's interval, jackknife over 25 clusters"


@pytest.mark.parametrize("key", ["skce", "ece", "ks", "debiased-ece", "kce"])
def test_error_has_zero_in_its_interval_unless_the_test_rejects(key):
    """Data sets that are calibrated or not: interval and p-value agree."""
    for seed, slope in enumerate([1.0, 1.0, 0.3, 0.1]):
        result = ct.test_calibration(None, data(seed, slope=slope), test=key, rng=0)
        interval = result.confidence_interval(n_resamples=199)
        assert interval.low <= max(result.estimate, 0.0) <= interval.high
        assert result.pvalue <= 0.05 or interval.low == 0


@pytest.mark.parametrize(
    ("key", "seed", "value"), [("calibration-slope", 1, 1.0), ("brier", 0, None)]
)
def test_value_of_calibration_is_held_unless_the_test_rejects(key, seed, value):
    """Student's t over six clusters leaves it out, where signs, or skewed sums, do not."""
    p = data(seed, count=6, slope=0.4)
    weight = np.random.default_rng(seed).lognormal(size=p.n)
    p = ct.Predictions(p.probs, p.labels, sample_weight=weight, clusters=p.clusters)
    result = ct.test_calibration(p, test=key, n_resamples=199, rng=0)
    interval = result.confidence_interval()
    value = value or weight @ p.probs.prod(axis=1) / weight.sum()
    assert result.pvalue > 0.05
    assert min(abs(interval.low - value), abs(interval.high - value)) < 1e-12
    assert "does not reject" in interval.notes[-1]


def test_many_clusters_are_left_out_in_groups():
    """No more than 200 values are computed."""
    result = ct.test_calibration(None, data(count=450), test="brier", n_resamples=99, rng=0)
    assert result.confidence_interval().low < result.estimate


def test_another_method_says_that_it_takes_rows_as_independent():
    result = ct.test_calibration(None, data(), test="brier", n_resamples=99, rng=0)
    notes = result.confidence_interval(method="bca", n_resamples=99).notes
    assert "treated as independent" in notes[0]


def test_method_needs_clusters():
    p = data()
    result = ct.test_calibration(p.probs, p.labels, test="brier", n_resamples=99, rng=0)
    with pytest.raises(NotApplicable, match="pass cluster="):
        result.confidence_interval(method="cluster")
