"""Sentences on p-values."""

from dataclasses import replace

import numpy as np
import pytest

import caltest as ct
from caltest.reporting.reading import frequency
from caltest.reporting.where import segments_reading


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
