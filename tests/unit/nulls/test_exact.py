"""The exact null: labels redrawn from predictions that are held fixed."""

import math

import numpy as np
import pytest

import caltest as ct
from caltest import Predictions
from caltest.datasets import generative_model
from caltest.kernels import Exponential, Scaled
from caltest.measures import SKCE, skce

ESTIMATORS = ["unbiased", "biased", "linear", "block"]


def test_exact_pvalue_counts_the_resampled_values(outcome_of, count):
    """It is (1 + #{T* >= T}) / (1 + B) of the distribution that the result holds."""
    predictions = generative_model("M1", n=20, m=3, rng=0)
    outcome = outcome_of("exact", count, predictions)
    extreme = np.count_nonzero(outcome.distribution >= outcome.statistic)
    assert outcome.pvalue == (1 + extreme) / 100
    assert outcome.distribution.size == 99


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_exact_statistic_is_the_estimate(estimator, m, outcome_of):
    """What is compared with the resamples is the value of the labels that were observed."""
    predictions = generative_model("M2", n=20, m=m, rng=0)
    outcome = outcome_of("exact", SKCE(estimator=estimator), predictions)
    expected = skce(predictions, estimator=estimator)
    assert outcome.statistic == outcome.estimate == pytest.approx(expected, rel=1e-12)


def test_exact_null_holds_the_predictions_fixed(outcome_of, count):
    """What depends on the predictions alone is the same in every resample."""
    predictions = generative_model("M1", n=20, m=3, alpha=1.0, rng=0)
    outcome = outcome_of("exact", count, predictions)
    parts = outcome.distribution - predictions.probs[:, 0].mean()
    np.testing.assert_allclose(parts, np.round(parts), atol=1e-12)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_exact_pvalue_tends_to_the_enumerated_tail(estimator, m, outcome_of, enumerated_tail):
    """With n = 9 all label vectors can be listed: B within 5 standard errors, and at once."""
    probs = np.random.default_rng(m).dirichlet(np.ones(m), 9)
    probs = probs[np.argsort(probs[:, 1])]  # the order in which a line keeps its rows
    predictions = Predictions(probs, [m - 1, 0, 1, 1, 0, 0, 1, 0, 1])
    measure = SKCE(estimator=estimator, kernel=Exponential(0.5))
    tail = enumerated_tail(measure, predictions)
    drawn = outcome_of("exact", measure, predictions, n_resamples=m**9 - 2)
    assert drawn.distribution.size == m**9 - 2
    assert abs(drawn.pvalue - tail) < 5 * math.sqrt(tail * (1 - tail) / m**9) + 1 / m**9
    listed = outcome_of("exact", measure, predictions, n_resamples=m**9 - 1)
    assert listed.distribution is None
    assert listed.pvalue == pytest.approx(tail, rel=1e-9)


def test_exact_pvalue_of_certain_predictions_is_one(outcome_of):
    """Redrawn labels are always the same, and ties count as extreme."""
    predictions = Predictions(np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 0])
    for estimator in ESTIMATORS:
        assert outcome_of("exact", SKCE(estimator=estimator), predictions).pvalue == 1.0


def test_exact_pvalue_of_impossible_labels_is_the_smallest(outcome_of):
    """A label of probability 0 has never been redrawn."""
    predictions = generative_model("M3", n=60, m=3, rng=0)
    outcome = outcome_of("exact", SKCE(), predictions, n_resamples=199)
    assert outcome.pvalue == 1 / 200


def test_exact_null_repeats_with_its_seed(outcome_of):
    """The seed gives the resamples, another seed gives others."""
    predictions = generative_model("M1", n=20, m=3, rng=0)
    first, again, other = (outcome_of("exact", SKCE(), predictions, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.distribution, again.distribution)
    assert not np.array_equal(first.distribution, other.distribution)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("size", [1e-14, 1e14])
def test_exact_pvalue_does_not_depend_on_the_scale_of_the_kernel(size, estimator, outcome_of):
    """Ties are measured in units of the kernel."""
    predictions = generative_model("M2", n=40, m=3, pi=0.1, rng=1)
    kernels = Scaled(Exponential()), Scaled(Exponential(), size * np.eye(3))
    pvalues = [
        outcome_of("exact", SKCE(estimator=estimator, kernel=kernel), predictions).pvalue
        for kernel in kernels
    ]
    assert pvalues[0] == pvalues[1] < 1


@pytest.mark.parametrize("m", [2, 3])
def test_exact_null_takes_weights(m, outcome_of):
    """Weights of 1 change nothing, and others do."""
    predictions = generative_model("M2", n=30, m=m, pi=0.2, rng=0)

    def weighted(weights):
        p = Predictions(predictions.probs, predictions.labels, sample_weight=weights)
        return outcome_of("exact", SKCE(), p)

    plain = outcome_of("exact", SKCE(), predictions)
    np.testing.assert_allclose(weighted(np.ones(30)).distribution, plain.distribution, atol=1e-15)
    assert not np.allclose(weighted(np.arange(1, 31)).distribution, plain.distribution)


@pytest.mark.parametrize("test", ["brier", "log-loss", "spiegelhalter"])
def test_scores_added_as_labels_are_drawn_are_those_of_labels_that_are_kept(test):
    """With another test, whose labels are kept, a score has the same null distribution."""
    rng = np.random.default_rng(1)
    p = np.concatenate([[0.0, 1.0, 0.5, 1e-17], rng.beta(0.7, 0.7, 300)])
    y, weight = (rng.random(p.size) < p).astype(int), rng.lognormal(size=p.size)
    options = {"n_resamples": 199, "rng": 2, "sample_weight": weight}
    alone = ct.test_calibration(p, y, test=test, **options)
    beside = ct.test_calibration(p, y, test=[test, "ece"], **options)[0]
    np.testing.assert_allclose(alone.null_distribution, beside.null_distribution, rtol=1e-9)
    assert alone.pvalue == beside.pvalue
