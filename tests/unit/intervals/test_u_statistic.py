"""Intervals of the SKCE: the jackknife against leaving out rows, and the scale of the root."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.kernels import Exponential
from caltest.measures.kernel.bounds import BIASED, ZERO
from caltest.measures.kernel.skce import KCE, MMCE, SKCE

KERNEL = Exponential(0.5)


def bounds(measure, predictions, level=0.95):
    """Bound without resampling."""
    return measure.own_interval(predictions, level=level)


def weighted(m=3, n=12):
    """Draw predictions with weights, one of them 0."""
    data = generative_model("M2", n=n, m=m, rng=1)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, n)
    weights[3] = 0.0
    return Predictions(data.probs, data.labels, sample_weight=weights)


@pytest.mark.parametrize("data", [generative_model("M2", n=12, m=3, rng=1), weighted()])
def test_lower_end_is_that_of_the_jackknife(data):
    """The estimate less 1.96 standard errors, each row left out in turn."""
    measure = SKCE(kernel=KERNEL)
    rows = np.arange(data.n) if data.sample_weight is None else np.flatnonzero(data.sample_weight)
    without = np.array([measure.evaluate(data.subset(rows[rows != i])) for i in rows])
    variance = (rows.size - 1) / rows.size * np.square(without - without.mean()).sum()
    found = bounds(measure, data)
    estimate = measure.evaluate(data)
    assert found.estimate == pytest.approx(estimate, rel=1e-12)
    low = estimate - norm.ppf(0.975) * math.sqrt(variance)
    assert found.low == pytest.approx(max(low, 0.0), rel=1e-9)


def test_upper_end_is_that_of_the_root_with_rows_added():
    """The root plus its reach se / (2 sqrt(U)), with c rows of the largest error among n."""
    data = generative_model("M2", n=200, m=3, rng=1)
    found = bounds(SKCE(kernel=KERNEL), data)
    root, z = math.sqrt(found.estimate), norm.ppf(0.975)
    reach = (found.estimate - found.low) / (2.0 * root)
    largest = max(np.square(np.eye(3)[k] - p).sum() for p in data.probs for k in range(3))
    added = brentq(lambda c: c + z * math.sqrt(c) + math.log(0.025), 0.0, 10.0, xtol=1e-14)
    shift = added * (math.sqrt(largest) - root) / (200 + added)
    high = root + shift + math.hypot(reach, z * shift / math.sqrt(added))
    assert found.high == pytest.approx(high**2, rel=1e-10)


def test_upper_end_of_no_error_at_all_is_what_all_rows_can_miss():
    """A share s of rows with the largest error is missed with probability (1 - s)^n = .025."""
    probs = np.tile([0.0001, 0.9999], (100, 1)) + np.arange(100)[:, None] * [1e-7, -1e-7]
    found = bounds(SKCE(kernel=KERNEL), Predictions(probs, np.ones(100, int)))
    share = 1.0 - 0.025**0.01
    assert found.high == pytest.approx(2.0 * share**2, rel=0.02)


def test_interval_of_the_kce_is_the_root_of_that_of_the_skce():
    """A monotone map of the error maps the interval."""
    data = generative_model("M2", n=100, m=3, rng=1)
    square, root = bounds(SKCE(kernel=KERNEL), data), bounds(KCE(kernel=KERNEL), data)
    ends = (square.low, square.high, square.estimate)
    assert (root.low, root.high, root.estimate) == pytest.approx(np.sqrt(ends), rel=1e-12)
    assert BIASED in root.notes


def test_interval_of_the_mmce_is_that_of_its_kernel():
    """The MMCE is the KCE with half the exponential kernel of width w."""
    data = generative_model("M2", n=100, m=2, rng=1)
    mmce, kce = bounds(MMCE(width=0.5), data), bounds(KCE(kernel=KERNEL), data)
    assert mmce.high == pytest.approx(kce.high / math.sqrt(2.0), rel=1e-12)


def test_interval_that_reaches_zero_says_so():
    """A calibrated model has no normal limit."""
    found = bounds(SKCE(kernel=KERNEL), generative_model("M1", n=100, m=3, rng=0))
    assert found.low == 0.0 < found.high
    assert ZERO in found.notes


def test_error_that_no_row_changes_has_no_interval():
    """Perfect predictions have no error to vary."""
    perfect = Predictions(np.eye(3), [0, 1, 2])
    with pytest.raises(NotApplicable, match="SKCE is the same without any row"):
        bounds(SKCE(kernel=KERNEL), perfect)


def test_two_rows_have_no_jackknife():
    """Without one of them there is no pair."""
    data = generative_model("M2", n=2, m=3, rng=0)
    with pytest.raises(NotApplicable, match="at least three observations, and there are 2"):
        bounds(SKCE(kernel=KERNEL), data)
