"""Intervals with a jackknife error, for the debiased ECE and the unreliability."""

import numpy as np
import pytest
from scipy.stats import t

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.intervals import bootstrap
from caltest.measures.bins.debiased_ece import DebiasedECE
from caltest.measures.recalibration.cox import Unreliability
from caltest.nulls.base import Draws

OPTIONS = (0.9, Draws(0, 5))
MEASURE = DebiasedECE(bins=5)


@pytest.mark.parametrize("measure", [MEASURE, DebiasedECE(bins=5, root=True), Unreliability()])
def test_ends_are_those_of_leaving_out_rows(measure):
    """Student's interval with n - 1 degrees of freedom, above on the scale of the root."""
    data = generative_model("M2", n=40, m=2, alpha=1.0, rng=3)
    without = [measure.evaluate(data.subset(np.arange(40) != i)) for i in range(40)]
    reach = t.ppf(0.95, 39) * np.sqrt(39 * np.var(without))
    found = bootstrap.jackknife_interval(measure, data, *OPTIONS)
    estimate = measure.evaluate(data)
    unseen = measure.unseen_reach(data, 0.05)
    high = estimate + np.hypot(reach, unseen)
    if not getattr(measure, "root", False):
        root = np.sqrt(estimate)
        high = (root + np.hypot(reach / (2.0 * root), unseen)) ** 2
    assert unseen > 0.0
    assert estimate > reach / 2.0
    assert (found.low, found.high) == pytest.approx((max(estimate - reach, 0.0), high), rel=1e-9)


def test_error_that_no_row_changes_has_no_interval():
    data = Predictions(np.full(10, 0.5), np.ones(10, int))
    with pytest.raises(NotApplicable, match="is the same without any row"):
        bootstrap.jackknife_interval(MEASURE, data, *OPTIONS)
