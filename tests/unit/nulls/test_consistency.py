"""Consistency resampling: predictions with replacement, then labels."""

import numpy as np
import pytest

from caltest import Predictions
from caltest.datasets import generative_model
from caltest.measures import SKCE
from caltest.nulls.base import BATCH


def test_consistency_pvalue_counts_the_resampled_values(outcome_of, count):
    """It is (1 + #{T* >= T}) / (1 + B) of the distribution that the result holds."""
    outcome = outcome_of("consistency", count, generative_model("M1", n=20, m=3, rng=0))
    extreme = np.count_nonzero(outcome.distribution >= outcome.statistic)
    assert outcome.pvalue == (1 + extreme) / 100


def test_consistency_draws_predictions_anew(outcome_of, count):
    """What depends on the predictions alone varies, around its observed value."""
    predictions = generative_model("M1", n=400, m=3, alpha=1.0, rng=0)
    outcome = outcome_of("consistency", count, predictions, n_resamples=400)
    first = predictions.probs[:, 0]
    parts = outcome.distribution % 1.0  # the counts are whole, the mean of 400 values is below 1
    error = first.std() / 20
    assert parts.std() == pytest.approx(error, rel=0.2)
    assert abs(parts.mean() - first.mean()) < 5 * error / 20


@pytest.mark.parametrize("estimator", ["unbiased", "biased", "linear", "block"])
def test_consistency_evaluates_the_measure_on_the_resample(estimator, outcome_of):
    """Bandwidth and all else are done anew for the predictions drawn."""
    predictions, measure = generative_model("M2", n=15, m=3, rng=0), SKCE(estimator=estimator)
    outcome = outcome_of("consistency", measure, predictions, n_resamples=3, seed=5)
    rng = np.random.default_rng(np.random.SeedSequence(5).spawn(1)[0])
    for value in outcome.distribution:
        drawn = predictions.subset(rng.integers(0, 15, 15))
        key = rng.integers(np.iinfo(np.uint64).max, size=1, dtype=np.uint64)
        labels = measure.bind(drawn).redraw(key)[0]
        expected = measure.bind(Predictions(drawn.probs, labels)).value()
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_consistency_says_that_it_may_reject_calibrated_models(outcome_of, count):
    """The warning is among the notes of every result."""
    outcome = outcome_of("consistency", count, generative_model("M1", n=20, m=3, rng=0))
    assert "can make calibrated models fail" in outcome.notes[-1]


def test_consistency_repeats_with_its_seed(outcome_of):
    """Batches have seeds of their own, so that threads change nothing."""
    predictions = generative_model("M1", n=10, m=3, rng=0)
    options = {"n_resamples": BATCH + 5, "seed": 3}
    one = outcome_of("consistency", SKCE(), predictions, n_jobs=1, **options)
    two = outcome_of("consistency", SKCE(), predictions, n_jobs=2, **options)
    np.testing.assert_array_equal(one.distribution, two.distribution)
