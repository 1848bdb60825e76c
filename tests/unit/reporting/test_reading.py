"""Sentences on p-values: right for one- and two-sided tests, with and without resampling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import caltest as ct
from caltest.reporting.reading import frequency, headline, reading, segments_reading


@pytest.fixture(scope="module")
def tested():
    """Return a test of a model that is not calibrated."""
    return ct.test_calibration(ct.datasets.generative_model("M2", n=80, m=3, rng=1), rng=1)


@pytest.mark.parametrize(
    ("pvalue", "words"),
    [
        (1.0, "about 100 in 100"),
        (0.1, "about 10 in 100"),
        (0.05, "about 50 in 1,000"),
        (0.001, "about 1 in 1,000"),
        (0.0002, "about 2 in 10,000"),
        (1e-300, "fewer than 1 in 10,000"),
    ],
)
def test_frequency_counts(pvalue, words):
    """A probability is told as a count, never as 0."""
    assert frequency(pvalue) == words


def test_smallest_pvalue_is_told_as_a_bound(tested):
    """No redrawn labels came near: the sentence says at most, and how many were drawn."""
    assert tested.pvalue == 0.001
    assert "at most about 1 in 1,000" in reading(tested)
    assert "in none of 999 sets of labels" in reading(tested)


def test_count_is_that_behind_the_pvalue(tested):
    """(1 + k) / (1 + B) is told as k of B."""
    told = reading(replace(tested, pvalue=0.25))
    assert "about 25 in 100 data sets like this one (in 249 of 999 sets" in told


def test_two_sided_test_is_told_by_distance():
    """A z may be large or small; the sentence says as far."""
    data = ct.datasets.generative_model("M1", n=80, m=2, rng=1)
    told = ct.test_calibration(data, test="spiegelhalter", null="asymptotic")
    assert "as far from its expected value as" in reading(told)
    assert "sets of labels" not in reading(told)


def test_two_sided_test_beyond_its_resamples_is_told_as_a_bound():
    """With 99 resamples p is 0.02 or more, however far the statistic is."""
    data = ct.datasets.generative_model("M3", n=200, m=2, rng=1)
    told = reading(ct.test_calibration(data, test="brier", n_resamples=99, rng=1))
    assert told.endswith(
        "in either direction, in at most about 20 in 1,000 data sets like this one."
    )


def test_upper_bound_is_told_as_one():
    """A concentration bound holds for every model and is far from what comes up."""
    data = ct.datasets.generative_model("M3", n=400, m=2, rng=1)
    told = reading(ct.test_calibration(data, null="distribution-free"))
    assert "or more in at most about" in told


def test_bootstrap_draws_no_labels():
    """It draws rows, and the sentence says resamples."""
    data = ct.datasets.generative_model("M1", n=120, m=2, rng=1)
    told = reading(ct.test_calibration(data, null="bootstrap", n_resamples=99, rng=1))
    assert told.endswith("of 99 resamples).")


def test_verdict_is_by_the_adjusted_pvalue(tested):
    """In a table the adjusted p-value decides."""
    judged = replace(tested, level=0.01)
    assert reading(judged).endswith("At level 0.01: rejected.")
    assert reading(judged, adjusted=0.04).endswith("At level 0.01: not rejected.")


def test_headline_names_the_smallest(tested):
    """The first sentence has the number of tests and the smallest adjusted p-value."""
    table = ct.HTestTable((tested, replace(tested, pvalue=0.5)), "holm", [0.002, 0.5])
    first = headline(table, "the model")[0]
    assert first.startswith("2 tests of the model were run.")
    assert "is 0.002: combined, lens strong" in first
    assert "in at most 2 in 1,000 data sets" in first


def test_segments_are_told_by_the_worst():
    """How often so bad a segment comes up, which it is, and what is rejected."""
    ward = np.repeat(["a", "b"], 100)
    event = np.r_[np.zeros(60), np.ones(40), np.zeros(80), np.ones(20)]
    result = ct.test_segments([0.2] * 200, event, segments={"ward": ward}, n_resamples=99, rng=1)
    told = segments_reading(result)
    assert (
        "in all 3 segments, the worst of them would be as far off as the worst one here in at"
        in told
    )
    assert "at most about 10 in 1,000 data sets" in told
    assert (
        "\u201cward = a\u201d, where 20.0 % was predicted and 40.0 % of 100 rows observed" in told
    )
    assert segments_reading(replace(result, level=0.05, n_rejected=1)).endswith(
        "At level 0.05: one segment is rejected."
    )


def test_one_sided_test_says_what_it_looks_for():
    """A PD that is too high gives a large p-value, which says nothing for it."""
    found = ct.test_calibration(np.full(200, 0.3), np.arange(200) < 30, test="binomial")
    side = "The test looks for one side only: the PD is too low: more defaults than predicted."
    assert side in reading(found)
