"""The MMCE is the double sum of Kumar et al. (2018), and a KCE of the confidence lens."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caltest as ct
from caltest.kernels import Exponential, Scaled
from caltest.measures import kce, mmce
from caltest.testing import strategies


@given(strategies.predictions((1, 12)), st.sampled_from([0.1, 0.4, 2.0]))
def test_mmce_is_the_root_of_a_double_sum(predictions, width):
    """MMCE^2 = mean of (c_i - r_i)(c_j - r_j) exp(-|r_i - r_j| / width)."""
    top = predictions.probs.argmax(axis=1)
    r, c = predictions.probs.max(axis=1), top == predictions.labels
    w = np.ones(predictions.n) if predictions.sample_weight is None else predictions.sample_weight
    d = w * (c - r)
    total = d @ np.exp(-np.abs(r[:, None] - r) / width) @ d
    expected = math.sqrt(max(total, 0.0)) / w.sum()
    assert mmce(predictions, width=width) == pytest.approx(expected, rel=1e-9, abs=1e-7)


@given(strategies.predictions((1, 12)))
def test_mmce_is_a_kce_of_the_confidence(predictions):
    """It is KCE / sqrt(2) with the kernel exp(-TV / 0.4), since delta_i' delta_j = 2 d_i d_j."""
    value = mmce(predictions)
    whole = kce(predictions, lens="confidence", kernel=Exponential(0.4))
    half = Scaled(Exponential(0.4), np.eye(2) / 2)
    assert value == pytest.approx(whole / math.sqrt(2), rel=1e-12, abs=1e-8)
    assert value == kce(predictions, lens="confidence", kernel=half)


@pytest.mark.parametrize("null", ["exact", "consistency", "distribution-free"])
def test_mmce_has_the_pvalue_of_that_kce(null):
    predictions = ct.datasets.generative_model("M3", n=60, m=3, alpha=1.0, rng=0)
    settings = {"lens": "confidence", "null": null, "rng": 1}
    expected = ct.test_calibration(
        None, predictions, test="kce", kernel=Exponential(0.4), **settings
    )
    result = ct.test_calibration(None, predictions, test="mmce", **settings)
    assert result.pvalue == pytest.approx(expected.pvalue, rel=1e-12)


@pytest.mark.parametrize("m", [2, 10])
def test_mmce_of_many_predictions_equals_the_double_sum(m):
    """The recursion on sorted confidences is exact where rounding could add up."""
    predictions = ct.datasets.generative_model("M3", n=2000, m=m, rng=0)
    r = predictions.probs.max(axis=1)
    d = (predictions.probs.argmax(axis=1) == predictions.labels) - r
    expected = math.sqrt(d @ np.exp(-np.abs(r[:, None] - r) / 0.4) @ d) / 2000
    assert mmce(predictions) == pytest.approx(expected, rel=1e-11)
