"""Intervals of the mean over blocks: Student's, not below 0."""

import numpy as np
import pytest
from scipy import stats

from caltest import NotApplicable
from caltest.datasets import generative_model
from caltest.kernels import Exponential
from caltest.measures.kernel import bounds
from caltest.measures.kernel.skce import SKCE

OPTIONS = {"level": 0.9}


@pytest.mark.parametrize(("estimator", "size"), [("linear", 2), ("block", 5)])
def test_ends_are_those_of_students_interval(estimator, size):
    """The block values are unbiased estimates of consecutive rows."""
    data = generative_model("M2", n=600, m=3, alpha=1.0, rng=1)
    measure = SKCE(estimator=estimator, block_size=size, kernel=Exponential(0.5))
    parts = [data.subset(np.arange(i, i + size)) for i in range(0, 600, size)]
    values = [SKCE(kernel=Exponential(0.5)).evaluate(part) for part in parts]
    low, high = stats.t.interval(0.9, len(values) - 1, np.mean(values), stats.sem(values))
    found = measure.own_interval(data, **OPTIONS)
    assert (found.low, found.high) == pytest.approx((max(low, 0.0), high), rel=1e-10)


def test_one_block_has_no_interval():
    data = generative_model("M2", n=5, m=3, rng=1)
    with pytest.raises(NotApplicable, match=r"these \(1 in all\) do not"):
        SKCE(estimator="block", block_size=5).own_interval(data, **OPTIONS)


def test_interval_of_rare_errors_is_that_of_all_pairs():
    """Pairs tell something only where both rows err: 25 errors in 500 rows are a few pairs."""
    data = generative_model("M2", n=500, m=2, pi=0.1, rng=1)
    measure = SKCE(estimator="linear", kernel=Exponential(0.5))
    found = measure.own_interval(data, **OPTIONS)
    pairs = SKCE(kernel=Exponential(0.5)).own_interval(data, **OPTIONS)
    assert (found.low, found.estimate, found.high) == (pairs.low, pairs.estimate, pairs.high)
    assert bounds.ALL in found.notes


def test_interval_of_rare_errors_among_many_rows_says_so(monkeypatch):
    monkeypatch.setattr(bounds, "PAIRS_UP_TO", 499)
    measure = SKCE(estimator="linear", kernel=Exponential(0.5))
    rare = generative_model("M2", n=500, m=2, pi=0.1, rng=1)
    assert bounds.RARE in measure.own_interval(rare, **OPTIONS).notes
    often = generative_model("M2", n=500, m=10, alpha=1.0, rng=1)
    assert bounds.RARE not in measure.own_interval(often, **OPTIONS).notes
