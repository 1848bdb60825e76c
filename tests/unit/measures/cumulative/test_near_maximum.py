"""Places where the partial sums are near their maximum."""

from __future__ import annotations

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures import ks_error
from caltest.measures.cumulative.near_maximum import NearMaximum
from caltest.measures.tolerance import Tolerance

MOST, LEAST = Tolerance(0.1), Tolerance(0.1, equivalence=True)


def test_value_is_the_ks_error():
    """Ties form one step there too."""
    data = generative_model("M2", n=200, m=2, alpha=1.0, rng=0)
    tied = Predictions(np.round(data.probs[:, 1], 1), data.labels)
    for one in (data, tied):
        assert NearMaximum(one, MOST, "KS").value == pytest.approx(ks_error(one), rel=1e-12)


def test_places_are_those_of_the_definition():
    """Written out for every threshold."""
    data = generative_model("M2", n=150, m=2, alpha=1.0, rng=1)
    p = np.sort(data.probs[:, 1])
    delta = (data.labels - data.probs[:, 1])[np.argsort(data.probs[:, 1])]
    terms = delta * (p <= p[:, None])
    sums, sd = terms.mean(axis=1), terms.std(axis=1).max()
    slack = 0.5 * np.sqrt(np.log(150)) * sd / np.sqrt(150)
    near = NearMaximum(data, MOST, "KS")
    np.testing.assert_array_equal(near.up, sums >= near.value - slack)
    np.testing.assert_array_equal(near.down, -sums >= near.value - slack)
    one = NearMaximum(data, LEAST, "KS")
    chosen = np.flatnonzero(one.up | one.down)
    assert chosen == np.argmax(np.where(near.up | near.down, terms.std(axis=1), -1))


def test_residuals_that_do_not_vary_are_not_applicable():
    """Certain predictions that are right have nothing to resample."""
    data = Predictions(np.arange(20) % 2, np.arange(20) % 2)
    with pytest.raises(NotApplicable, match=r"residuals y - p that vary, .*; use more data"):
        NearMaximum(data, MOST, "KS")
