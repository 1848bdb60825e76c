"""The classwise ECE is the mean of the ECE of every class."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import caltest as ct
from caltest.measures import classwise_ece, ece
from caltest.numerics.labels import resample_keys


@st.composite
def data(draw):
    """Draw predictions with ties, zeros and ones, labels and perhaps weights."""
    n, m = draw(st.integers(1, 12)), draw(st.sampled_from([2, 3, 5, 70]))
    counts = st.lists(st.integers(0, 4), min_size=m, max_size=m).filter(any)
    probs = np.array(
        [np.divide(row, sum(row)) for row in draw(st.lists(counts, min_size=n, max_size=n))]
    )
    labels = draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n))
    weight = st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n)
    return ct.Predictions(
        probs, labels, classes=np.arange(m), sample_weight=draw(st.none() | weight)
    )


@given(
    data(),
    st.integers(1, 12),
    st.sampled_from(["uniform", "quantile"]),
    st.sampled_from([1, 1.5, math.inf]),
)
def test_classwise_ece_is_the_mean_of_class_j_ece(predictions, bins, binning, p):
    """Those of the lens "classwise", for every binning, power and weights."""
    options = {"bins": bins, "binning": binning, "p": p}
    expected = np.mean(ece(predictions, lens="classwise", **options))
    assert classwise_ece(predictions, **options) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(data(), st.integers(1, 12))
def test_values_of_redrawn_labels_are_those_of_new_predictions(predictions, bins):
    """The table of bins and the pass without it agree."""
    bound = ct.measures.REGISTRY["classwise-ece"](bins=bins).bind(predictions)
    labels = bound.redraw(resample_keys(0, 3))
    for row, value in zip(labels, bound.values(labels), strict=True):
        new = predictions.trusted(
            predictions.probs, row.astype(np.int64), predictions.classes, like=predictions
        )
        assert classwise_ece(new, bins=bins) == pytest.approx(value, rel=1e-9, abs=1e-12)
