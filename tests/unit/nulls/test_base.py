"""Consistency resampling: predictions with replacement, then labels."""

import numpy as np
import pytest

from caltest import Predictions, test_calibration
from caltest.datasets import generative_model
from caltest.errors import NotApplicable
from caltest.measures import REGISTRY, SKCE
from caltest.nulls import base as resampling
from caltest.nulls.base import BATCH, drawn_batches, resampled_values, resampling_pvalue
from caltest.nulls.exact import enumerate_labels
from caltest.numerics.joint import TIES
from caltest.numerics.loops import threads


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


@pytest.mark.parametrize("key", ["ece", "ks", "kce", "brier"])
def test_rows_of_weight_zero_are_not_drawn(key):
    """A resample of them alone was 0 / 0, or had no rows; an interval from resamples likewise."""
    probs, labels, weight = [0.1, 0.9, 0.2, 0.4, 0.6, 0.7], [1, 1, 0, 0, 1, 1], np.ones(6)
    weight[:1] = 0
    found = []
    for some, own in ((slice(None), weight), (slice(1, None), None)):
        given = {"sample_weight": own, "test": key, "n_resamples": 99, "rng": 1}
        result = test_calibration(probs[some], labels[some], null="consistency", **given)
        method = "bca" if key == "brier" else "plug-in"
        ends = result.confidence_interval(0.9, method=method, rng=1)
        found.append((result.pvalue, ends.low, ends.high))
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_consistency_says_that_it_may_reject_calibrated_models(outcome_of, count):
    """The warning is among the notes of every result."""
    outcome = outcome_of("consistency", count, generative_model("M1", n=20, m=3, rng=0))
    assert "can make calibrated models fail" in outcome.notes[-1]


# ---- the exact null of few predictions ----------------------------------------------------------

ECE = REGISTRY["ece"]


def test_impossible_labels_are_left_to_resampling():
    """Their p-value is the smallest that B resamples can give, at every n."""
    bound = ECE().bind(Predictions([[0.5, 0.5], [0.0, 1.0]], [0, 0]))
    assert enumerate_labels(bound, "greater", 100) is None


# ---- resamples in batches -----------------------------------------------------------------------


def draw(rng, size):
    return rng.integers(0, 9, (size, 5)).astype(np.uint8)


def evaluate(rows):
    """Give each row of labels a number of its own."""
    return rows @ 9.0 ** np.arange(5)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("at_a_time", [1, 100, 1 << 28])
def test_values_do_not_depend_on_grouping(pooled, n_jobs, at_a_time, monkeypatch):
    """Pools, chunks and threads give the rows of the plain loop."""
    children = np.random.SeedSequence(7).spawn(4)
    sizes = [BATCH, BATCH, BATCH, 8]
    rows = [draw(np.random.default_rng(c), s) for c, s in zip(children, sizes, strict=True)]
    monkeypatch.setattr(resampling, "AT_A_TIME", at_a_time)
    monkeypatch.setattr(resampling, "POOL", at_a_time)
    batches = drawn_batches(draw, 7, 200)
    for several in (evaluate, lambda *given: np.stack([evaluate(*given)] * 2)):
        with threads(n_jobs):
            values = resampled_values(batches, several, 5, pooled=pooled)
        np.testing.assert_array_equal(values, several(np.concatenate(rows)))


@pytest.mark.parametrize(
    ("observed", "alternative", "expected"),
    [
        (3.5, "greater", 2 / 6),
        (3.0, "greater", 3 / 6),  # a tie counts as extreme
        (9.0, "greater", 1 / 6),
        (0.0, "greater", 1.0),
        (3.5, "two-sided", 4 / 6),
        (0.5, "two-sided", 4 / 6),
        (9.0, "two-sided", 2 / 6),
        (2.0, "two-sided", 1.0),
    ],
)
def test_pvalue_counts_what_is_at_least_as_extreme(observed, alternative, expected):
    """It is (1 + #) / (1 + B); two-sided, twice the smaller tail and at most 1."""
    resampled = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert resampling_pvalue(observed, resampled, 1.0, alternative) == pytest.approx(expected)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_pvalue_has_ties_within_rounding_of_the_scale(scale):
    """What is less by some eps of the scale is a tie; what is less by more is not."""
    observed = 0.25 * scale
    near, far = observed - 0.5 * TIES * scale, observed - 2 * TIES * scale
    assert resampling_pvalue(observed, np.array([near]), scale) == 1.0
    assert resampling_pvalue(observed, np.array([far]), scale) == 0.5


@pytest.mark.parametrize(("observed", "resampled"), [(np.nan, [0.0]), (0.0, [np.nan, 1.0])])
def test_resampling_pvalue_of_nan_is_an_error(observed, resampled):
    """A comparison with nan is false, which would make the p-value small."""
    with pytest.raises(NotApplicable, match="not a number"):
        resampling_pvalue(observed, np.array(resampled))
